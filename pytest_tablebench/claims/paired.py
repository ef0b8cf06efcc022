"""The paired difference of two selections of cases (spec: statistics.md sections 3, 4, 5 and 7).

Two runs, two settings of one run, or a run and its baseline are selections: their sheets are joined
by example and configuration, and only what both answered counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import compress
from math import fsum
from typing import TYPE_CHECKING, Any, Literal

from pytest_tablebench.claims._clusters import cluster_count
from pytest_tablebench.claims.estimate import (
    Estimate,
    Moments,
    mcnemar,
    moments,
    paired_bounds,
    sign_flip,
)
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
from pytest_tablebench.util.names import out_of

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags

Measure = Literal["performance", "pass_rate", "robustness"]
MEASURES: tuple[Measure, ...] = ("performance", "pass_rate", "robustness")
"""The measures of a comparison; a gate can also compare consistency."""

MOST_LEFT_OUT = 0.2
"""The share of examples with an incomplete grid above which robustness is unknown (section 5)."""

COMPARED = 60
"""The number of tag values to compare per dataset; the most frequent are taken."""

_SAME = 1e-12

_ENTRIES = (
    "before", "after", "interval", "method", "p", "test", "left_out", "left_out_before",
    "left_out_after", "identical", "note",
)  # fmt: skip
"""The fields of a difference that have the same name in the JSON of a comparison."""

_sign_flip = lru_cache(maxsize=64)(sign_flip)
"""Cached, because performance and pass rate are equal if scores are 0 or 1."""


@dataclass(frozen=True, kw_only=True)
class PairedEstimate(Estimate):
    """The difference of a measure, after minus before, over the examples that both sides answered.

    Several datasets count equally. If `value`, the interval or `p` is None, `note` is the reason.

    Args:
        before, after: the means of both sides over the same examples.
        p: the two-sided p-value of no difference; `test` is the name of its test.
        wins, losses, ties: the numbers of examples that are better, worse and equal after.
        left_out: the examples that both sides asked and not both answered.
        left_out_before, left_out_after: those of them without a usable answer of that side; an
            example can count on both.
        identical: whether all answers are the same texts.
        moments: the moments of the examples' differences; None without an interval.
    """

    before: float | None = None
    after: float | None = None
    p: float | None = None
    test: str | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0
    left_out: int = 0
    left_out_before: int = 0
    left_out_after: int = 0
    identical: bool = False
    moments: Moments | None = field(default=None, repr=False, compare=False)

    def entry(self) -> dict[str, Any]:
        """Return the difference as in the JSON of a comparison."""
        counts = {"n_examples": self.examples, "n_clusters": self.clusters}
        return {"difference": self.value, **counts, **{n: getattr(self, n) for n in _ENTRIES}}


def paired(
    first: Mapping[str, ScoreSheet],
    second: Mapping[str, ScoreSheet],
    measure: Measure,
    *,
    by: Sequence[str] | None = None,
    tested: bool = True,
) -> PairedEstimate:
    """Return the difference of a measure, second minus first, over the datasets of `second`.

    `first` must have them too. `by` are the axes on which cells are joined; None for all. On an
    axis that is left out each sheet must have only one name. `p` is None unless `tested`.
    """

    def over(sheet: ScoreSheet) -> ScoreSheet:
        return sheet if by is None else sheet.over(tuple(axis for axis in sheet.axes if axis in by))

    pairs = [SheetPair.of(name, over(first[name]), over(second[name])) for name in second]
    return paired_difference(pairs, measure, tested=tested)


@dataclass(frozen=True)
class SheetPair:
    """A dataset on both sides: sheets with the same examples and configurations."""

    dataset: str
    before: ScoreSheet
    after: ScoreSheet

    @classmethod
    def of(cls, dataset: str, before: ScoreSheet, after: ScoreSheet) -> SheetPair:
        """Return both sheets, aligned; cells that a side lacks count as not asked."""
        return cls(dataset, *aligned(before, after))

    def _aligned(self, examples: Sequence[str], cells: Sequence[Configuration]) -> SheetPair:
        sides = (align(side, examples, cells) for side in (self.before, self.after))
        return SheetPair(self.dataset, *sides)

    def part(self, axis: str, name: str) -> SheetPair:
        """Return the cells with one name on an axis."""
        return self._aligned(self.after.examples, self.before.cells(self.before.has(axis, name)))

    @property
    def altered(self) -> frozenset[str]:
        """The perturbations that change the meaning of a table; none if there are no others."""
        altered = self.before.altered | self.after.altered
        used = set(self.before.column("perturbation"))
        return altered & used if used - altered else frozenset()

    @property
    def meant(self) -> SheetPair:
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

    def rows(self, rows: Sequence[int]) -> SheetPair:
        """Return some examples."""
        return self._aligned([self.after.examples[row] for row in rows], self.after.configurations)

    def names(self, axis: str) -> list[str]:
        """Return the names on an axis that both sides asked."""
        if axis not in self.before.axes:
            return []
        both = np.any(self.before.is_asked, axis=0) & np.any(self.after.is_asked, axis=0)
        return sorted(set(compress(self.before.column(axis), both)))

    @property
    def shared(self) -> Flags:
        """Which examples both sides asked."""
        return np.logical_and(self.before.has_case, self.after.has_case)

    @property
    def grid(self) -> Flags:
        """Which configurations both sides asked of the shared examples."""
        before, after = (side.is_asked[self.shared] for side in (self.before, self.after))
        is_common: Flags = np.any(before, axis=0) & np.any(after, axis=0)
        return is_common

    @property
    def tables(self) -> dict[str, Hashable] | None:
        """The cluster of each example; None if every example is independent."""
        groups, examples = self.clustered.groups, self.after.examples
        return None if groups is None else dict(zip(examples, groups.tolist(), strict=True))

    @property
    def clustered(self) -> ScoreSheet:
        """The second sheet, with clusters that it lacks taken from the first."""
        return with_common_clusters(self.after, self.before)

    @property
    def once(self) -> bool:
        """Whether every example was asked once, so that cases are independent (section 7)."""
        sides = (side.counts()[0][self.shared] for side in (self.before, self.after))
        return all(bool((times.sum(axis=1) <= 1).all()) for times in sides)

    def values(self, measure: str, columns: Flags | None = None) -> PairedValues:
        """Return the values of a measure, by example.

        `columns` are the configurations of a robustness, by default those that both sides asked of
        the shared examples.
        """
        ranged, shared = measure == "robustness", self.shared
        if columns is None:
            columns = self.grid if ranged else np.full(len(self.before.configurations), True)
        sides = [
            (side.passed if measure == "pass_rate" else side.scores)[:, columns]
            for side in (self.before, self.after)
        ]
        marks = [side.marks[:, columns] for side in (self.before, self.after)]
        differences = example_values(measure, sides[1], sides[0], marks=(marks[1], marks[0]))
        used = np.isfinite(differences)
        is_left_out = shared & ~used
        lacking = [
            (np.any if ranged else np.all)(np.isnan(side[is_left_out]), axis=1) for side in sides
        ]
        both = np.isfinite(sides[0]) & np.isfinite(sides[1]) & used[:, None]
        cells = np.zeros(self.after.is_asked.shape, dtype=bool)
        cells[:, columns] = both
        before, after = (
            example_values(
                measure, np.where(both, side, np.nan)[used], marks=(marks_of_side[used],)
            )
            for side, marks_of_side in zip(sides, marks, strict=True)
        )
        groups = self.clustered.groups
        return PairedValues(
            used=used,
            before=before.tolist(),
            after=after.tolist(),
            differences=differences[used].tolist(),
            left_out=int(is_left_out.sum()),
            # An example is left out on both sides if they answered different configurations.
            left_out_before=int((lacking[0] | ~lacking[1]).sum()),
            left_out_after=int((lacking[1] | ~lacking[0]).sum()),
            same_text=same_answers(self.before, self.after, cells),
            groups=None if groups is None else groups[used].tolist(),
        )


@dataclass(frozen=True)
class PairedValues:
    """One dataset's values of a measure, by example that both sides answered (`used`).

    `left_out` examples were asked on both sides; an example can lack an answer of both.
    """

    used: Flags
    before: list[float]
    after: list[float]
    differences: list[float]
    left_out: int
    left_out_before: int
    left_out_after: int
    same_text: bool
    groups: list[Hashable] | None
    """The cluster of each used example; None if every example is independent."""


def paired_difference(
    datasets: Sequence[SheetPair], measure: Measure, *, tested: bool = True
) -> PairedEstimate:
    """Return the difference of a measure over pairs of sheets.

    It is the mean over datasets of their means, which count equally (strata).
    """
    if measure == "robustness":
        single = [part.dataset for part in datasets if part.grid.sum() < 2]
        if single:
            return _unknown([], f"fewer than two common configurations{_of(single, datasets)}")
    values = [part.values(measure) for part in datasets]
    empty = [part.dataset for part, entry in zip(datasets, values, strict=True) if not entry.before]
    if empty or not values:
        lacking = "an answer to every configuration" if measure == "robustness" else "an answer"
        return _unknown(values, f"no example has {lacking} on both sides{_of(empty, datasets)}")
    total = sum(int(part.shared.sum()) for part in datasets)
    left_out = sum(entry.left_out for entry in values)
    before = mean(mean(entry.before) for entry in values) or 0.0
    after = mean(mean(entry.after) for entry in values) or 0.0
    unjudged = replace(_unknown(values, None), before=before, after=after, value=after - before)
    if measure == "robustness" and left_out > MOST_LEFT_OUT * total:
        lack = "lacks" if left_out == 1 else "lack"
        note = (
            f"{out_of(left_out, total, 'example')} {lack} an answer to some configuration; at most "
            f"{MOST_LEFT_OUT:.0%} may"
        )
        return replace(unjudged, note=note)
    return _judged(unjudged, datasets, values, measure if tested else None)


def _unknown(values: Sequence[PairedValues], note: str | None) -> PairedEstimate:
    return PairedEstimate(
        examples=sum(len(entry.before) for entry in values),
        clusters=cluster_count([entry.groups for entry in values]),
        left_out=sum(entry.left_out for entry in values),
        left_out_before=sum(entry.left_out_before for entry in values),
        left_out_after=sum(entry.left_out_after for entry in values),
        note=note,
    )


def _of(names: Sequence[str], datasets: Sequence[SheetPair]) -> str:
    listing = ", ".join(names)
    return f" in {listing}" if len(datasets) > 1 and names else ""


def _judged(
    unjudged: PairedEstimate,
    datasets: Sequence[SheetPair],
    values: Sequence[PairedValues],
    measure: Measure | None,
) -> PairedEstimate:
    """Return a difference with its interval, and unless `measure` is None with its p-value."""
    differences = [entry.differences for entry in values]
    every = [difference for part in differences for difference in part]
    equal = all(abs(difference) < _SAME for difference in every)
    groups = [entry.groups for entry in values]
    p, test = None, None
    if measure is not None:
        p, test = _p_value(datasets, differences, groups, measure)
    if equal and all(entry.same_text for entry in values):
        test = "identical answers"
        unjudged = replace(unjudged, value=0.0, identical=True, note=test)
    wins = sum(difference >= _SAME for difference in every)
    losses = sum(difference <= -_SAME for difference in every)
    unjudged = replace(
        unjudged, p=p, test=test, wins=wins, losses=losses, ties=len(every) - wins - losses
    )
    stats = moments(differences, groups)
    if stats is None:
        pairs = list(zip((part.dataset for part in datasets), values, strict=True))
        few = [name for name, entry in pairs if len(entry.differences) < 2]
        single = [name for name, entry in pairs if entry.groups and len(set(entry.groups)) < 2]
        note = f"all examples use one table{_of(single, datasets)}"
        if few:
            note = f"fewer than two examples{_of(few, datasets)}"
        return replace(unjudged, note=note)
    low, high, method = paired_bounds(stats)
    return replace(unjudged, low=low, high=high, method=method, moments=stats)


def _p_value(
    datasets: Sequence[SheetPair],
    differences: Sequence[Sequence[float]],
    groups: Sequence[Sequence[Hashable] | None],
    measure: Measure,
) -> tuple[float, str]:
    """Return the p-value and the name of its test.

    Differences of one table flip their signs together, because only tables are independent.
    """
    names = [
        name
        for index, part in enumerate(differences)
        for name in groups[index] or [(index, row) for row in range(len(part))]
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
