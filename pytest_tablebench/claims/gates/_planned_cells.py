"""Planned cases of a run that may stop early, as arrays that records fill in."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._scopes import Key, Sides, key_of, read_side
from pytest_tablebench.config.axes import values_on
from pytest_tablebench.results.record import TALLIES
from pytest_tablebench.results.sheets import ScoreSheet, with_clusters
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags


class _PlannedCase:
    """A case as a record that has no answer yet."""

    score = passed = raw = None

    def __init__(self, case: Any, altered: Collection[str]) -> None:
        self.preserves_meaning = case.perturbation not in altered
        self.dataset, self.example_id = case.dataset, case.example_id
        vars(self).update(values_on(case))
        self.benchmark = getattr(case, "benchmark", None)


def planned_side(cases: Iterable[Any], altered: Collection[str]) -> Sides:
    """Return planned cases as a run that asked them and has no answer.

    `altered` are the perturbations that change the meaning of a table.
    """
    return read_side(_PlannedCase(case, altered) for case in cases)


@dataclass
class PlannedCells:
    """The planned cases as arrays, filled in as records arrive."""

    sides: dict[str, ScoreSheet]
    benchmarks: Mapping[str, Sequence[str]]
    places: dict[Key, tuple[str, int, int]]

    @classmethod
    def of(
        cls, cases: Iterable[Any], gates: Sequence[Gate], altered: Collection[str]
    ) -> PlannedCells:
        """Return the arrays of planned cases; the tags, parts and tests of the gates are kept."""
        planned = planned_side({key_of(case): case for case in cases}.values(), altered)
        sides, places = {}, {}
        compared = any(gate.measure == "consistency" for gate in gates)
        for name, sheet in planned.datasets.items():
            for row, column in np.argwhere(sheet.is_asked).tolist():
                key = (name, sheet.examples[row], *sheet.configurations[column])
                places[key] = (name, row, column)
            shape = sheet.is_asked.shape
            sides[name] = replace(
                sheet,
                is_asked=np.zeros(shape, dtype=bool),
                times=None,
                lost=None,
                answers=np.full(shape, None, dtype=object),
                checks={
                    gate.check: np.full(shape, np.nan)
                    for gate in gates
                    if gate.check and gate.scope == name
                },
                parts={gate.part: np.full(shape, np.nan) for gate in gates if gate.part},
                answer_marks=np.zeros(shape, dtype=np.int64) if compared else None,
                tags={tag: [""] * shape[0] for gate in gates for tag, _ in gate.tags},
                clusters=[""] * shape[0],
                tallies={tally: np.zeros(shape) for tally in TALLIES},
            )
        return cls(sides, planned.benchmarks, places)

    def fill(self, record: Any, answer: Hashable | None) -> tuple[str, int, int] | None:
        """Add a record and return its place; None if it is not planned or already added."""
        cell = self.places.get(key_of(record))
        if cell is None or self.sides[cell[0]].is_asked[cell[1:]]:
            return None
        side = self.sides[cell[0]]
        side.is_asked[cell[1:]] = True
        score = getattr(record, "score", None)
        if score is not None:
            side.scores[cell[1:]] = score
            passed = getattr(record, "passed", None)
            side.passed[cell[1:]] = np.nan if passed is None else bool(passed)
            if side.answers is not None:
                side.answers[cell[1:]] = answer
        for field in ("checks", "parts"):
            arrays = getattr(side, field)
            tags = (getattr(record, field, None) or {}) if arrays else {}
            for name in arrays.keys() & tags.keys():
                arrays[name][cell[1:]] = np.nan if tags[name] is None else tags[name]
        for name in (getattr(record, "tallies", None) or {}).keys() & side.tallies.keys():
            side.tallies[name][cell[1:]] = 1.0
        if side.answer_marks is not None:
            side.answer_marks[cell[1:]] = getattr(record, "answer_mark", None) or 0
        cluster = getattr(record, "cluster", None)
        if cluster:
            side.clusters[cell[1]] = cluster  # type: ignore[index]
        if side.tags:
            tags = getattr(record, "tags", None) or {}
            for tag, column in side.tags.items():
                column[cell[1]] = tags.get(tag, column[cell[1]])  # type: ignore[index]
        return cell

    def seen(self, masks: Mapping[str, Flags] | None = None) -> Sides:
        """Return the records so far; with `masks` only these cells, and without answers.

        Equal answers may decide only at the end, since answers that are missing may differ.
        """
        sheets = {}
        for name, side in self.sides.items():
            sheet = with_clusters(side, side.clusters or ())
            if masks is not None:
                mask = masks[name]
                sheet = replace(
                    sheet,
                    scores=np.where(mask, side.scores, np.nan),
                    passed=np.where(mask, side.passed, np.nan),
                    checks={test: np.where(mask, v, np.nan) for test, v in side.checks.items()},
                    is_asked=side.is_asked & mask,
                    answers=None,
                )
            if sheet.is_asked.any():
                sheets[name] = sheet
        return Sides(sheets)
