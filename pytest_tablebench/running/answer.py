"""Answers of models, and the steps they took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply
from pytest_tablebench.serializers.content import Content, Image, digest_of, text_of
from pytest_tablebench.strategies import Said

__all__ = [
    "Answer",
    "StepFacts",
    "answer_of",
    "picture_of",
    "shown_by",
    "step_facts",
    "step_records",
]


@dataclass(frozen=True)
class StepFacts:
    """One step of a conversation, without its texts.

    Arguments:
        kind: `ask` or `execute`.
        key: of the request or the program.
        digest: of the reply's text or the program, as in records.
        outcome: why a reply ended (`stop`, `length`, ...), or a program's outcome.
        model: who was asked, where that is not the model under test.
        seconds, prompt_tokens, completion_tokens, cost_usd: None when unknown, or not of its kind.
        from_store: whether it was answered or run earlier.
        cut: whether a reply was longer than is kept.
        picture: the file in `media/` that shows what a program drew.
    """

    kind: Literal["ask", "execute"]
    key: str
    digest: str
    outcome: str | None
    model: str | None = None
    seconds: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    from_store: bool = False
    cut: bool = False
    picture: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a model said about a case, whichever number of calls it took.

    `calls` are those made in this run, which identical requests share; `from_store`: there were
    none.
    """

    text: str
    flags: tuple[str, ...] = ()
    calls: int = 1
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    from_store: bool = False
    steps: tuple[StepFacts, ...] = ()
    """What was done for it, in order."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Numbers beside the score that the strategy gives."""

    def __str__(self) -> str:
        return self.text


_PNG = b"\x89PNG\r\n\x1a\n"


def picture_of(found: Reply | Execution) -> Image | None:
    """Return the picture that a program has left; None where it left none."""
    if isinstance(found, Reply):
        return None
    drawn = [data for data in found.files.values() if data.startswith(_PNG)]
    return Image("image/png", drawn[0]) if drawn else None


def shown_by(step: Ask) -> Content:
    """Return what a question shows a model, as it is kept: several messages as one text."""
    if len(step.messages) == 1:
        return step.messages[0].content
    return "\n\n".join(f"[{one.role}]\n{text_of(one.content)}" for one in step.messages)


def step_facts(step: Step, key: str, found: Reply | Execution) -> StepFacts:
    """Return what is kept of a step and of what came of it."""
    if isinstance(found, Execution):
        return StepFacts(
            "execute",
            key,
            digest_of(step.program if isinstance(step, Execute) else ""),
            found.outcome,
            seconds=found.seconds,
            from_store=found.from_store,
            picture=None if (drawn := picture_of(found)) is None else drawn.file_name,
        )
    return StepFacts(
        "ask",
        key,
        digest_of(found.text),
        found.finish_reason,
        step.model if isinstance(step, Ask) else None,
        found.latency_s,
        found.prompt_tokens,
        found.completion_tokens,
        found.cost_usd,
        found.from_store,
        found.cut,
    )


def step_records(steps: Sequence[StepFacts]) -> tuple[dict[str, Any], ...]:
    """Return what a record says of each step; nothing of an answer that took a single one."""
    return tuple(
        {
            "kind": step.kind,
            "digest": step.digest,
            "outcome": step.outcome,
            "model": step.model,
            "latency_s": step.seconds,
            "prompt_tokens": step.prompt_tokens,
            "completion_tokens": step.completion_tokens,
            "cost_usd": step.cost_usd,
            "from_store": step.from_store,
            **({} if step.picture is None else {"picture": step.picture}),
        }
        for step in (steps if len(steps) > 1 else ())
    )


def answer_of(said: str | Said, steps: list[StepFacts], elapsed: float) -> Answer:
    """Return the answer that steps ended in; `elapsed` are its seconds where they say none."""
    said = said if isinstance(said, Said) else Said(str(said))
    asked = [step for step in steps if step.kind == "ask"]
    truncated = any(step.outcome == "length" for step in asked)
    cut = any(step.cut for step in asked)
    return Answer(
        text=said.text,
        flags=("truncated",) * truncated + ("cut",) * cut + said.flags,
        parts=said.parts,
        calls=sum(not step.from_store for step in asked),
        latency_s=_total([step.seconds for step in steps]) or round(elapsed, 6),
        prompt_tokens=_total([step.prompt_tokens for step in asked]),
        completion_tokens=_total([step.completion_tokens for step in asked]),
        cost_usd=_total([step.cost_usd for step in asked]),
        from_store=all(step.from_store for step in asked),
        steps=tuple(steps),
    )


def _total(values: list[Any]) -> Any:
    """Sum, or None when any part is unknown."""
    if not values or any(value is None for value in values):
        return None
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)
