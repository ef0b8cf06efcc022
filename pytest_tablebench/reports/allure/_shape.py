"""Records as results of Allure: ids, labels, status, message.

The classes of allure-python-commons define the format of the files. The ids are ours, made from
the case id alone: allure-pytest hashes the values of parameters, so different cases can get one id
and disappear as retries of each other.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from allure_commons.model2 import (
    Attachment,
    Label,
    Parameter,
    Status,
    StatusDetails,
    TestResult,
    TestStepResult,
)

from pytest_tablebench.config.axes import MODES
from pytest_tablebench.documents.formats import number
from pytest_tablebench.results import Record
from pytest_tablebench.util.names import counted, escaped, printable

REPLY_SHOWN = 8_000
"""Characters of a reply in the result itself; a longer reply becomes an attachment."""

FAILED_CHECK = "failed check"
"""The category of a right answer that fails a test."""

_PLACES = ("epic", "feature", "story", "parentSuite", "suite", "subSuite")
_STATUS = {
    "right": Status.PASSED,
    "wrong": Status.FAILED,
    "no_answer": Status.BROKEN,
    "scored": Status.SKIPPED,
}


@dataclass(frozen=True)
class Stamp:
    """The facts that all results of a run share: a text that identifies the run, and its start."""

    run: str
    start_ms: int

    def uuid(self, name: str) -> str:
        """Return the id of one file of the run, the same each time it is written."""
        text = f"{self.run}\n{name}".encode("utf-8", "surrogatepass")
        return str(uuid.UUID(bytes=hashlib.sha256(text).digest()[:16], version=5))


@dataclass
class Group:
    """The cases of one dataset, serializer and perturbation, counted."""

    record: Record
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    scores: list[float] = field(default_factory=list)
    checks: dict[str, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    right: int = 0
    """The number of right cases that passed all their tests."""

    def add(self, record: Record) -> None:
        """Count a case."""
        self.outcomes[record.outcome] += 1
        self.right += passed_all(record)
        for name, passed in record.checks.items():
            if passed is not None:
                self.checks[name][passed] += 1
        if record.outcome == "no_answer":
            self.reasons[reason_of(record)] += 1
        elif record.score is not None:
            self.scores.append(record.score)


def history_id(case_id: str) -> str:
    """Return the id by which Allure recognizes a case in later runs: 32 hexadecimal digits.

    It is the `historyId` for Allure 2, and the `testCaseId` for Allure 3, which adds the parameters
    that are not excluded.
    """
    text = f"tablebench/{case_id}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


def case_labels(
    benchmark: str, dataset: str, serializer: str, perturbation: str
) -> list[tuple[str, str]]:
    """Return the labels that place a case in Allure's trees, and its severity.

    Behaviours: benchmark, dataset, serializer. Suites: benchmark, dataset, perturbation. A
    question about the plain table is critical, one about a perturbed table normal.
    """
    values = (benchmark, dataset, serializer, benchmark, dataset, perturbation)
    return [
        *((name, printable(value, 100)) for name, value in zip(_PLACES, values, strict=True)),
        ("severity", "critical" if perturbation == "none" else "normal"),
        ("framework", "pytest-tablebench"),
        ("language", "python"),
    ]


def reason_of(record: Record) -> str:
    """Return the reason of a missing answer as one word, for a category's name."""
    reason = record.reason or "unknown"
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "-" for c in reason[:40])


def kind_of(record: Record) -> str | None:
    """Return the category of a case, with which its message begins; None for a right answer.

    A wrong answer is in the first that fits of three: cut off by the token limit, nothing read from
    the reply, any other. A right answer that fails a test has a category too.
    """
    if record.outcome == "right":
        return None if passed_all(record) else FAILED_CHECK
    if record.outcome == "no_answer":
        return f"no answer: {reason_of(record)}"
    if record.outcome == "scored":
        return "no verdict"
    if "truncated" in record.flags:
        return "truncated answer"
    return "unreadable answer" if _read_nothing(record) else "wrong answer"


def passed_all(record: Record) -> bool:
    """Return whether an answer is right and passed all tests of its case."""
    return record.outcome == "right" and False not in record.checks.values()


def _read_nothing(record: Record) -> bool:
    if not (record.raw or "").strip():
        return True
    if record.prediction is None:
        return record.metric != "assertion"  # a test's assertion reads the reply itself
    prediction = record.prediction
    parts = prediction if isinstance(prediction, list | tuple) else [prediction]
    return not any(str(part).strip() for part in parts)


def shown(text: str, limit: int) -> str:
    """Return text of a model or dataset, escaped and cut at `limit` characters."""
    left = len(text) - limit
    end = f"\n[... {counted(left, 'character')} more]" if left > 0 else ""
    return escaped(text[:limit]) + end


def _result(name: str, title: str, record: Record, stamp: Stamp, **facts: Any) -> TestResult:
    """Return a result with its ids, its title and the place of a record in Allure's trees."""
    place = (record.benchmark, record.dataset, record.serializer, record.perturbation)
    result = TestResult(
        uuid=stamp.uuid(name),
        historyId=history_id(name),
        testCaseId=history_id(name),
        fullName=printable(name, 300),
        name=printable(title, 160),
        titlePath=[printable(part, 100) for part in (*place[:2], record.perturbation)],
        stage="finished",
        start=stamp.start_ms,
        stop=stamp.start_ms,
        **facts,
    )
    result.labels = [Label(*label) for label in case_labels(*place)]
    return result


def case_result(
    record: Record, stamp: Stamp, *, attachments: list[Attachment], change: str | None = None
) -> TestResult:
    """Return the result of one case; `change` is the change of a stored answer."""
    kind = kind_of(record)
    result = _result(
        record.case_id,
        f"{record.example_id} · {record.serializer} · {record.perturbation}",
        record,
        stamp,
        status=Status.FAILED if kind == FAILED_CHECK else _STATUS[record.outcome],
        statusDetails=_details(record, kind) if kind else None,
        steps=[
            _step(f"check {name}: {_CHECKED[passed][0]}", _CHECKED[passed][1], stamp)
            for name, passed in record.checks.items()
        ],
        parameters=_parameters(record),
        attachments=attachments,
    )
    result.labels += [Label("tag", printable(flag, 60)) for flag in record.flags]
    result.labels += [Label("tag", f"answer {printable(change, 60)}")] if change else []
    result.stop += round(1000 * (record.latency_s or 0))
    return result


_CHECKED = {
    True: ("passed", Status.PASSED),
    False: ("failed", Status.FAILED),
    None: ("unknown", Status.BROKEN),
}


def _step(text: str, status: Any, stamp: Stamp) -> TestStepResult:
    return TestStepResult(
        name=printable(text, 200), status=status, start=stamp.start_ms, stop=stamp.start_ms
    )


_FACTS = (
    *("model", "dataset", "example_id", "serializer", "perturbation", "strategy"),
    *(axis.name for axis in MODES),
    *("metric", "score", "prompt_digest", "prompt_tokens", "completion_tokens", "cost_usd"),
)
_NAMES = {"example_id": "example", "prompt_digest": "prompt"}
_DEFAULTS = {axis.name: axis.default for axis in MODES if axis.name != "strategy"}


def _parameters(record: Record) -> list[Parameter]:
    """Return the case, by which Allure identifies it, and excluded facts."""
    facts = {name: getattr(record, name) for name in _FACTS}
    if record.score is not None:
        facts["score"] = f"{record.score:.4g}"
    return [
        Parameter("case", printable(record.case_id, 300)),
        *(
            Parameter(_NAMES.get(name, name), printable(str(value), 200), excluded=True)
            for name, value in facts.items()
            if value not in (None, _DEFAULTS.get(name))
        ),
    ]


def _details(record: Record, kind: str) -> StatusDetails:
    """Return message and reply of a case that is not right."""
    lines = [kind]
    if record.outcome == "right":
        failed = [name for name, passed in record.checks.items() if passed is False]
        lines.append(f"right, and did not pass: {printable(', '.join(failed), 300)}")
    if record.outcome in {"wrong", "scored"}:
        got = printable(record.raw or "", 300) or "(an empty reply)"
        score = "" if record.score is None else f"  (score {record.score:.2f})"
        lines.append(f"expected: {printable(' | '.join(record.references), 300)}")
        lines.append(f"got:      {got}{score}")
    trace = None
    if record.raw and len(record.raw) > 300:
        trace = "reply:\n" + shown(record.raw, REPLY_SHOWN)
    return StatusDetails(message="\n".join(lines), trace=trace)


def group_result(group: Group, stamp: Stamp, *, right_only: bool) -> TestResult:
    """Return one result for a whole configuration of a dataset.

    With `right_only` it counts the right answers; the other cases have their own results.
    Otherwise it counts all cases: it is failed with a wrong answer, else broken with a missing one.
    """
    record, counts = group.record, group.outcomes
    dataset, _, rest = record.case_id.split("/", 2)
    name = f"group/{dataset}/{rest}"
    total = counts.total() - counts["scored"]
    right = group.right if right_only else counts["right"]
    status, message = Status.PASSED, None
    if not right_only and counts["wrong"]:
        status, message = Status.FAILED, f"wrong answers: {counts['wrong']} of {total}"
    elif not right_only and (failed := counts["right"] - group.right):
        status, message = Status.FAILED, f"{FAILED_CHECK}: {failed} of {counts['right']} right ones"
    elif not right_only and counts["no_answer"]:
        common = group.reasons.most_common(1)[0][0]
        reasons = ", ".join(f"{name} {count}" for name, count in sorted(group.reasons.items()))
        status, message = Status.BROKEN, f"no answer: {common} and others\n{reasons}"
    elif not total:
        status, message = Status.SKIPPED, f"no verdict: {counted(counts['scored'], 'answer')}"
    return _result(
        name,
        f"{record.serializer} · {record.perturbation}: {right} of {total} right",
        record,
        stamp,
        status=status,
        statusDetails=StatusDetails(message=message) if message else None,
        steps=[] if right_only else [_step(*line, stamp) for line in _lines(group)],
        parameters=[Parameter("cases", printable(name, 300))],
    )


def _lines(group: Group) -> Iterator[tuple[str, Any]]:
    """Yield the counts of a group, and the status of each."""
    for outcome, words in (("right", "right"), ("wrong", "wrong"), ("scored", "without a verdict")):
        if count := group.outcomes[outcome]:
            yield f"{count} {words}", _STATUS[outcome]
    for reason, count in sorted(group.reasons.items()):
        yield f"{count} without an answer: {reason}", Status.BROKEN
    if scores := group.scores:
        mean = number(sum(scores) / len(scores))
        yield f"mean score {mean} of {counted(len(scores), 'answer')}", Status.PASSED
    for name, passed in sorted(group.checks.items()):
        status = Status.FAILED if passed[False] else Status.PASSED
        yield f"check {name}: {passed[True]} of {passed.total()} passed", status
