"""Assertions for suites: an answer's score must reach its threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import NotJudgedError, SettingsError
from pytest_tablebench.metrics import JUDGED_PARTS
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.running.answer import Answer
    from pytest_tablebench.running.case import CaseRun


_PROGRAM = ("program_", "no_program")
"""Beginnings of the flags about a reply's program."""


class WrongAnswer(AssertionError):
    """The score of an answer is below the threshold; the text has three lines."""


def assert_score(
    case: CaseRun, answer: Answer, *, part: str | None = None, threshold: float | None = None
) -> None:
    """Score the answer with the dataset's metric and raise `WrongAnswer` below the threshold.

    `part` names a part of the metric's score, or another metric. `threshold` replaces the
    threshold of the dataset, marker or option. If no threshold makes an answer right or wrong
    (`CaseRun.has_verdict`), nothing is asserted.
    """
    _require(case, answer, part, threshold, "score")


def _require(
    case: CaseRun, answer: Answer, part: str | None, threshold: float | None, name: str
) -> None:
    value = case.judge(answer, part)
    if threshold is None and not case.has_verdict:
        return
    if value < (case.threshold if threshold is None else threshold):
        raise WrongAnswer(failure_text(case, answer, value, name))


def assert_exact_match(case: CaseRun, answer: Answer) -> None:
    """Assert that the reply contains exactly the expected items."""
    assert_score(case, answer, part="exact_match")


def assert_token_f1(case: CaseRun, answer: Answer) -> None:
    """Assert that token F1 between reply and references reaches the threshold."""
    assert_score(case, answer, part="f1_strings")


def assert_accuracy(case: CaseRun, answer: Answer) -> None:
    """Assert that the reply is the expected label."""
    assert_score(case, answer, part="accuracy")


def assert_label_f1(case: CaseRun, answer: Answer) -> None:
    """Assert that micro F1 between the reply's labels and the expected ones reaches the threshold.

    At the threshold 1.0: all expected labels, in any order, and (in `fixed`) no other.
    """
    assert_score(case, answer, part="f1_micro")


def assert_program_accuracy(case: CaseRun, answer: Answer) -> None:
    """Assert that the reply is a program with the same meaning as the gold program."""
    assert_score(case, answer, part="program_accuracy")


def assert_rouge(case: CaseRun, answer: Answer) -> None:
    """Assert that ROUGE-L between reply and best reference reaches the threshold."""
    assert_score(case, answer, part="rougeL")


def assert_execution_accuracy(case: CaseRun, answer: Answer) -> None:
    """Assert that the reply, a value or a program, has the result of the gold program."""
    _require(case, answer, "execution_accuracy", None, "execution_accuracy")


def assert_chart_ecr(case: CaseRun, answer: Answer) -> None:
    """Assert that the reply's program runs and draws (RealHiTBench's ECR)."""
    _require(case, answer, "ecr", None, "ecr")


def assert_chart_pass_at_1(case: CaseRun, answer: Answer) -> None:
    """Assert that the reply's program draws the expected values (RealHiTBench's pass@1)."""
    _require(case, answer, "pass@1", None, "pass@1")


def assert_judged(case: CaseRun, answer: Answer, *, threshold: float | None = None) -> None:
    """Assert that a judge's mark of the answer, from 0 to 1, reaches the threshold.

    The mark is the judged part of a built-in metric, else the score of a metric that asked a judge.
    Raises `SettingsError` without a judge, or if the dataset's metric does not ask it.
    """
    parts = case.score.parts if case.score is not None else {}
    part = next((name for name in JUDGED_PARTS if name in parts), None)
    is_asked = any(step.kind == "ask" for step in case.judging)
    if part is None and not is_asked and not isinstance(case.error, NotJudgedError):
        raise SettingsError(
            f"{case.id}: no judge marked this answer; name one with --bench-judge=NAME, and a "
            f"metric that asks it"
        )
    _require(case, answer, part, threshold, part or "score")


def failure_text(case: CaseRun, answer: Answer, value: float, name: str) -> str:
    """Return question, expected and got, one printable line each.

    The last line contains the score with its `name`, the reason for it, and flags about the
    reply's program.
    """
    example = case.example
    question = example.question if example else ""
    references = " | ".join(example.references) if example else ""
    flags = [flag for flag in case.flags if flag.startswith(_PROGRAM)]
    reasons = [*map(printable, flags)]
    if case.score is not None and case.score.why:
        unclear = "unclear: " if case.score.unclear else ""
        reasons.append(unclear + printable(redact(case.score.why), 200))
    counted = "; ".join([f"{printable(name, 40)} {value:.2f}", *reasons])
    return (
        f"question: {printable(question, 300)}\n"
        f"expected: {printable(references, 200)}\n"
        f"got:      {printable(answer.text, 200) or '(an empty reply)'}  ({counted})"
    )
