"""What each example of a dataset adds to the figures, worked out once for all scopes it is in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.results.figures import agreement, means, robustness
from pytest_tablebench.results.record import CUTS
from pytest_tablebench.results.sheets import Configuration, ScoreSheet, grid_size
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_tablebench.results.score_columns import Flags, Floats, Integers


class ScorePart(NamedTuple):
    """A named part of the score by example.

    `values` are the means over the configurations that have it, NaN where none has; `cases` how
    many these are; `is_score` whether it equals the score wherever there is one.
    """

    values: Floats
    cases: Integers
    is_score: Flags


@dataclass(frozen=True)
class Examples:
    """Columns of a dataset's examples; a row is an example.

    `cases` and `lost` count what was asked, and what of it has no answer. All else is of tables
    that mean what the plain one does (`ScoreSheet.meant`): `is_asked` by configuration, `answered`
    how many, `performance`, `robustness` and `pass_rate`, NaN without an answer, `parts` by name,
    and of the most common answer its `share` and its score (`majority`) beside the mean score of
    the same answers (`single`), NaN where too few are known. `altered`: there are no such tables.
    `names` are the clusters of the examples, None where they are not known; `one_table` tells
    that the whole dataset has a single one.
    `cuts` counts the cases whose replies a token limit ended, by how.
    """

    cases: Integers
    lost: Integers
    configurations: tuple[Configuration, ...]
    is_asked: Flags
    answered: Integers
    performance: Floats
    robustness: Floats
    pass_rate: Floats
    parts: Mapping[str, ScorePart]
    share: Floats
    majority: Floats
    single: Floats
    altered: bool
    cuts: Mapping[str, Integers]
    names: NDArray[np.object_] | None = None
    one_table: bool = False

    @classmethod
    def of(cls, whole: ScoreSheet, *, with_parts: bool = True) -> Examples:
        """Return the columns of a sheet's examples; `with_parts` also fills parts and agreement."""
        cases, lost = (counts.sum(axis=1) for counts in whole.counts())
        sheet = whole.meant
        scores = sheet.scores
        is_answered = np.isfinite(scores)
        share = majority = single = np.full(len(scores), np.nan)
        parts = {}
        if with_parts and sheet.answer_marks is not None:
            share, majority = agreement(sheet.answer_marks, scores)
            read = np.isfinite(share)[:, None] & (sheet.answer_marks != 0)
            single = means(np.where(read, scores, np.nan))
        for name, part_values in sheet.parts.items() if with_parts else ():
            values = np.where(is_answered, part_values, np.nan)
            has_part = np.isfinite(values)
            same = (values == scores) | ~is_answered
            parts[name] = ScorePart(means(values), has_part.sum(axis=1), same.all(axis=1))
        return cls(
            cases,
            lost,
            sheet.configurations,
            sheet.is_asked,
            is_answered.sum(axis=1),
            means(scores),
            robustness(scores),
            means(sheet.passed),
            parts,
            share,
            majority,
            single,
            not sheet.altered.isdisjoint(sheet.names(1)),
            {name: whole.cut(name).sum(axis=1) for name in CUTS},
            sheet.cluster_names,
            sheet.one_table,
        )

    def __len__(self) -> int:
        return len(self.cases)

    def groups_of(self, values: Floats) -> list[Hashable] | None:
        """Return the clusters of the examples that have a value; None: each is its own."""
        if self.names is None or self.one_table:
            return None
        groups: list[Hashable] = self.names[np.isfinite(values)].tolist()
        return groups

    @property
    def size(self) -> int:
        """How many cells the whole grid of these examples would have."""
        columns = np.flatnonzero(self.is_asked.any(axis=0))
        return grid_size(len(self), [self.configurations[place] for place in columns])

    def only(self, rows: Sequence[int]) -> Examples:
        """Return some of the examples."""
        places = np.array(rows, dtype=np.intp)
        columns: dict[str, Any] = {
            name: column[places]
            for name, column in vars(self).items()
            if isinstance(column, np.ndarray)
        }
        parts = {
            name: ScorePart(part.values[places], part.cases[places], part.is_score[places])
            for name, part in self.parts.items()
        }
        cuts = {name: counts[places] for name, counts in self.cuts.items()}
        return replace(self, parts=parts, cuts=cuts, **columns)
