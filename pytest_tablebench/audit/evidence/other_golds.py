"""The same question has another gold elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence

_WEIGHT = 2.5
"""Of two contradicting golds at least one is wrong, so each is wrong with about one half."""


def other_golds(
    example: AuditedExample,
    groups: Sequence[AnswerGroup],  # noqa: ARG001 - all reasons have one signature
) -> Iterator[Evidence]:
    """Yield each other gold, with its place."""
    for other in example.others:
        text = f"the gold of the same question in {other.place} is {other.answer}"
        yield Evidence("other_gold", text, other.answer, _WEIGHT)
