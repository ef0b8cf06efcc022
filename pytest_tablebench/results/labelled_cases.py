"""The judged cases of a run: their labels, samples to label, and the texts that people see."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.judged_cases import (
    BY_PEOPLE,
    JudgedCase,
    judged_cases,
    unclear_cases,
)
from pytest_tablebench.results.record import UNCLEAR, case_key, outcome_of_score
from pytest_tablebench.results.texts import TEXTS, example_key, read_examples

if TYPE_CHECKING:
    from pytest_tablebench.results.labels import Label
    from pytest_tablebench.results.record import Record
    from pytest_tablebench.results.run import Run


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


BINS = (1 / 3, 2 / 3)
"""The marks at which a stratum of low, middle or high marks begins."""


def mark_bin(mark: float) -> int:
    """Return the stratum of a mark within its dataset: 0 low, 1 middle, 2 high."""
    return sum(mark >= bound for bound in BINS)


def propose_sample(
    cases: Sequence[JudgedCase], size: int, *, seed: int = 0
) -> list[tuple[JudgedCase, float]]:
    """Return cases to label with their relative sampling weights, in random order.

    Strata are the dataset and the judge's mark (low, middle, high). Each has a share of the sample
    in proportion to its examples, and at least two cases. Cases of labelled examples are left out.
    Within a stratum one case of each example, in random order, comes first, then a second case.

    The weight is 1 divided by the chance of the case, times the share of the stratum's examples
    that were drawn: for one case per example it is the number of the example's cases in the
    stratum.
    """
    labelled = {(case.dataset, case.example_id) for case in cases if case.labels}
    strata = defaultdict[tuple[str, int], dict[str, list[JudgedCase]]](lambda: defaultdict(list))
    for case in cases:
        if (case.dataset, case.example_id) not in labelled:
            strata[case.dataset, mark_bin(case.mark)][case.example_id].append(case)
    sample: list[tuple[JudgedCase, float]] = []
    sizes = [len(strata[name]) for name in sorted(strata)]
    numbers = [sum(map(len, strata[name].values())) for name in sorted(strata)]
    for name, number in zip(sorted(strata), _allocation(sizes, numbers, size), strict=True):
        draw = random.Random(f"labels|{seed}|{name[0]}|{name[1]}")
        sample += _drawn(strata[name], number, draw)
    random.Random(f"labels|{seed}").shuffle(sample)
    return sample


def _allocation(sizes: Sequence[int], numbers: Sequence[int], total: int) -> list[int]:
    """Return the number of cases of each stratum: in proportion, at least two, at most all."""
    total = min(total, sum(numbers))
    if not sizes:
        return []
    shares = [total * size / sum(sizes) for size in sizes]
    chosen = [
        min(number, max(2, math.floor(share)))
        for number, share in zip(numbers, shares, strict=True)
    ]
    while sum(chosen) != total:
        step = 1 if sum(chosen) < total else -1
        places = [
            index
            for index, number in enumerate(numbers)
            if (chosen[index] < number if step > 0 else chosen[index] > min(2, number))
        ] or [index for index, value in enumerate(chosen) if value > 0]
        index = max(places, key=lambda at: step * (shares[at] - chosen[at]))
        chosen[index] += step
    return chosen


def _drawn(
    examples: dict[str, list[JudgedCase]], number: int, draw: random.Random
) -> list[tuple[JudgedCase, float]]:
    order = sorted(examples)
    draw.shuffle(order)
    queues = {name: draw.sample(examples[name], len(examples[name])) for name in order}
    chosen: list[JudgedCase] = []
    rounds = 0
    left, chance = number, 0.0
    while left > 0:
        members = [name for name in order if len(queues[name]) > rounds]
        if not members:
            break
        if left < len(members):
            chance = left / len(members)
        chosen += [queues[name][rounds] for name in members[:left]]
        rounds, left = rounds + (left >= len(members)), left - len(members)
    taken = {
        name: min(len(cases), rounds) + (chance if len(cases) > rounds else 0.0)
        for name, cases in examples.items()
    }
    mean = sum(taken.values()) / len(taken) if taken else 1.0
    return [
        (case, mean * len(examples[case.example_id]) / taken[case.example_id]) for case in chosen
    ]


LabelScale = Literal["marks", "right_wrong"]
"""`marks`: whole marks from 0 to 10. `right_wrong`: two choices."""


@dataclass(frozen=True)
class LabelCase:
    """One answer to label, with everything that a person needs.

    Args:
        case_id: as in the run's records.
        tables: as in `ExampleText`: mappings with `title`, `header` and `rows`.
        references: the expected answers.
        reply: what the judge received.
        judge_mark: the judge's mark from 0 to 1, which a blind page hides; None without one.
        scale: the marks that the case's judge uses.
    """

    case_id: str
    dataset: str
    question: str
    tables: tuple[Mapping[str, Any], ...]
    references: tuple[str, ...]
    reply: str
    judge_mark: float | None = None
    scale: LabelScale = "marks"


def label_cases(run: Run, case_ids: Iterable[str]) -> list[LabelCase]:
    """Return what a page for labels shows of some judged cases, in their order.

    Question and tables are empty if the run did not keep its texts. Raises `SettingsError` for a
    case that the run does not have or that no judge marked.
    """
    records = {case_key(record): record for record in run.records}
    cases = [*unclear_cases(run.records), *judged_cases(run.records)]
    judged = {case.case_id: case for case in cases}
    names = list(case_ids)
    unknown = next((name for name in names if name not in judged), None)
    if unknown is not None:
        raise SettingsError(f"the run has no judged case {unknown!r}")
    keys = {
        name: example_key(
            records[name].dataset, records[name].example_id, records[name].perturbation
        )
        for name in names
    }
    needed = set(keys.values())
    texts = {text.id: text for text in read_examples(run.path / TEXTS) if text.id in needed}
    graded = {case.dataset for case in judged.values() if case.mark not in {0.0, 1.0}}
    label_rows = []
    for name in names:
        text, record = texts.get(keys[name]), records[name]
        label_rows.append(
            LabelCase(
                name,
                record.dataset,
                "" if text is None else text.question,
                () if text is None else text.tables,
                tuple(map(str, record.references)),
                record.raw or "",
                judged[name].mark,
                "marks" if records[name].dataset in graded else "right_wrong",
            )
        )
    return label_rows
