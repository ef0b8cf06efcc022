"""Answers of models, and the steps they took."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.running.limits import limit_of
from pytest_tablebench.running.prompt_cut import PROMPT_CUT
from pytest_tablebench.serializers.content import Content, Image, Message, digest_of, text_of
from pytest_tablebench.strategies import Said

EXTENDED = "extended"
"""The flag of an answer with a reply that was cut off and asked for again with more tokens."""

Turn = tuple[str, str]
"""Who speaks (`user`, `reply`, `program`, `output`, or `drawn` for people alone), and what."""


TRUNCATED = "truncated"
"""The flag of a case with a reply that its token limit ended, and that is scored all the same."""


@dataclass(frozen=True)
class StepFacts:
    """One step of a conversation, without its texts.

    Arguments:
        kind: `ask` or `execute`.
        digest: of the reply's whole text or the program, as in records.
        outcome: why a reply ended (`stop`, `length`, ...), or a program's outcome.
        model: who was asked, where that is not the model under test.
        seconds, prompt_tokens, completion_tokens, cost_usd: None when unknown, or not of its kind.
        from_store: whether it was answered or run earlier.
        cut: whether a reply was longer than is kept.
        text: what a judge said, which stands nowhere else in a run.
        picture: the file in `media/` that shows what a program drew.
        reasoning_tokens: those of `completion_tokens` that were thinking.
        limit: how many tokens a reply could have.
        is_replaced: whether a reply was cut off, and asked for again with a higher limit.
        is_prompt_cut: whether the prompt was cut to the model's context.
        facts: values that the strategy read from the reply.
    """

    kind: Literal["ask", "execute"]
    digest: str
    outcome: str | None
    model: str | None = None
    seconds: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    from_store: bool = False
    cut: bool = False
    text: str | None = None
    picture: str | None = None
    record_key: str = ""
    """What tells the step from others in records: no endpoint or parameter changes it."""
    reasoning_tokens: int | None = None
    limit: int | None = None
    is_replaced: bool = False
    is_prompt_cut: bool = False
    facts: Mapping[str, Any] | None = None


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
    reasoning_tokens: int | None = None
    reply_limit: int | None = None
    """How many tokens its last reply could have."""
    cost_usd: float | None = None
    from_store: bool = False
    steps: tuple[StepFacts, ...] = ()
    """What was done for it, in order."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Numbers beside the score that the strategy gives."""
    turns: tuple[Turn, ...] = field(default=(), repr=False)
    """What was said behind the prompt, where that is more than the answer."""
    raw: str | None = field(default=None, repr=False)
    """The reply with the model's thoughts; None if `text` is the whole reply."""

    def __str__(self) -> str:
        return self.text

    @property
    def written(self) -> str:
        """The text that records keep: the answer as the model wrote it, thoughts included."""
        return self.text if self.raw is None else self.raw


_PNG = b"\x89PNG\r\n\x1a\n"


def picture_of(outcome: Reply | Execution) -> Image | None:
    """Return the picture that a program has left; None where it left none."""
    if isinstance(outcome, Reply):
        return None
    drawn = [data for data in outcome.files.values() if data.startswith(_PNG)]
    return Image("image/png", drawn[0]) if drawn else None


def shown_by(messages: Sequence[Message]) -> Content:
    """Return what a question shows a model, as it is kept: several messages as one text."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{text_of(message.content)}" for message in messages)


def turns_of(step: Step, outcome: Reply | Execution, *, first: bool) -> list[Turn]:
    """Return what a step adds to a conversation: question and reply, or program and output.

    The first question is the prompt, which is kept elsewhere, and one that ends in the model's own
    words goes on with its turn: neither is a turn of its own.
    """
    if isinstance(outcome, Execution):
        program = step.program if isinstance(step, Execute) else ""
        printed = (
            outcome.output if outcome.outcome == "ok" else f"{outcome.output}\n({outcome.outcome})"
        )
        return [("program", program), ("output", printed.strip("\n"))]
    last = step.messages[-1] if isinstance(step, Ask) and not first else None
    question = [] if last is None or last.role != "user" else [("user", text_of(last.content))]
    return [*question, ("reply", outcome.written)]


def step_facts(step: Step, outcome: Reply | Execution) -> StepFacts:
    """Return what is kept of a step and of what came of it."""
    if isinstance(outcome, Execution):
        return StepFacts(
            "execute",
            digest_of(step.program if isinstance(step, Execute) else ""),
            outcome.outcome,
            seconds=outcome.seconds,
            from_store=outcome.from_store,
            picture=None if (drawn := picture_of(outcome)) is None else drawn.file_name,
            record_key=step.key()[:16] if isinstance(step, Execute) else "",
        )
    return StepFacts(
        "ask",
        digest_of(outcome.written),
        outcome.finish_reason,
        step.model if isinstance(step, Ask) else None,
        outcome.latency_s,
        outcome.prompt_tokens,
        outcome.completion_tokens,
        outcome.cost_usd,
        outcome.from_store,
        outcome.cut,
        reasoning_tokens=outcome.reasoning_tokens,
        record_key=digest_of(shown_by(step.messages)) if isinstance(step, Ask) else "",
    )


def replaced_facts(step: Step, request: Request, reply: Reply) -> StepFacts:
    """Return what is kept of a reply that was cut off and asked for again."""
    return replace(step_facts(step, reply), limit=limit_of(request.params), is_replaced=True)


def steps_done(steps: Sequence[StepFacts]) -> int:
    """Return how many steps of a conversation are done; a reply asked for again is none."""
    return sum(not step.is_replaced for step in steps)


REASONING = "reasoning_tokens"


def step_records(steps: Sequence[StepFacts]) -> tuple[dict[str, Any], ...]:
    """Return what a record says of each step; nothing of an answer that took a single one."""
    return tuple(
        {
            "kind": step.kind,
            "key": step.record_key,
            "digest": step.digest,
            "outcome": step.outcome,
            "model": step.model,
            "latency_s": step.seconds,
            "prompt_tokens": step.prompt_tokens,
            "completion_tokens": step.completion_tokens,
            "cost_usd": step.cost_usd,
            "from_store": step.from_store,
            **({} if step.reasoning_tokens is None else {REASONING: step.reasoning_tokens}),
            **({} if step.limit is None else {"reply_limit": step.limit}),
            **({} if step.picture is None else {"picture": step.picture}),
            **({} if step.text is None else {"text": step.text}),
            **({} if step.facts is None else {"facts": dict(step.facts)}),
        }
        for step in (steps if len(steps) > 1 else ())
    )


def answer_of(
    answer: str | Said, steps: list[StepFacts], elapsed: float, turns: Sequence[Turn] = ()
) -> Answer:
    """Return the answer that steps ended in; `elapsed` are its seconds where they say none."""
    answer = answer if isinstance(answer, Said) else Said(str(answer))
    calls = [step for step in steps if step.kind == "ask"]
    kept = [step for step in calls if not step.is_replaced]
    truncated = any(step.outcome == "length" for step in kept)
    cut = any(step.cut for step in kept)
    extended = len(kept) < len(calls)
    prompt_cut = any(step.is_prompt_cut for step in kept)
    return Answer(
        text=answer.text,
        raw=answer.raw,
        flags=(TRUNCATED,) * truncated
        + ("cut",) * cut
        + (EXTENDED,) * extended
        + (PROMPT_CUT,) * prompt_cut
        + answer.flags,
        parts=answer.parts,
        turns=_all_turns(answer, turns),
        calls=sum(not step.from_store for step in calls),
        latency_s=_total([step.seconds for step in steps]) or round(elapsed, 6),
        prompt_tokens=_total([step.prompt_tokens for step in calls]),
        completion_tokens=_total([step.completion_tokens for step in calls]),
        reasoning_tokens=_sum_of_parts([step.reasoning_tokens for step in calls]),
        reply_limit=kept[-1].limit if kept else None,
        cost_usd=_total([step.cost_usd for step in calls]),
        from_store=all(step.from_store for step in calls),
        steps=_with_facts(steps, answer.facts),
    )


def _with_facts(
    steps: Sequence[StepFacts], facts: Mapping[int, Mapping[str, Any]]
) -> tuple[StepFacts, ...]:
    """Return the steps, each question with the facts of its place."""
    if not facts:
        return tuple(steps)
    places = itertools.count()
    return tuple(
        replace(step, facts=facts.get(next(places)))
        if step.kind == "ask" and not step.is_replaced
        else step
        for step in steps
    )


def cut_off_answer(steps: list[StepFacts], written: str, elapsed: float) -> Answer:
    """Return what a case keeps whose last reply ended before its answer: text, tokens, cost."""
    kept = answer_of(Said("", raw=written), steps, elapsed)
    return replace(kept, flags=tuple(flag for flag in kept.flags if flag != TRUNCATED))


def _all_turns(answer: Said, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns that are kept: none where the one reply is the answer."""
    drawn = [("drawn", answer.drawn)] if answer.drawn else []
    text = answer.text if answer.raw is None else answer.raw
    if len(turns) == 1 and turns[0][1] == text and not drawn:
        return ()
    return (*turns[:1], *drawn, *turns[1:])


def _total(values: list[Any]) -> Any:
    """Sum, or None when any part is unknown."""
    if not values or any(value is None for value in values):
        return None
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)


def _sum_of_parts(values: list[int | None]) -> int | None:
    """Return the sum of the values that are known, None without any."""
    counted = [value for value in values if value is not None]
    return sum(counted) if counted else None
