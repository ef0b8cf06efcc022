"""Recognize which part of a request a server refuses: a parameter, or system turns."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_tablebench.models._provider_words import error_object
from pytest_tablebench.models.base import Request
from pytest_tablebench.util.names import printable

SYSTEM = "system"
"""Names system turns among the parameters."""

RENAMED = {"max_tokens": "max_completion_tokens"}
"""Parameters for which some servers require another name, which their error contains."""

_OTHER_NAMES = {"stop": ("stop_sequences",), "reasoning_effort": ("effort", "reasoning")}
_REFUSED = re.compile(
    r"not (?:yet )?(?:support|allow|permit|accept|available)|n't (?:support|allow|accept)|"
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|extra inputs|only the default|"
    r"may only be|cannot (?:both )?be|deprecated|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)
# An error about a wrong value does not refuse the parameter.
_WRONG_VALUE = re.compile(
    r"must be|between|greater than|less than|at most|at least|too (?:large|high|long|low|small)|"
    r"exceed|maximum|minimum",
    re.IGNORECASE,
)
# Some servers take no 0, although it is the usual way to ask for the likeliest answer.
_POSITIVE = re.compile(
    r"positive|(?:(?:greater|larger|more) than|above|>) ?(?:0|zero)(?!\.?\d)|\(0(?:\.0)?,",
    re.IGNORECASE,
)
_OF_SYSTEM = re.compile(r"\bsystem[ _-](?:role|message|prompt|turn|instruction)", re.IGNORECASE)
_LONGEST = 2000


def refused_part(body: str, request: Request) -> str | None:
    """Return the part of a request that a server's error of status 400 or 422 refuses.

    Arguments:
        body: the response, or a client's text about it.
        request: the request that failed.

    Returns the name of a parameter, `SYSTEM`, or None if the error names no part that can be left
    out.
    """
    message, named = _error(body)
    is_zero = _POSITIVE.search(message) is not None
    if not is_zero and not _REFUSED.search(message):
        return None
    if _OF_SYSTEM.search(message) and any(
        message_sent.role == "system" for message_sent in request.messages
    ):
        return SYSTEM
    names = [named] if named and named in request.params else list(request.params)
    for name in names:
        spelled = "|".join(map(re.escape, (name, *_OTHER_NAMES.get(name, ()))))
        if name != named and not re.search(rf"(?<![\w.])(?:{spelled})(?!\w)", message):
            continue
        if name in RENAMED:
            if RENAMED[name] in message:
                return name
            continue
        refuses_zero = is_zero and request.params[name] == 0
        refuses_any = name not in RENAMED.values() and not _WRONG_VALUE.search(message)
        if refuses_zero or refuses_any:
            return name
    return None


def refusal_lines(refused: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the lines that report parameters which are no longer sent.

    `refused` maps model and parameter to the server's reason.
    """
    return [
        f"{printable(model, 80)}: {printable(part, 40)} is left out from now on, because the "
        f"server refuses it: {printable(why, 300)}"
        for model, parts in refused.items()
        for part, why in parts.items()
    ]


def _error(body: str) -> tuple[str, str | None]:
    """Return the message of an error, and the parameter in its field `param` or None."""
    error = error_object(body)
    if not isinstance(message := error.get("message"), str):
        return body[:_LONGEST], None
    param = error.get("param")
    return message[:_LONGEST], param if isinstance(param, str) else None
