"""Right and wrong answers that changed between two runs (spec: statistics.md section 7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.results.gates._grammar import parse_gate
from pytest_tablebench.results.gates._paired import TIE, mcnemar
from pytest_tablebench.results.gates._sample import Scopes, collect
from pytest_tablebench.results.gates._sides import read_side

__all__ = ["Flips", "SignTest", "flips"]


@dataclass(frozen=True)
class SignTest:
    """So many examples better, worse and equal, with the exact p of the sign test."""

    better: int
    worse: int
    equal: int
    p: float


@dataclass(frozen=True)
class Flips:
    """Of each `dataset|serializer|perturbation`: cases fixed, cases broken, and McNemar's p.

    Only cases answered in both runs count. The p over examples is by mean score; counts over
    several configurations have no p of their own (section 7).
    """

    by_configuration: dict[str, tuple[int, int, float]]
    examples: SignTest


def flips(records: Iterable[Any], baseline: Iterable[Any]) -> Flips:
    """Return what flipped between the baseline and the records, over all their datasets."""
    import numpy as np

    scopes = Scopes(read_side(records), read_side(baseline), {})
    table: dict[str, tuple[int, int, float]] = {}
    better = worse = equal = 0
    for name in scopes.new.datasets:
        pair = scopes.pair(name)
        if pair.old is None:
            continue
        new, old = pair.new.passed, pair.old.passed
        # Comparisons with NaN are false: cases answered on one side only count nowhere.
        fixed, broken = (new > old).sum(axis=0), (new < old).sum(axis=0)
        both = np.any(~np.isnan(new) & ~np.isnan(old), axis=0)
        for place, (serializer, perturbation) in enumerate(pair.new.configurations):
            if both[place]:
                counts = int(fixed[place]), int(broken[place])
                table[f"{name}|{serializer}|{perturbation}"] = (*counts, mcnemar(*counts))
    sample = collect(parse_gate("all.performance >= baseline"), scopes)
    for values in sample.values:
        better += int((values > TIE).sum())
        worse += int((values < -TIE).sum())
        equal += int((np.abs(values) <= TIE).sum())
    return Flips(table, SignTest(better, worse, equal, mcnemar(better, worse)))
