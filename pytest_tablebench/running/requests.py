"""The requests of conversations: their settings by model, and prompts cut to its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.unclear import decision
from pytest_tablebench.models import Message, Request
from pytest_tablebench.results import Record
from pytest_tablebench.running._limits import Limit
from pytest_tablebench.serializers.content import digest_of, text_of
from pytest_tablebench.util.tokens import first_tokens

PROMPT_CUT = "prompt_cut"
"""The flag of a case with a prompt that was cut to the model's context."""

RESERVED_TOKENS = 128
"""The tokens of the context that a prompt leaves free (spec: treb.md section 3)."""


@dataclass(frozen=True)
class Route:
    """The settings of requests to one model.

    Arguments:
        model: its name.
        params: parameters of every request.
        api_base: the endpoint, which is part of the keys of answers.
        in_process: whether this process makes the calls, and not the engine.
        stored: whether answers are stored and looked up.
        continues: whether the model continues its own unfinished turn; None if unknown.
        continuing: additional parameters of requests that end with such a turn.
        limits: the token limits of a request; empty: only the limit in `params`.
        takes_tools: False if the server refused tools.
        merges_system: whether system messages become part of the user's message.
        generation: the name of this run's new answers; see `Request`.
    """

    model: str
    params: Mapping[str, Any]
    api_base: str | None = None
    in_process: bool = False
    stored: bool = True
    continues: bool | None = None
    continuing: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    merges_system: bool = False
    takes_tools: bool = True
    generation: str = ""
    context: int | None = None
    """The tokens to which prompts are cut, less a reserve; None: they are not cut."""


def request_of(route: Route, case: Case | Record, step: Ask, strategy: str, number: int) -> Request:
    """Return the request of a step.

    `strategy` is the name of the strategy, or of the metric. `number` is the step's number in its
    conversation, from 0.
    """
    messages = cut_messages(whole_messages(route, step), route.context)
    params = (
        {**route.params, **route.continuing} if messages[-1].role == "assistant" else route.params
    )
    if step.tools and not route.takes_tools:
        why = f"the server of {route.model} takes no tools"
        raise ModelError(why, reason="bad_request", whole_run=True)
    if step.tools:
        params = {**params, "tools": list(step.tools)}
    return Request(
        route.model,
        messages,
        params,
        api_base=route.api_base,
        strategy=strategy,
        step=number,
        repeat=case.repeat,
        generation=route.generation,
        case_id=case.case_id,
    )


def whole_messages(route: Route, step: Ask) -> tuple[Message, ...]:
    """Return the messages of a step for its model, before they are cut."""
    return without_system(step.messages) if route.merges_system else tuple(step.messages)


def without_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move the texts of system messages to the beginning of the first user message."""
    system = [text_of(message.content) for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    first = next((n for n, message in enumerate(others) if message.role == "user"), None)
    if not system or first is None:
        return tuple(messages)
    content = others[first].content
    start = "\n\n".join(system) + "\n\n"
    joined = start + content if isinstance(content, str) else (start, *content)
    others[first] = Message("user", joined)
    return tuple(others)


def cut_messages(messages: Sequence[Message], context: int | None) -> tuple[Message, ...]:
    """Return the first (context - 128) tokens of a prompt; all of it if the context is unknown.

    Only texts count, not pictures. Everything after the cut is dropped.
    """
    if context is None:
        return tuple(messages)
    room = context - RESERVED_TOKENS
    kept: list[Message] = []
    for message in messages:
        content = message.content
        parts: list[object] = []
        for part in (content,) if isinstance(content, str) else content:
            if not isinstance(part, str):
                parts.append(part)
                continue
            start, count = first_tokens(part, room)
            room -= count
            if len(start) == len(part):
                parts.append(part)
                continue
            if start:
                parts.append(start)
            if parts or not kept:  # a request needs at least one message
                texts = tuple(parts or [""])
                begun = texts[0] if isinstance(content, str) else texts
                kept.append(replace(message, content=begun))  # type: ignore[arg-type]
            return tuple(kept)
        kept.append(message)
    return tuple(kept)


_METRIC = "metric:"


def of_metric(metric: str | None) -> str:
    """Return the subject of a metric's requests. The subject of other requests is a dataset."""
    return f"{_METRIC}{metric}"


def metric_params(subject: str, metrics: Mapping[str, object]) -> Mapping[str, Any] | None:
    """Return the parameters that a metric sets for its requests; None if `subject` is a dataset."""
    if not subject.startswith(_METRIC):
        return None
    params: Mapping[str, Any] = getattr(metrics.get(subject.removeprefix(_METRIC)), "params", {})
    return params


def prompt_digest(metric: Callable[..., Any], compat: Compat) -> str | None:
    """Return the digest of a metric's first message to the judge about a sample answer.

    It pins the words of the prompt. None if the metric does not begin with a question, or needs
    more than prediction, references and question.
    """
    facts = {"compat": compat, "question": "QUESTION"}
    try:
        if getattr(metric, "may_be_unclear", False):
            conversation = decision(Score(0.0), "ANSWER", ["REFERENCE"], question="QUESTION")
        else:
            conversation = metric("ANSWER", ["REFERENCE"], **facts)
        step = next(conversation)
        conversation.close()
        if not isinstance(step, Ask) or step.model is not None:
            return None
        return digest_of("\n".join(f"{m.role}: {text_of(m.content)}" for m in step.messages))
    except Exception:
        return None
