"""Agreement of people about the same answers, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims._clusters import numbered
from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.judged_cases import JudgedCase
    from pytest_tablebench.results.score_columns import Floats

RESAMPLES = 2000
FEWEST_CLUSTERS = 5
"""With fewer clusters there is no interval."""

_TENS = 11


@dataclass(frozen=True)
class PairAgreement:
    """The agreement of two people: the share of equal labels, and Cohen's kappas.

    A coefficient is 1 for equal labels, 0 for agreement by chance, None if all labels are equal.
    Its interval is by the bootstrap over clusters; there is none with few of them.
    """

    people: tuple[str, str]
    equal: float
    kappa: Estimate
    weighted: Estimate


@dataclass(frozen=True)
class PeopleAgreement:
    """The agreement of all people: Krippendorff's alphas, and each pair's kappas."""

    people: tuple[str, ...]
    nominal: Estimate
    interval: Estimate
    pairs: tuple[PairAgreement, ...]


def people_agreement(cases: Sequence[JudgedCase]) -> PeopleAgreement | None:
    """Return the agreement of people about answers that several labelled; None without such."""
    people = sorted({name for case in cases for name in case.labels})
    shared = [case for case in cases if len(case.labels) > 1]
    if not shared:
        return None
    clusters = [(case.dataset, case.cluster) for case in shared]
    units = [list(case.labels.values()) for case in shared]
    pairs = []
    for first, second in combinations(people, 2):
        both = [case for case in shared if first in case.labels and second in case.labels]
        if not both:
            continue
        sides = [[case.labels[name] for case in both] for name in (first, second)]
        of_both = [(case.dataset, case.cluster) for case in both]
        pairs.append(
            PairAgreement(
                (first, second),
                sum(a == b for a, b in zip(*sides, strict=True)) / len(both),
                kappa(sides[0], sides[1], of_both, weighted=False),
                kappa(sides[0], sides[1], of_both, weighted=True),
            )
        )
    return PeopleAgreement(
        tuple(people),
        krippendorff(units, clusters, metric="nominal"),
        krippendorff(units, clusters, metric="interval"),
        tuple(pairs),
    )


def kappa(
    marks: Sequence[float],
    other_marks: Sequence[float],
    clusters: Sequence[Any],
    *,
    weighted: bool = True,
) -> Estimate:
    """Return Cohen's kappa (1960) of marks from 0 to 1, rounded half up to tenths.

    With `weighted` disagreements count by the square of their distance (Cohen 1968).
    """
    tens = [
        np.floor(10 * np.asarray(side, float) + 0.5).astype(int) for side in (marks, other_marks)
    ]
    cells = np.zeros((len(marks), _TENS * _TENS))
    cells[np.arange(len(marks)), tens[0] * _TENS + tens[1]] = 1
    steps = np.arange(_TENS)
    distance = (steps[:, None] - steps[None, :]) ** 2
    costs = distance.astype(float) if weighted else (distance > 0).astype(float)

    def of(totals: Floats) -> Floats:
        tables = totals.reshape(-1, _TENS, _TENS)
        count = tables.sum(axis=(1, 2))
        observed = (tables * costs).sum(axis=(1, 2)) * count
        rows, columns = tables.sum(axis=2), tables.sum(axis=1)
        by_chance = np.einsum("bi,ij,bj->b", rows, costs, columns)
        return _one_minus(observed, by_chance)

    return _figure(cells, clusters, of)


def krippendorff(
    units: Sequence[Sequence[float]],
    clusters: Sequence[Any],
    *,
    metric: str = "interval",
) -> Estimate:
    """Return Krippendorff's alpha for any number of people and missing labels.

    Each unit contains the labels of one answer; units with fewer than two do not count. alpha =
    1 - D_o / D_e: the mean squared difference (`interval`) or the share of differing labels
    (`nominal`) within units, divided by the same figure of all labels (Krippendorff 2011, Computing
    Krippendorff's Alpha-Reliability).
    """
    rows = [(list(unit), name) for unit, name in zip(units, clusters, strict=True) if len(unit) > 1]
    values = sorted({value for unit, _ in rows for value in unit})
    places = {value: index for index, value in enumerate(values)}
    levels = np.array(values)
    sums = np.zeros((len(rows), 1 + len(values)))
    for row, (unit, _) in enumerate(rows):
        for value in unit:
            sums[row, 1 + places[value]] += 1
        counts = sums[row, 1:]
        sums[row, 0] = _disagreement(counts[None, :], levels, metric)[0] / (len(unit) - 1)

    def of(totals: Floats) -> Floats:
        counts = totals[:, 1:]
        number = counts.sum(axis=1)
        observed = totals[:, 0] * (number - 1)
        return _one_minus(observed, _disagreement(counts, levels, metric))

    return _figure(sums, [name for _, name in rows], of)


def _disagreement(counts: Floats, levels: Floats, metric: str) -> Floats:
    """Return the sum of the metric over all ordered pairs of values, for rows of counts."""
    number = counts.sum(axis=1)
    total: Floats
    if metric == "nominal":
        total = number**2 - (counts**2).sum(axis=1)
    else:
        total = 2 * (number * (counts @ levels**2) - (counts @ levels) ** 2)
    return total


def _one_minus(observed: Floats, by_chance: Floats) -> Floats:
    ratio: Floats = np.divide(
        observed, by_chance, out=np.full(len(observed), np.nan), where=by_chance > 1e-12
    )
    return 1 - ratio


def _figure(rows: Floats, clusters: Sequence[Any], of: Callable[[Floats], Floats]) -> Estimate:
    """Return a function of the sum of rows, with its percentile interval over clusters."""
    if not len(rows):
        return Estimate()
    value = float(of(rows.sum(axis=0, keepdims=True))[0])
    index, names = numbered(clusters)
    number = len(names)
    low = high = None
    if np.isfinite(value) and number >= FEWEST_CLUSTERS:
        by_cluster = np.zeros((number, rows.shape[1]))
        np.add.at(by_cluster, index, rows)
        draw = np.random.default_rng(0)
        times = draw.multinomial(number, np.full(number, 1 / number), size=RESAMPLES)
        resampled = of(times.astype(float) @ by_cluster)
        low, high = np.nanquantile(resampled, (0.025, 0.975)).tolist()
    coefficient = value if np.isfinite(value) else None
    return Estimate(coefficient, low, high, examples=len(rows), clusters=number, method="bootstrap")
