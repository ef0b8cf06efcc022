"""P-values of two runs over the same questions (spec: statistics.md section 7)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tablebench.util.arrays import np

TIE = 1e-9
"""Sums closer than this are equal, or equal sums would be lost to float noise."""


def mcnemar(better: int, worse: int) -> float:
    """Return the exact two-sided p of so many flips in each direction (section 7).

    Valid where each example appears once: inside one serializer and perturbation. Counted
    over examples instead of flips it is the sign test.
    """
    total = better + worse
    if total == 0:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(better, worse), total, 0.5)))


def sign_flip(differences: Sequence[float], *, resamples: int = 9999, seed: int = 0) -> float:
    """Return the two-sided p of the sum of example differences under random signs (section 7).

    For a mean over several datasets divide each difference by the number of examples of its
    dataset first. Deterministic for a seed; 1 where nothing differs.
    """
    values = np.asarray(differences, dtype=float)
    values = values[np.abs(values) > TIE]
    if not len(values):
        return 1.0
    draw = np.random.default_rng(seed)
    # A fixed number of signs at a time, so that memory stays small.
    rows = max(1, 2_000_000 // len(values))
    reached, least = 0, abs(float(values.sum())) - TIE
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(values))
        negative = draw.integers(0, 2, shape, dtype=np.int8).astype(bool)
        # The sum with signs is the plain sum less twice what is negative.
        sums = values.sum() - 2 * (negative @ values)
        reached += int((np.abs(sums) >= least).sum())
    return (1 + reached) / (1 + resamples)
