"""Answers of models, the steps of their conversations, and the texts about missing answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import (
    DataError,
    MetricError,
    ModelError,
    NotJudgedError,
    TableError,
)
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.results.run_facts import served_name
from pytest_tablebench.running._limits import limit_of
from pytest_tablebench.running.requests import PROMPT_CUT
from pytest_tablebench.serializers.content import Content, Image, Message, digest_of, text_of
from pytest_tablebench.strategies import Said
from pytest_tablebench.util.names import printable

EXTENDED = "extended"
"""The flag of an answer with a reply that was cut off and requested again with more tokens."""

Turn = tuple[str, str]
"""The speaker (`user`, `reply`, `program`, `output`, or `drawn` for readers only) and its text."""

TRUNCATED = "truncated"
"""The flag of a case with a reply that its token limit cut off but that is scored."""


SHOWN, SEARCHED = 800, 4000
"""Characters of an error that are shown, and that are searched for secrets first."""


@dataclass(frozen=True)
class StepFacts:
    """One step of a conversation, without its texts.

    Arguments:
        kind: `ask` or `execute`.
        digest: of the reply's whole text or the program, as in records.
        outcome: why a reply ended (`stop`, `length`, ...), or a program's outcome.
        model: the model called, if it is not the model under test.
        latency_s, prompt_tokens, completion_tokens, cost_usd: None if unknown or not applicable.
        from_store: whether the outcome was stored before.
        stored_at: when a stored reply was written, as ISO 8601 in UTC.
        cut: whether a reply was too long to be kept whole.
        text: the reply of a judge, which a run keeps only here.
        picture: the file in `media/` with the picture that a program drew.
        reasoning_tokens: the part of `completion_tokens` spent on thinking.
        reply_limit: the token limit of a reply.
        is_replaced: whether a reply was cut off and requested again with a higher limit.
        is_prompt_cut: whether the prompt was cut to the model's context.
        facts: values that the strategy read from the reply.
        served: what answered, by the reply (`served_name`).
    """

    kind: Literal["ask", "execute"]
    digest: str
    outcome: str | None
    model: str | None = None
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    from_store: bool = False
    stored_at: str | None = None
    cut: bool = False
    text: str | None = None
    picture: str | None = None
    key: str = ""
    """Identifies the step in records, whatever the endpoint and the parameters."""
    reasoning_tokens: int | None = None
    reply_limit: int | None = None
    is_replaced: bool = False
    is_prompt_cut: bool = False
    facts: Mapping[str, Any] | None = None
    served: str | None = None


@dataclass(frozen=True)
class Answer:
    """A model's answer to a case, after one or more calls.

    `calls` counts the calls of this run, which identical requests share. `from_store` means none.
    """

    text: str
    flags: tuple[str, ...] = ()
    calls: int = 1
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    reply_limit: int | None = None
    """The token limit of the last reply."""
    cost_usd: float | None = None
    served: str | None = None
    """What answered, by the last reply that says it."""
    from_store: bool = False
    steps: tuple[StepFacts, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    """Numbers of the strategy that are added to the parts of the score."""
    turns: tuple[Turn, ...] = field(default=(), repr=False)
    """The turns after the prompt, empty if the answer is the only one."""
    raw: str | None = field(default=None, repr=False)
    """The reply with the model's thoughts; None if `text` is the whole reply."""

    def __str__(self) -> str:
        return self.text

    @property
    def written(self) -> str:
        """The answer as the model wrote it, with its thoughts, for records."""
        return self.text if self.raw is None else self.raw


_PNG = b"\x89PNG\r\n\x1a\n"


def picture_of(outcome: Reply | Execution) -> Image | None:
    """Return the first picture that a program has written, None without any."""
    if isinstance(outcome, Reply):
        return None
    drawn = [data for data in outcome.files.values() if data.startswith(_PNG)]
    return Image("image/png", drawn[0]) if drawn else None


def shown_by(messages: Sequence[Message]) -> Content:
    """Return the content of a message; of several messages, one text with their roles."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{text_of(message.content)}" for message in messages)


def turns_of(step: Step, outcome: Reply | Execution, *, first: bool) -> list[Turn]:
    """Return the turns of a step: question and reply, or program and output.

    The first question is left out, because it is the prompt. A question that continues the model's
    own turn is left out too.
    """
    if isinstance(outcome, Execution):
        program = step.program if isinstance(step, Execute) else ""
        printed = (
            outcome.output if outcome.outcome == "ok" else f"{outcome.output}\n({outcome.outcome})"
        )
        return [("program", program), ("output", printed.strip("\n"))]
    last = step.messages[-1] if isinstance(step, Ask) and not first else None
    question = [] if last is None or last.role != "user" else [("user", text_of(last.content))]
    return [*question, ("reply", outcome.shown)]


def step_facts(step: Step, outcome: Reply | Execution) -> StepFacts:
    """Return the facts of a step and its outcome."""
    if isinstance(outcome, Execution):
        return StepFacts(
            "execute",
            digest_of(step.program if isinstance(step, Execute) else ""),
            outcome.outcome,
            latency_s=outcome.seconds,
            from_store=outcome.from_store,
            picture=None if (drawn := picture_of(outcome)) is None else drawn.file_name,
            key=step.key()[:16] if isinstance(step, Execute) else "",
        )
    return StepFacts(
        "ask",
        digest_of(outcome.shown),
        outcome.finish_reason,
        step.model if isinstance(step, Ask) else None,
        outcome.latency_s,
        outcome.prompt_tokens,
        outcome.completion_tokens,
        outcome.cost_usd,
        outcome.from_store,
        outcome.stored_at,
        outcome.cut,
        reasoning_tokens=outcome.reasoning_tokens,
        key=digest_of(shown_by(step.messages)) if isinstance(step, Ask) else "",
        served=served_name(outcome.served_model, outcome.served_by, outcome.fingerprint),
    )


def replaced_facts(step: Step, request: Request, reply: Reply) -> StepFacts:
    """Return the facts of a reply that was cut off and requested again."""
    return replace(step_facts(step, reply), reply_limit=limit_of(request.params), is_replaced=True)


def steps_done(steps: Sequence[StepFacts]) -> int:
    """Return the number of finished steps, without replies that were requested again."""
    return sum(not step.is_replaced for step in steps)


_RECORDED = (
    *("kind", "key", "digest", "outcome", "model", "latency_s"),
    *("prompt_tokens", "completion_tokens", "cost_usd", "from_store"),
)
_IF_KNOWN = ("reasoning_tokens", "reply_limit", "picture", "text", "facts")
"""The fields of a step in a record: always, and if they are not None."""


def step_records(steps: Sequence[StepFacts]) -> tuple[dict[str, Any], ...]:
    """Return the steps for a record; none if there is only one."""
    return tuple(
        {name: getattr(step, name) for name in _RECORDED}
        | {name: value for name in _IF_KNOWN if (value := getattr(step, name)) is not None}
        for step in (steps if len(steps) > 1 else ())
    )


def answer_of(
    answer: str | Said, steps: list[StepFacts], elapsed: float, turns: Sequence[Turn] = ()
) -> Answer:
    """Return the answer after these steps; `elapsed` seconds count if the steps have no times."""
    answer = answer if isinstance(answer, Said) else Said(str(answer))
    calls = [step for step in steps if step.kind == "ask"]
    kept = [step for step in calls if not step.is_replaced]
    flags = {
        TRUNCATED: any(step.outcome == "length" for step in kept),
        "cut": any(step.cut for step in kept),
        EXTENDED: len(kept) < len(calls),
        PROMPT_CUT: any(step.is_prompt_cut for step in kept),
    }
    return Answer(
        text=answer.text,
        raw=answer.raw,
        flags=(*(flag for flag, is_set in flags.items() if is_set), *answer.flags),
        parts=answer.parts,
        turns=_all_turns(answer, turns),
        calls=sum(not step.from_store for step in calls),
        latency_s=_total([step.latency_s for step in steps]) or round(elapsed, 6),
        prompt_tokens=_total([step.prompt_tokens for step in calls]),
        completion_tokens=_total([step.completion_tokens for step in calls]),
        reasoning_tokens=_total([n for step in calls if (n := step.reasoning_tokens) is not None]),
        reply_limit=kept[-1].reply_limit if kept else None,
        cost_usd=_total([step.cost_usd for step in calls]),
        served=next((step.served for step in reversed(calls) if step.served), None),
        from_store=all(step.from_store for step in calls),
        steps=_with_facts(steps, answer.facts),
    )


def _with_facts(
    steps: Sequence[StepFacts], facts: Mapping[int, Mapping[str, Any]]
) -> tuple[StepFacts, ...]:
    places = itertools.count()
    return tuple(
        replace(step, facts=facts.get(next(places)))
        if step.kind == "ask" and not step.is_replaced
        else step
        for step in steps
    )


def unanswered(steps: list[StepFacts], turns: Sequence[Turn], elapsed: float) -> Answer:
    """Return text, tokens and cost of a case whose last reply contains no answer."""
    kept = answer_of(Said("", raw=turns[-1][1]), steps, elapsed, turns)
    return replace(kept, flags=tuple(flag for flag in kept.flags if flag != TRUNCATED))


def _all_turns(answer: Said, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    drawn = [("drawn", answer.drawn)] if answer.drawn else []
    text = answer.text if answer.raw is None else answer.raw
    if len(turns) == 1 and turns[0][1] == text and not drawn:
        return ()
    return (*turns[:1], *drawn, *turns[1:])


def _total(values: list[Any]) -> Any:
    if not values or any(value is None for value in values):
        return None
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)


def no_answer_reason(error: BaseException) -> str:
    """Return the reason under which a case without an answer is counted."""
    if isinstance(error, ModelError | NotJudgedError):
        return error.reason
    if isinstance(error, MetricError):
        return "metric_error"
    if isinstance(error, TableError):
        return "unusable_table"
    if isinstance(error, DataError):
        return "unusable_data"
    return "test_error"


def no_answer_text(error: Exception) -> str:
    """Return one printable line with the reason for no answer or no score, without secrets.

    The error of a user's provider may contain its address with a password.
    """
    outcome = "no score" if isinstance(error, MetricError | NotJudgedError) else "no answer"
    message = redact(str(error)[:SEARCHED])
    return f"{outcome} ({no_answer_reason(error)}): {printable(message, SHOWN)}"
