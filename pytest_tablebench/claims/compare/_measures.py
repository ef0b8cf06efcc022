"""Compute the paired differences of one scope (spec: statistics.md sections 3, 4, 5 and 7)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING

from pytest_tablebench.claims.compare._types import Measure, MeasureDifference
from pytest_tablebench.claims.estimate import moments, paired_bounds
from pytest_tablebench.claims.gates import mcnemar, sign_flip
from pytest_tablebench.results.figures import example_values, mean
from pytest_tablebench.results.sheets import (
    Configuration,
    ScoreSheet,
    align,
    aligned,
    same_answers,
    with_common_clusters,
)
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import out_of, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_tablebench.results.score_columns import Flags

MOST_LEFT_OUT = 0.2
"""The share of examples with an incomplete grid above which robustness is unknown (section 5)."""

COMPARED = 60
"""The number of tag values to compare per dataset; the most frequent are taken."""

_SAME = 1e-12

_sign_flip = lru_cache(maxsize=64)(sign_flip)
"""Cached, because performance and pass rate are equal if scores are 0 or 1."""


@dataclass(frozen=True)
class PairedDataset:
    """A dataset in both runs: sheets with the same examples and configurations."""

    dataset: str
    before: ScoreSheet
    after: ScoreSheet

    @classmethod
    def of(cls, dataset: str, before: ScoreSheet, after: ScoreSheet) -> PairedDataset:
        """Return both sheets, aligned; cells that a side lacks count as not asked."""
        return cls(dataset, *aligned(before, after))

    def _aligned(self, examples: Sequence[str], cells: Sequence[Configuration]) -> PairedDataset:
        sides = (align(side, examples, cells) for side in (self.before, self.after))
        return PairedDataset(self.dataset, *sides)

    def part(self, axis: str, name: str) -> PairedDataset:
        """Return the cells with one name on an axis."""
        return self._aligned(self.after.examples, self.before.cells(self.before.has(axis, name)))

    @property
    def altered(self) -> frozenset[str]:
        """The perturbations that change the meaning of a table; none if there are no others."""
        altered = self.before.altered | self.after.altered
        used = set(self.before.column("perturbation"))
        return altered & used if used - altered else frozenset()

    @property
    def meant(self) -> PairedDataset:
        """The cells whose perturbation preserves the meaning of a table; all cells without any."""
        if not self.altered:
            return self
        is_altered = self.before.has("perturbation", *self.altered)
        return self._aligned(self.after.examples, self.before.cells(~is_altered))

    def tags(self) -> dict[tuple[str, str], list[int]]:
        """Return the rows of the most frequent tags and values, of two examples or more.

        The tags of the new run take precedence.
        """
        rows_of: dict[tuple[str, str], list[int]] = {}
        shared = self.shared.tolist()
        for tag in sorted({*self.before.tags, *self.after.tags}):
            none = ("",) * len(self.after.examples)
            columns = (side.tags.get(tag, none) for side in (self.after, self.before))
            for row, values in enumerate(zip(*columns, strict=True)):
                value = values[0] or values[1]
                if value and shared[row]:
                    rows_of.setdefault((tag, value), []).append(row)
        ranked = sorted(rows_of, key=lambda name: (-len(rows_of[name]), name))[:COMPARED]
        return {name: rows_of[name] for name in sorted(ranked) if len(rows_of[name]) > 1}

    def rows(self, rows: Sequence[int]) -> PairedDataset:
        """Return some examples."""
        return self._aligned([self.after.examples[row] for row in rows], self.after.configurations)

    def names(self, axis: str) -> list[str]:
        """Return the names on an axis that both sides asked."""
        if axis not in self.before.axes:
            return []
        both = np.any(self.before.is_asked, axis=0) & np.any(self.after.is_asked, axis=0)
        names = zip(self.before.column(axis), both.tolist(), strict=True)
        return sorted({name for name, used in names if used})

    @property
    def shared(self) -> Flags:
        """Which examples both sides asked."""
        is_shared: Flags = np.any(self.before.is_asked, axis=1) & np.any(
            self.after.is_asked, axis=1
        )
        return is_shared

    @property
    def grid(self) -> Flags:
        """Which configurations both sides asked of the shared examples."""
        sides = [side.is_asked[self.shared] for side in (self.before, self.after)]
        is_common: Flags = np.any(sides[0], axis=0) & np.any(sides[1], axis=0)
        return is_common

    @property
    def tables(self) -> dict[str, Hashable] | None:
        """The cluster of each example; None if every example is independent."""
        groups, examples = self.groups, self.after.examples
        return None if groups is None else dict(zip(examples, groups.tolist(), strict=True))

    @property
    def names_tables(self) -> bool:
        """Whether the records of a side name the tables of their examples."""
        return self.after.clusters is not None or self.before.clusters is not None

    @property
    def groups(self) -> NDArray[np.object_] | None:
        """The clusters that intervals take as independent; None if they take examples."""
        return with_common_clusters(self.after, self.before).groups

    @property
    def once(self) -> bool:
        """Whether every example was asked once, so that cases are independent (section 7)."""
        sides = (side.counts()[0][self.shared] for side in (self.before, self.after))
        return all(bool((times.sum(axis=1) <= 1).all()) for times in sides)


@dataclass(frozen=True)
class _Values:
    """One dataset's values of a measure, by example, and the numbers of examples left out."""

    before: list[float]
    after: list[float]
    differences: list[float]
    left_out: int
    left_out_before: int
    left_out_after: int
    same_text: bool
    groups: list[Hashable] | None
    """The cluster of each used example; None if every example is independent."""


def measure_difference(datasets: Sequence[PairedDataset], measure: Measure) -> MeasureDifference:
    """Return the paired difference of a measure over the examples that both sides asked.

    It is the mean over datasets of their means, which count equally (strata).
    """
    if measure == "robustness":
        single = [part.dataset for part in datasets if part.grid.sum() < 2]
        if single:
            return _unknown([], f"fewer than two common configurations{_of(single, datasets)}")
    values = [_values(part, measure) for part in datasets]
    empty = [part.dataset for part, entry in zip(datasets, values, strict=True) if not entry.before]
    if empty or not values:
        lacking = "an answer to every configuration" if measure == "robustness" else "an answer"
        return _unknown(values, f"no example has {lacking} on both sides{_of(empty, datasets)}")
    total = sum(int(part.shared.sum()) for part in datasets)
    left_out = sum(entry.left_out for entry in values)
    before = mean(mean(entry.before) for entry in values) or 0.0
    after = mean(mean(entry.after) for entry in values) or 0.0
    unjudged = replace(
        _unknown(values, None), before=before, after=after, difference=after - before
    )
    if measure == "robustness" and left_out > MOST_LEFT_OUT * total:
        lack = "lacks" if left_out == 1 else "lack"
        note = (
            f"{out_of(left_out, total, 'example')} {lack} an answer to some configuration; at most "
            f"{MOST_LEFT_OUT:.0%} may"
        )
        return replace(unjudged, note=note)
    return _judged(unjudged, datasets, values, measure)


def _unknown(values: Sequence[_Values], note: str | None) -> MeasureDifference:
    return MeasureDifference(
        n_examples=sum(len(entry.before) for entry in values),
        n_clusters=_cluster_count(values),
        left_out=sum(entry.left_out for entry in values),
        left_out_before=sum(entry.left_out_before for entry in values),
        left_out_after=sum(entry.left_out_after for entry in values),
        note=note,
    )


def _cluster_count(values: Sequence[_Values]) -> int | None:
    groups = [entry.groups for entry in values]
    if not groups or None in groups:
        return None
    return len({name for names in groups for name in names or ()})


def _of(names: Sequence[str], datasets: Sequence[PairedDataset]) -> str:
    shown = ", ".join(printable(name, 60) for name in names)
    return f" in {shown}" if len(datasets) > 1 and names else ""


def _judged(
    unjudged: MeasureDifference,
    datasets: Sequence[PairedDataset],
    values: Sequence[_Values],
    measure: Measure,
) -> MeasureDifference:
    differences = [entry.differences for entry in values]
    equal = all(abs(difference) < _SAME for part in differences for difference in part)
    groups = [entry.groups for entry in values]
    p, test = _p_value(datasets, differences, groups, measure)
    if equal and all(entry.same_text for entry in values):
        test = "identical answers"
        unjudged = replace(unjudged, difference=0.0, identical=True, note=test)
    stats = moments(differences, groups)
    if stats is None:
        pairs = list(zip((part.dataset for part in datasets), values, strict=True))
        few = [name for name, entry in pairs if len(entry.differences) < 2]
        single = [name for name, entry in pairs if entry.groups and len(set(entry.groups)) < 2]
        note = f"all examples use one table{_of(single, datasets)}"
        if few:
            note = f"fewer than two examples{_of(few, datasets)}"
        return replace(unjudged, p=p, test=test, note=note)
    low, high, method = paired_bounds(stats)
    return replace(unjudged, interval=(low, high), method=method, p=p, test=test)


def _p_value(
    datasets: Sequence[PairedDataset],
    differences: Sequence[Sequence[float]],
    groups: Sequence[Sequence[Hashable] | None],
    measure: Measure,
) -> tuple[float, str]:
    """Return the p-value and the name of its test.

    Differences of one table flip their signs together, because only tables are independent.
    """
    names = [
        name
        for place, part in enumerate(differences)
        for name in groups[place] or [(place, row) for row in range(len(part))]
    ]
    shared = len(set(names)) < len(names)
    if measure == "pass_rate" and len(datasets) == 1 and datasets[0].once and not shared:
        better = sum(difference > 0 for difference in differences[0])
        worse = sum(difference < 0 for difference in differences[0])
        return mcnemar(better, worse), "exact McNemar"
    # Weighted so that the sum is the mean over datasets times the number of examples: flipping a
    # sign flips that example in the stratified mean.
    count, total = len(differences), sum(map(len, differences))
    weighted = [
        difference * total / (count * len(part)) for part in differences for difference in part
    ]
    if shared:
        return _sign_flip(tuple(table_sums(weighted, names))), "sign-flip over tables"
    return _sign_flip(tuple(weighted)), "sign-flip over examples"


def table_sums(values: Sequence[float], names: Sequence[Hashable]) -> list[float]:
    """Return the sum of the values of each table, in the order of first use."""
    sums: dict[Hashable, list[float]] = {}
    for value, name in zip(values, names, strict=True):
        sums.setdefault(name, []).append(value)
    return [fsum(table_values) for table_values in sums.values()]


def _values(part: PairedDataset, measure: Measure) -> _Values:
    """Return the values of the examples that both answered; for robustness in the whole grid."""
    ranged = measure == "robustness"
    columns = part.grid if ranged else np.full(len(part.before.configurations), True)
    old, new = (
        (side.passed if measure == "pass_rate" else side.scores)[part.shared][:, columns]
        for side in (part.before, part.after)
    )
    differences = example_values(measure, new, old)
    used = np.isfinite(differences)
    lacking = [(np.any if ranged else np.all)(np.isnan(side[~used]), axis=1) for side in (old, new)]
    both = np.isfinite(old) & np.isfinite(new) & used[:, None]
    groups = part.groups
    cells = np.zeros(part.after.is_asked.shape, dtype=bool)
    cells[np.ix_(part.shared, columns)] = both
    old, new = (np.where(both, side, np.nan)[used] for side in (old, new))
    return _Values(
        example_values(measure, old).tolist(),
        example_values(measure, new).tolist(),
        differences[used].tolist(),
        left_out=int((~used).sum()),
        # An example is left out on both sides if they answered different configurations.
        left_out_before=int((lacking[0] | ~lacking[1]).sum()),
        left_out_after=int((lacking[1] | ~lacking[0]).sum()),
        same_text=same_answers(part.before, part.after, cells),
        groups=None if groups is None else groups[part.shared][used].tolist(),
    )
