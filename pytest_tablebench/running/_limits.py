"""Token limits of a request: the answer's, room for thinking, and what cut replies get.

A limit only ends a reply: a reply that ended by itself is the same under any higher limit. So a
request has several limits, lowest first. A stored reply that was not cut off is valid under every
limit. A reply that was cut off is requested again with the next limit that applies to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_tablebench.config.parameters import REPLY_LIMITS
from pytest_tablebench.models import Reply, Request, Resolution
from pytest_tablebench.store import Store

Use = Literal["stored", "first", "thinking", "cut"]


@dataclass(frozen=True)
class Limit:
    """A token limit of a request.

    Arguments:
        params: the parameters that set it.
        use: `stored`: only for stored replies that were not cut off; `first`: for the first call;
            `thinking`: after a reply that was cut off while the model was thinking; `cut`: after
            any reply that was cut off.
    """

    params: Mapping[str, int]
    use: Use

    @property
    def tokens(self) -> int:
        """The tokens that a reply may have."""
        return max(self.params.values())


@dataclass(frozen=True)
class Settled:
    """The state of a request.

    Arguments:
        request: with the limit of its reply, or of the next call.
        reply: None if a call must be made.
        replaced: requests and replies that were cut off and requested again.
    """

    request: Request
    reply: Reply | None
    replaced: tuple[tuple[Request, Reply], ...] = ()


Find = Callable[[Request, Use], Reply | None]
"""Returns the reply to a request, None if it is missing. Raises `ModelError`."""


def reply_within_limits(
    request: Request, limits: Sequence[Limit], find: Find, *, asks: bool = True
) -> Settled:
    """Try the limits of a request in order until a reply is valid or missing.

    Arguments:
        request: with the limit of the first call.
        limits: lowest first; if empty, only the request itself counts.
        find: looks a reply up, or makes the call itself.
        asks: whether the caller will make the missing calls. Otherwise a reply that was cut off
            counts.
    """
    if not limits:
        return Settled(request, find(request, "first"))
    replaced: list[tuple[Request, Reply]] = []
    for limit in limits:
        if replaced and not _applies(limit, *replaced[-1]):
            continue
        variant = replace(request, params={**request.params, **limit.params})
        reply = find(variant, limit.use)
        if limit.use == "stored":
            if reply is not None and not is_cut(reply):
                return Settled(variant, reply)
            continue
        if reply is None and replaced and not asks:
            break
        if reply is None or not is_cut(reply):
            return Settled(variant, reply, tuple(replaced))
        replaced.append((variant, reply))
    variant, last = replaced.pop()
    return Settled(variant, last, tuple(replaced))


def stored(request: Request, limits: Sequence[Limit], store: Store | None) -> Settled:
    """Call `reply_within_limits` with the replies of the store."""

    def find(variant: Request, _: Use) -> Reply | None:
        return None if store is None else store.get(variant.key())

    return reply_within_limits(request, limits, find)


def _applies(limit: Limit, request: Request, reply: Reply) -> bool:
    if limit.tokens <= (limit_of(request.params) or 0):
        return False
    if limit.use != "thinking":
        return limit.use == "cut"
    # A reply without an answer consists of thoughts, which some servers do not send.
    return reply.is_cut_off or bool(reply.thinking or reply.reasoning_tokens)


def is_cut(reply: Reply) -> bool:
    """Return whether the token limit ended a reply."""
    return reply.finish_reason == "length"


def limit_of(params: Mapping[str, Any]) -> int | None:
    """Return the token limit of a reply, None without one."""
    limits = [params[name] for name in REPLY_LIMITS if type(params.get(name)) is int]
    return max(limits, default=None)


def room_for(
    params: Mapping[str, Any], facts: Resolution | None, tokens: int, *, thinks: bool = False
) -> dict[str, int]:
    """Return the limits of a request with room for thinking; empty without room.

    Anthropic counts thoughts as part of `max_tokens` and refuses a limit that is not above the
    budget of thoughts
    (https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking).

    Arguments:
        params: of the request, without room.
        facts: litellm's facts about the model with these parameters.
        tokens: room for thinking; 0: none.
        thinks: whether the model is known to think, whatever litellm's facts are.
    """
    budget = _budget(facts.sent) if facts is not None else 0
    marked = facts is not None and facts.reasons is True
    room = max(tokens, budget) if tokens and (thinks or marked or budget) else budget
    most = facts.max_output_tokens if facts is not None else None
    limits = {}
    for name in REPLY_LIMITS:
        limit = params.get(name)
        if room and type(limit) is int:
            limits[name] = max(limit, limit + room if most is None else min(limit + room, most))
    return limits


def _budget(sent: Mapping[str, Any]) -> int:
    for name, field in (("thinking", "budget_tokens"), ("thinkingConfig", "thinkingBudget")):
        value = sent.get(name)
        if isinstance(value, Mapping) and type(value.get(field)) is int:
            return max(0, int(value[field]))
    return 0


def limits_of(
    params: Mapping[str, Any], facts: Resolution | None, tokens: int, extend_cut: int | None
) -> tuple[Limit, ...]:
    """Return the limits of requests with these parameters, lowest first; empty without any.

    `params`, `facts` and `tokens` as for `room_for`; `extend_cut` is the limit of further calls
    after replies that were cut off.
    """
    base = {name: params[name] for name in REPLY_LIMITS if type(params.get(name)) is int}
    if not base:
        return ()
    further: list[Limit] = []
    if room := room_for(params, facts, tokens):
        first = [Limit(base, "stored"), Limit(room, "first")]
    else:
        first = [Limit(base, "first")]
        if later := room_for(params, facts, tokens, thinks=True):
            further.append(Limit(later, "thinking"))
    if extend_cut is not None:
        most = facts.max_output_tokens if facts is not None else None
        extended = extend_cut if most is None else min(extend_cut, most)
        further.append(Limit(dict.fromkeys(base, extended), "cut"))
    return (*first, *sorted(further, key=lambda limit: limit.tokens))
