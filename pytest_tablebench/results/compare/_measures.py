"""Paired differences of one scope (spec: statistics.md sections 3, 4, 5 and 7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from pytest_tablebench.results.compare._sides import Answered
from pytest_tablebench.results.compare._types import Measure, MeasureDifference
from pytest_tablebench.results.figures import mean_of_equals
from pytest_tablebench.results.gates import mcnemar, paired_difference, sign_flip
from pytest_tablebench.util.names import out_of, printable

__all__ = ["Configuration", "PairedDataset", "PairedExample", "measure_difference"]

Configuration = tuple[str, str, int]
"""Serializer, perturbation, and which repeat."""

_Cell = tuple[str, str]
"""Serializer and perturbation: what measures are taken over, repeats by their mean."""

MOST_LEFT_OUT = 0.2
"""Share of examples with an incomplete grid from which robustness is not told (section 5)."""

_SAME = 1e-12


@dataclass(frozen=True)
class PairedExample:
    """One example's cases in a scope, on both sides; either may be empty."""

    example_id: str
    before: Mapping[Configuration, Answered]
    after: Mapping[Configuration, Answered]

    @cached_property
    def common(self) -> list[tuple[Answered, Answered]]:
        """The cases answered on both sides, in the order of their configurations."""
        return _answered_pairs(self.before, self.after)

    @cached_property
    def cells(self) -> tuple[Mapping[_Cell, Answered], Mapping[_Cell, Answered]]:
        """Both sides with one entry for each serializer and perturbation."""
        return _fold(self.before), _fold(self.after)


def _answered_pairs(
    before: Mapping[Any, Answered], after: Mapping[Any, Answered]
) -> list[tuple[Answered, Answered]]:
    pairs = [(before[key], after[key]) for key in sorted(before.keys() & after.keys())]
    return [(old, new) for old, new in pairs if old.score is not None and new.score is not None]


def _fold(cases: Mapping[Configuration, Answered]) -> dict[_Cell, Answered]:
    """Return the mean of each cell's answered repeats, as gates and summaries take it."""
    groups: dict[_Cell, list[Answered]] = {}
    for key in sorted(cases):
        groups.setdefault(key[:2], []).append(cases[key])
    return {
        key: repeats[0] if len(repeats) == 1 else _one(repeats) for key, repeats in groups.items()
    }


def _one(repeats: Sequence[Answered]) -> Answered:
    scores = sorted(case.score for case in repeats if case.score is not None)
    texts = [case.text for case in repeats]
    right = sum(bool(case.passed) for case in repeats)
    return replace(
        repeats[0],
        score=mean_of_equals(scores) if scores else None,
        passed=right / len(scores) if scores else None,
        text=None if None in texts else b"".join(text for text in texts if text is not None),
    )


@dataclass(frozen=True)
class PairedDataset:
    """A dataset's examples in a scope, in the order of their ids."""

    dataset: str
    examples: Sequence[PairedExample]

    @property
    def grid(self) -> frozenset[Configuration]:
        """The configurations that occur on both sides: only equal grids can be compared."""
        before = {key for example in self.examples for key in example.before}
        after = {key for example in self.examples for key in example.after}
        return frozenset(before & after)

    @cached_property
    def shared(self) -> PairedDataset:
        """The dataset without what only one side asked: that is nobody's missing answer."""
        both = [example for example in self.examples if example.before and example.after]
        return PairedDataset(self.dataset, both)

    @property
    def once(self) -> bool:
        """Whether every example was asked once: then cases are independent (section 7)."""
        return all(
            len(example.before) <= 1 and len(example.after) <= 1 for example in self.examples
        )


@dataclass
class _Values:
    """What one dataset adds to a measure: means of each example used, and who was left out."""

    before: list[float]
    after: list[float]
    left_out: int = 0
    left_out_before: int = 0
    left_out_after: int = 0
    same_text: bool = True

    @property
    def differences(self) -> list[float]:
        return [new - old for old, new in zip(self.before, self.after, strict=True)]


def measure_difference(datasets: Sequence[PairedDataset], measure: Measure) -> MeasureDifference:
    """Return the paired difference of a measure: the mean over datasets of their means.

    Several datasets are strata: means count equally whatever their sizes. Examples are those
    that both sides asked.
    """
    datasets = [part.shared for part in datasets]
    if measure == "robustness":
        single = [part.dataset for part in datasets if len({key[:2] for key in part.grid}) < 2]
        if single:
            return _unknown([], f"fewer than two common configurations{_of(single, datasets)}")
    collect = _range_values if measure == "robustness" else _mean_values
    values = [collect(part, measure) for part in datasets]
    empty = [part.dataset for part, found in zip(datasets, values, strict=True) if not found.before]
    if empty or not values:
        what = "an answer to every configuration" if measure == "robustness" else "an answer"
        return _unknown(values, f"no example has {what} on both sides{_of(empty, datasets)}")
    total = sum(len(part.examples) for part in datasets)
    left_out = sum(found.left_out for found in values)
    before = _mean([_mean(found.before) for found in values])
    after = _mean([_mean(found.after) for found in values])
    known = replace(_unknown(values, None), before=before, after=after, difference=after - before)
    if measure == "robustness" and left_out > MOST_LEFT_OUT * total:
        lack = "lacks" if left_out == 1 else "lack"
        note = (
            f"{out_of(left_out, total, 'example')} {lack} an answer somewhere in the grid: more "
            f"than {MOST_LEFT_OUT:.0%}, too many to tell"
        )
        return replace(known, note=note)
    return _judged(known, datasets, values, measure)


def _unknown(values: Sequence[_Values], note: str | None) -> MeasureDifference:
    return MeasureDifference(
        before=None,
        after=None,
        difference=None,
        interval=None,
        method=None,
        p=None,
        test=None,
        n_examples=sum(len(found.before) for found in values),
        left_out=sum(found.left_out for found in values),
        left_out_before=sum(found.left_out_before for found in values),
        left_out_after=sum(found.left_out_after for found in values),
        note=note,
    )


def _of(names: Sequence[str], datasets: Sequence[PairedDataset]) -> str:
    shown = ", ".join(printable(name, 60) for name in names)
    return f" in {shown}" if len(datasets) > 1 and names else ""


def _judged(
    known: MeasureDifference,
    datasets: Sequence[PairedDataset],
    values: Sequence[_Values],
    measure: Measure,
) -> MeasureDifference:
    """Return the difference with interval and p-value."""
    differences = [found.differences for found in values]
    equal = all(abs(one) < _SAME for part in differences for one in part)
    if equal and all(found.same_text for found in values):
        note = "identical answers"
        return replace(
            known,
            difference=0.0,
            interval=(0.0, 0.0),
            method=note,
            p=1.0,
            test=note,
            identical=True,
            note=note,
        )
    p, test = _p_value(datasets, differences, measure)
    few = [part.dataset for part, one in zip(datasets, differences, strict=True) if len(one) < 2]
    if few:
        note = f"fewer than two examples{_of(few, datasets)}"
        return replace(known, p=p, test=test, note=note)
    found = paired_difference(differences[0] if len(differences) == 1 else differences)
    bounds = None if found.low is None or found.high is None else (found.low, found.high)
    return replace(known, interval=bounds, method=found.method, p=p, test=test)


def _p_value(
    datasets: Sequence[PairedDataset], differences: Sequence[Sequence[float]], measure: Measure
) -> tuple[float, str]:
    if measure == "pass_rate" and len(datasets) == 1 and datasets[0].once:
        better = sum(one > 0 for one in differences[0])
        worse = sum(one < 0 for one in differences[0])
        return mcnemar(better, worse), "exact McNemar"
    # One number per example whose sum is the mean over datasets times the number of examples:
    # flipping its sign flips that example in the stratified mean.
    count, total = len(differences), sum(map(len, differences))
    weighted = [one * total / (count * len(part)) for part in differences for one in part]
    return _sign_flip(tuple(weighted)), "sign-flip over examples"


@lru_cache(maxsize=64)
def _sign_flip(differences: tuple[float, ...]) -> float:
    """Return the p-value; where scores are 0 or 1, performance and pass rate ask it twice."""
    return sign_flip(differences)


def _mean_values(part: PairedDataset, measure: Measure) -> _Values:
    values = _Values([], [])
    for example in part.examples:
        common = _answered_pairs(*example.cells)
        if not common:
            _leave_out(values, *map(_lacking, example.cells))
            continue
        values.before.append(_mean([_value(old, measure) for old, _ in common]))
        values.after.append(_mean([_value(new, measure) for _, new in common]))
        values.same_text = values.same_text and _same_text(common)
    return values


def _range_values(part: PairedDataset, measure: Measure) -> _Values:  # noqa: ARG001 - as the other
    """Return 1 - range of each example whose whole grid is answered on both sides."""
    values, grid = _Values([], []), sorted({key[:2] for key in part.grid})
    for example in part.examples:
        lacking = [
            any(cell not in side or side[cell].score is None for cell in grid)
            for side in example.cells
        ]
        if any(lacking):
            _leave_out(values, *lacking)
            continue
        before, after = ([side[cell] for cell in grid] for side in example.cells)
        values.before.append(_robustness(before))
        values.after.append(_robustness(after))
        values.same_text = values.same_text and _same_text(list(zip(before, after, strict=True)))
    return values


def _robustness(cells: Sequence[Answered]) -> float:
    """Return 1 - range over formats and perturbations."""
    scores = [cell.score or 0.0 for cell in cells]
    return 1 - (max(scores) - min(scores))


def _lacking(side: Mapping[_Cell, Answered]) -> bool:
    return all(case.score is None for case in side.values())


def _leave_out(values: _Values, before: bool, after: bool) -> None:
    values.left_out += 1
    # Where each side answered, but never the same configuration, both are left out.
    values.left_out_before += before or not after
    values.left_out_after += after or not before


def _value(case: Answered, measure: Measure) -> float:
    return float(case.passed or False) if measure == "pass_rate" else float(case.score or 0.0)


def _same_text(pairs: Sequence[tuple[Answered, Answered]]) -> bool:
    return all(old.text is not None and old.text == new.text for old, new in pairs)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
