"""The cases of a run that a judge marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_tablebench.config.axes import GRID, NAMED, values_on
from pytest_tablebench.results.judges import JUDGED
from pytest_tablebench.results.record import UNCLEAR, Record, case_key


@dataclass(frozen=True)
class JudgedCase:
    """A case with a mark by a judge.

    Args:
        case_id: the case without its model, as in `case_key`.
        names: its names by axis.
        mark: the judge's mark, from 0 to 1; `part` is its name among the parts of the score.
        is_score: whether the mark is the case's score.
        threshold: the score from which the case is right; None if it has no verdict.
        cluster: the table that the example shares with others; the example itself if unknown.
        answer: the mark of the answer, as in `Record.answer_mark`.
        length: the number of characters of the reply.
        labels: the labels of people, by name.
        weight: the relative sampling weight of its labels; None if they are not of a proposed
            sample.
    """

    case_id: str
    model: str
    dataset: str
    example_id: str
    names: Mapping[str, str]
    mark: float
    part: str
    is_score: bool
    threshold: float | None
    cluster: str
    answer: int | None
    length: int
    tags: Mapping[str, str] = field(default_factory=dict)
    preserves_meaning: bool = True
    labels: Mapping[str, float] = field(default_factory=dict)
    weight: float | None = None

    @property
    def cell(self) -> tuple[str, ...]:
        """The names on the axes of a grid."""
        return tuple(self.names[axis.name] for axis in GRID)

    @property
    def configuration(self) -> tuple[str, ...]:
        """The names on all axes."""
        return tuple(self.names.values())

    def has_name(self, text: str) -> bool:
        """Return whether it has a name in the brackets of a gate: `pot`, or `strategy=pot`."""
        axis, _, name = text.partition("=")
        return self.names.get(axis) == name or text in self.names.values()

    @property
    def label(self) -> float | None:
        """The mean of the labels; None without any."""
        return sum(self.labels.values()) / len(self.labels) if self.labels else None


def judged_part(record: Record) -> str | None:
    """Return the part of a record that is a judge's mark from 0 to 1; None without one."""
    names = [record.part] if record.part in JUDGED else []
    return next(
        (
            name
            for name in (*names, *JUDGED)
            if name is not None and 0 <= record.parts.get(name, -1) <= 1
        ),
        None,
    )


def judged_cases(records: Iterable[Record]) -> list[JudgedCase]:
    """Return the cases that a judge marked, in the order of the records."""
    cases = []
    for record in records:
        part = judged_part(record)
        if part is None or record.score is None:
            continue
        cases.append(_case(record, float(record.parts[part]), part))
    return _with_clusters(cases)


BY_PEOPLE = "decided_by_people"
"""The flag of a reply that was unclear until people decided it."""


def unclear_cases(records: Iterable[Record]) -> list[JudgedCase]:
    """Return the cases whose reply is unclear, or was until people decided it, for labels."""
    cases = [
        _case(record, 0.0, record.part or "")
        for record in records
        if not {UNCLEAR, BY_PEOPLE}.isdisjoint(record.flags)
    ]
    return _with_clusters(cases)


def _case(record: Record, mark: float, part: str) -> JudgedCase:
    return JudgedCase(
        case_key(record),
        record.model,
        record.dataset,
        record.example_id,
        values_on(record, NAMED),
        mark,
        part,
        record.part == part,
        record.threshold if record.passed is not None else None,
        f"\0{record.example_id}" if record.cluster is None else record.cluster,
        record.answer_mark,
        len(record.raw or ""),
        record.tags,
        record.preserves_meaning,
    )


def _with_clusters(cases: Sequence[JudgedCase]) -> list[JudgedCase]:
    """Return the cases; the examples of a dataset with a single table are their own clusters."""
    tables = defaultdict[str, set[str]](set)
    for case in cases:
        tables[case.dataset].add(case.cluster)
    return [
        replace(case, cluster=f"\0{case.example_id}") if len(tables[case.dataset]) == 1 else case
        for case in cases
    ]
