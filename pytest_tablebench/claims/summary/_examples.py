"""Figures of each example of a dataset, computed once for all scopes that contain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.results.figures import agreement, means, robustness
from pytest_tablebench.results.record import TALLIES
from pytest_tablebench.results.sheets import ScoreSheet, grid_size
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_tablebench.results.score_columns import Flags, Floats, Integers


class ScorePart(NamedTuple):
    """A named part of the score, by example.

    `values` are means over the `cases` cases that have the part, NaN if none has it. `is_score`
    is whether the part equals the score in all answered cases.
    """

    values: Floats
    cases: Integers
    is_score: Flags


@dataclass(frozen=True)
class Examples:
    """Some examples of a dataset, `rows` of the columns that are computed for all of them.

    The columns `cases`, `lost` (cases without an answer) and those of `TALLIES` count all cases.
    All other columns describe the cases whose perturbation preserves the meaning of the table:

    * `answered`: the number of answered cases;
    * `performance`, `robustness`, `pass_rate`: NaN without an answer;
    * `pass_rate_high`: the pass rate if every unclear reply were right;
    * `share`, `majority`, `single`: the share of the most common answer, its score, and the mean
      score of the same answers; NaN with too few answers.

    Args:
        sheet: all examples, with the cells of these cases.
        parts: the parts of the score, by name, of all examples.
    """

    sheet: ScoreSheet
    columns: Mapping[str, Any]
    parts: Mapping[str, ScorePart]
    rows: Integers

    @classmethod
    def of(cls, whole: ScoreSheet, *, with_parts: bool = False) -> Examples:
        """Return all examples of a sheet; parts and agreement only `with_parts`."""
        cases, lost = (counts.sum(axis=1) for counts in whole.counts())
        sheet = whole.meant
        scores = sheet.scores
        is_answered = np.isfinite(scores)
        columns: dict[str, Any] = {
            "cases": cases,
            "lost": lost,
            "answered": is_answered.sum(axis=1),
            "performance": means(scores),
            "robustness": robustness(scores),
            "pass_rate": means(sheet.passed),
            "pass_rate_high": means((sheet.unclear_as_right or sheet).passed),
            **{name: whole.tally(name).sum(axis=1) for name in TALLIES},
        }
        if (clusters := sheet.cluster_names) is not None:
            columns["clusters"] = clusters
        parts = {}
        if with_parts:
            share, majority = agreement(sheet.marks, scores)
            read = np.isfinite(share)[:, None] & (sheet.marks != 0)
            single = means(np.where(read, scores, np.nan))
            columns |= {"share": share, "majority": majority, "single": single}
            for name, part_values in sheet.parts.items():
                values = np.where(is_answered, part_values, np.nan)
                has_part = np.isfinite(values)
                same = (values == scores) | ~is_answered
                parts[name] = ScorePart(means(values), has_part.sum(axis=1), same.all(axis=1))
        return cls(sheet, columns, parts, np.arange(len(scores)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Any:
        """Return a column of these examples."""
        return self.columns[name][self.rows]

    def part(self, name: str) -> ScorePart:
        """Return a part of the score of these examples."""
        values, cases, is_score = self.parts[name]
        return ScorePart(values[self.rows], cases[self.rows], is_score[self.rows])

    @property
    def is_asked(self) -> Flags:
        """Which configurations of each example were asked."""
        return self.sheet.is_asked[self.rows]

    @property
    def clusters(self) -> NDArray[np.object_] | None:
        """The cluster of each example; None if unknown."""
        return self["clusters"] if "clusters" in self.columns else None

    def groups_of(self, values: Floats) -> list[Hashable] | None:
        """Return the clusters of the examples that have a value; None if each is its own."""
        if self.clusters is None or self.sheet.one_table:
            return None
        groups: list[Hashable] = self.clusters[np.isfinite(values)].tolist()
        return groups

    @property
    def size(self) -> int:
        """The number of cells in the complete grid of these examples."""
        cells = self.sheet.cells(np.any(self.is_asked, axis=0))
        return grid_size(len(self), self.sheet.axes, cells)

    def only(self, rows: Sequence[int]) -> Examples:
        """Return some of the examples."""
        return replace(self, rows=self.rows[rows])


MOST = 200
"""The number of values per tag with separate figures; the most frequent ones have them."""

TAGS = 20
"""The number of tags with figures; the most frequent ones have them."""

Tags = Mapping[str, Sequence[str]]
"""The value of each example of a dataset, by tag; empty without one."""

Measures = Callable[[Sequence[Examples]], dict[str, Any]]


def by_tag(
    datasets: Sequence[Examples], tags: Sequence[Tags], measures: Measures
) -> dict[str, Any]:
    """Return a scope's entries by tag for `summary.json`; empty for a scope without tags.

    Each tag has `values` (the measures of each value's examples, sorted by value) and `without`
    (the measures of examples without the tag). With more than `MOST` values it also has `others`
    (the measures of the examples of the rarer values) and `n_others` (the number of these values),
    so that the counts of a tag add up to the scope's. With more than `TAGS` tags,
    `tags_left_out` is the number of the rarer tags, which are left out.
    """
    tables: dict[str, dict[str, Any]] = {}
    used = Counter(
        tag
        for dataset_tags in tags
        for tag, column in dataset_tags.items()
        for value in column
        if value
    )
    most = sorted(used, key=lambda tag: (-used[tag], tag))[:TAGS]
    for tag in sorted(most):
        columns = [
            dataset_tags.get(tag, ("",) * len(examples))
            for examples, dataset_tags in zip(datasets, tags, strict=True)
        ]
        counts = Counter(value for column in columns for value in column if value)
        ranked = sorted(counts, key=lambda value: (-counts[value], value))
        frequent, others = sorted(ranked[:MOST]), ranked[MOST:]
        row_of = {value: value for value in frequent} | dict.fromkeys(others)
        rows: dict[str | None, list[list[int]]] = {}
        for number, column in enumerate(columns):
            for row, value in enumerate(column):
                rows_of_value = rows.setdefault(row_of.get(value, ""), [[] for _ in columns])
                rows_of_value[number].append(row)

        def measures_of(key: str | None, rows: Any = rows) -> dict[str, Any]:
            pairs = zip(datasets, rows[key], strict=True)
            return measures([examples.only(places) for examples, places in pairs if places])

        tables[tag] = {"values": {value: measures_of(value) for value in frequent}}
        if "" in rows:
            tables[tag]["without"] = measures_of("")
        if others:
            tables[tag] |= {"others": measures_of(None), "n_others": len(others)}
    more = {"tags_left_out": len(used) - len(most)} if len(used) > len(most) else {}
    return {"tags": tables, **more} if tables else {}
