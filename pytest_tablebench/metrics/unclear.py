"""Ask a judge whether an unclear reply gives the expected answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics._base import Judgement, Score
from pytest_tablebench.metrics._typed_replies import read_reply
from pytest_tablebench.metrics._typed_verdicts import read_verdict
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers.content import Message

BY_JUDGE = "decided_by_judge"
"""The flag of a reply that was unclear until a judge decided it."""


def decision(
    scored: Score, prediction: Any, references: Sequence[Any], *, question: str = ""
) -> Judgement:
    """Ask the judge about an unclear reply, and return the score by its verdict.

    The reply stays unclear if the judge fails or says neither yes nor no.
    """
    expected = "\n".join(map(str, references))
    text = (
        "A question about a table was answered. Decide whether the reply gives the expected "
        "answer. Another unit, another number, a further item or a missing one is a different "
        "answer; another way to write the same answer is not. A reply that gives several answers, "
        "or leaves open which one it means, does not give the expected answer.\n\n"
        f"Question: {question}\n\nExpected answer:\n{expected}\n\nReply:\n{prediction}\n\n"
        "Does the reply give the expected answer? Say only yes or no."
    )
    try:
        reply = yield Ask((Message("user", text),))
    except NotJudgedError:
        return scored
    verdict = read_verdict(read_reply(reply.text.strip()))
    if verdict is None:
        return replace(scored, flags=(*scored.flags, "judge_parse_error"))
    return with_verdict(scored, verdict, BY_JUDGE)


def with_verdict(scored: Score, is_right: bool, flag: str) -> Score:
    """Return an unclear score with a verdict and the flag of its source."""
    value = float(is_right)
    return replace(
        scored,
        value=value,
        parts=dict.fromkeys(scored.parts, value),
        flags=(*scored.flags, flag),
        unclear=False,
        why="" if is_right else scored.why,
    )
