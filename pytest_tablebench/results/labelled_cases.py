"""The judged cases of a run with the labels that people gave to the same answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tablebench.results.judged_cases import JudgedCase, judged_cases

if TYPE_CHECKING:
    from pytest_tablebench.results.labels import Label
    from pytest_tablebench.results.record import Record


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
    """Attach labels to the judged cases with the same answer."""
    cases = judged_cases(records)
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
    with_labels = tuple(
        replace(case, labels=names.get(case.case_id, {}), weight=weights.get(case.case_id))
        for case in cases
    )
    return LabelledCases(with_labels, used, others, bool(weights))
