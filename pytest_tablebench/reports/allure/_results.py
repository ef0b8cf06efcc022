"""Records as results of Allure: ids, labels, status, message.

The classes of allure-python-commons define the format of the files. The ids are ours, made from
the case id alone: allure-pytest hashes the values of parameters, so different cases can get one id
and disappear as retries of each other.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from allure_commons.model2 import (
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

_WORST_FIRST = (Status.FAILED, Status.BROKEN, Status.SKIPPED, Status.PASSED)
_CHECKED = {
    True: ("passed", Status.PASSED),
    False: ("failed", Status.FAILED),
    None: ("unknown", Status.BROKEN),
}
_FACTS = (
    *("model", "dataset", "example_id", "serializer", "perturbation", "strategy"),
    *(axis.name for axis in MODES),
    *("metric", "score", "prompt_digest", "prompt_tokens", "completion_tokens", "cost_usd"),
)
_DEFAULTS = {axis.name: axis.default for axis in MODES if axis.name != "strategy"}


def history_id(case_id: str) -> str:
    """Return the id by which Allure recognizes a case in later runs: 32 hexadecimal digits.

    It is the `historyId` for Allure 2, and the `testCaseId` for Allure 3, which adds the parameters
    that are not excluded.
    """
    text = f"tablebench/{case_id}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


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
        return FAILED_CHECK if False in record.checks.values() else None
    if record.outcome == "no_answer":
        return f"no answer: {reason_of(record)}"
    if record.outcome == "scored":
        return "no verdict"
    if "truncated" in record.flags:
        return "truncated answer"
    return "unreadable answer" if _has_no_prediction(record) else "wrong answer"


def status_of(kind: str | None) -> str:
    """Return the status of a case with this category."""
    if kind is None:
        return Status.PASSED
    if kind.startswith("no answer"):
        return Status.BROKEN
    return Status.SKIPPED if kind == "no verdict" else Status.FAILED


def _has_no_prediction(record: Record) -> bool:
    if not (record.raw or "").strip():
        return True
    if record.prediction is None:
        return record.metric != "assertion"  # a test's assertion reads the reply itself
    prediction = record.prediction
    parts = prediction if isinstance(prediction, list | tuple) else [prediction]
    return not any(str(part).strip() for part in parts)


def cut(text: str, limit: int) -> str:
    """Return text of a model or dataset, escaped and cut at `limit` characters."""
    left = len(text) - limit
    end = f"\n[... {counted(left, 'character')} more]" if left > 0 else ""
    return escaped(text[:limit]) + end


def _result(name: str, title: str, record: Record, start: int, **facts: Any) -> TestResult:
    """Return a result with its ids, its title and the place of a record in Allure's trees.

    Behaviours: benchmark, dataset, serializer. Suites: benchmark, dataset, perturbation. A
    question about the plain table is critical, one about a perturbed table normal.
    """
    suite = (record.benchmark, record.dataset, record.serializer)
    path = (record.benchmark, record.dataset, record.perturbation)
    labels = {
        **dict(zip(("epic", "feature", "story"), suite, strict=True)),
        **dict(zip(("parentSuite", "suite", "subSuite"), path, strict=True)),
        "severity": "critical" if record.perturbation == "none" else "normal",
        "framework": "pytest-tablebench",
        "language": "python",
    }
    return TestResult(
        uuid=str(uuid.uuid4()),
        historyId=history_id(name),
        testCaseId=history_id(name),
        fullName=printable(name, 300),
        name=printable(title, 160),
        titlePath=[printable(part, 100) for part in path],
        labels=[Label(key, printable(value, 100)) for key, value in labels.items()],
        stage="finished",
        start=start,
        stop=start + round(1000 * facts.pop("seconds", 0)),
        **facts,
    )


def _step(text: str, status: str, start: int) -> TestStepResult:
    return TestStepResult(name=printable(text, 200), status=status, start=start, stop=start)


def case_result(record: Record, start: int, change: str | None = None) -> TestResult:
    """Return the result of one case; `change` is the change of a stored answer."""
    kind = kind_of(record)
    result = _result(
        record.case_id,
        f"{record.example_id} · {record.serializer} · {record.perturbation}",
        record,
        start,
        seconds=record.latency_s or 0,
        status=status_of(kind),
        statusDetails=_details(record, kind) if kind else None,
        steps=[
            _step(f"check {name}: {_CHECKED[passed][0]}", _CHECKED[passed][1], start)
            for name, passed in record.checks.items()
        ],
        parameters=_parameters(record),
    )
    tags = [*record.flags, *([f"answer {change}"] if change else [])]
    result.labels += [Label("tag", printable(tag, 60)) for tag in tags]
    return result


def _parameters(record: Record) -> list[Parameter]:
    """Return the case, by which Allure identifies it, and excluded facts."""
    facts = {name: getattr(record, name) for name in _FACTS}
    if record.score is not None:
        facts["score"] = f"{record.score:.4g}"
    return [
        Parameter("case", printable(record.case_id, 300)),
        *(
            Parameter(name, printable(str(value), 200), excluded=True)
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
        trace = "reply:\n" + cut(record.raw, REPLY_SHOWN)
    return StatusDetails(message="\n".join(lines), trace=trace)


def check_counts(records: Sequence[Record]) -> dict[tuple[str, str], Counter[bool]]:
    """Return by dataset and test how many cases passed and failed it."""
    counts: dict[tuple[str, str], Counter[bool]] = {}
    for record in records:
        for name, passed in record.checks.items():
            if passed is not None:
                counts.setdefault((record.dataset, name), Counter())[passed] += 1
    return counts


def group_result(records: Sequence[Record], start: int, *, right_only: bool) -> TestResult:
    """Return one result for all cases of one dataset, serializer and perturbation.

    With `right_only` it counts the right answers; the other cases have their own results.
    Otherwise it counts all cases, and has the status and the category of the most common kind of
    failed cases, else of those without an answer.
    """
    record, kinds = records[0], Counter(map(kind_of, records))
    right = kinds[None] if right_only else kinds[None] + kinds[FAILED_CHECK]
    total = len(records) - kinds["no verdict"]
    dataset, _, rest = record.case_id.split("/", 2)
    name = f"group/{dataset}/{rest}"
    result = _result(
        name,
        f"{record.serializer} · {record.perturbation}: {right} of {total} right",
        record,
        start,
        status=Status.PASSED,
        parameters=[Parameter("cases", printable(name, 300))],
    )
    if right_only:
        return result
    ranking = kinds.most_common()
    lines = [(f"{count} {kind or 'right'}", status_of(kind)) for kind, count in ranking]
    if scores := [each.score for each in records if each.score is not None]:
        mean = number(sum(scores) / len(scores))
        lines.append((f"mean score {mean} of {counted(len(scores), 'answer')}", Status.PASSED))
    for (_, test), passed in sorted(check_counts(records).items()):
        status = Status.FAILED if passed[False] else Status.PASSED
        lines.append((f"check {test}: {passed[True]} of {passed.total()} passed", status))
    result.steps = [_step(*line, start) for line in lines]
    worst = min(kinds, key=lambda kind: (_WORST_FIRST.index(status_of(kind)), -kinds[kind]))
    result.status = status_of(worst)
    if worst is not None:
        message = f"{worst}: {kinds[worst]} of {counted(len(records), 'case')}"
        result.statusDetails = StatusDetails(message=message)
    return result
