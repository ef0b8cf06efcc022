"""The judged cases of a run with the labels that people gave to the same answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tablebench.results.judged_cases import (
    BY_PEOPLE,
    JudgedCase,
    judged_cases,
    unclear_cases,
)
from pytest_tablebench.results.record import UNCLEAR, case_key, outcome_of_score

if TYPE_CHECKING:
    from pytest_tablebench.results.labels import Label
    from pytest_tablebench.results.record import Record


HALF = 0.5
"""The mean label from which people count an unclear reply as right."""


@dataclass(frozen=True)
class LabelledCases:
    """The judged cases of a run with their labels.

    Args:
        cases: all judged cases.
        n_labels: the number of labels of these answers.
        n_others: the number of labels of other answers to the same cases, which do not count.
        is_sampled: whether labels come from a proposed sample, so that its strata count.
    """

    cases: tuple[JudgedCase, ...]
    n_labels: int
    n_others: int
    is_sampled: bool

    @property
    def labelled(self) -> list[JudgedCase]:
        """The cases with a label."""
        return [case for case in self.cases if case.labels]


def labelled_cases(records: Iterable[Record], labels: Iterable[Label]) -> LabelledCases:
    """Attach labels to the judged cases with the same answer.

    Labels that decide unclear replies, or have decided them, are left out.
    """
    whole = list(records)
    unclear = {case.case_id: case.answer for case in unclear_cases(whole)}
    rest = (label for label in labels if unclear.get(label.case_id) != label.answer)
    return with_labels(judged_cases(whole), rest)


def decided(records: Iterable[Record], labels: Iterable[Label]) -> list[Record]:
    """Return the records; unclear replies have the verdict of the people who labelled them."""
    whole = list(records)
    cases = with_labels(unclear_cases(whole), labels).labelled
    verdicts = {case.case_id: (case.label or 0.0) >= HALF for case in cases}
    return [
        _decided(record, verdicts[case_key(record)])
        if UNCLEAR in record.flags and case_key(record) in verdicts
        else record
        for record in whole
    ]


def _decided(record: Record, is_right: bool) -> Record:
    value = float(is_right)
    names = [name for name in record.parts if name in {record.part, "partial"}]
    return replace(
        record,
        score=value,
        parts={**record.parts, **dict.fromkeys(names, value)},
        passed=is_right,
        outcome=outcome_of_score(value, is_right),
        why=None if is_right else record.why,
        flags=(*(flag for flag in record.flags if flag != UNCLEAR), BY_PEOPLE),
    )


def with_labels(cases: Sequence[JudgedCase], labels: Iterable[Label]) -> LabelledCases:
    """Attach labels to the cases with the same answer."""
    by_case = {case.case_id: case for case in cases}
    names = defaultdict[str, dict[str, float]](dict)
    weights: dict[str, float] = {}
    used = others = 0
    for label in labels:
        case = by_case.get(label.case_id)
        if case is None or label.answer != case.answer:
            others += 1
            continue
        used += 1
        names[label.case_id][label.person] = label.label
        if label.weight is not None:
            weights[label.case_id] = label.weight
    labelled = tuple(
        replace(case, labels=names.get(case.case_id, {}), weight=weights.get(case.case_id))
        for case in cases
    )
    return LabelledCases(labelled, used, others, bool(weights))
