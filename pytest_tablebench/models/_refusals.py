"""What a server says that a model does not take: a parameter, or turns of the system."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_tablebench.models.base import Request
from pytest_tablebench.util.names import printable

SYSTEM = "system"
"""Stands for turns of the system, among the names of parameters."""

RENAMED = {"max_tokens": "max_completion_tokens"}
"""Parameters that some servers want under another name, and say so."""

_OTHER_NAMES = {"stop": ("stop_sequences",), "reasoning_effort": ("effort", "reasoning")}
_REFUSED = re.compile(
    r"not (?:yet )?(?:support|allow|permit|accept|available)|n't (?:support|allow|accept)|"
    r"unsupported|unrecogni[sz]ed|unknown|unexpected|extra inputs|only the default|"
    r"may only be|cannot (?:both )?be|deprecated|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)
# A value of the user's that is wrong is no refusal of the parameter.
_WRONG_VALUE = re.compile(
    r"must be|between|greater than|less than|at most|at least|too (?:large|high|long|low|small)|"
    r"exceed|maximum|minimum",
    re.IGNORECASE,
)
_OF_SYSTEM = re.compile(r"\bsystem[ _-](?:role|message|prompt|turn|instruction)", re.IGNORECASE)
_LONGEST = 2000


def refused_part(body: str, request: Request) -> str | None:
    """Return what of a request a server refuses, by what it says with a status of 400 or 422.

    Arguments:
        body: the response, or what a client says of it.
        request: what was asked.

    Returns the name of a parameter, `SYSTEM`, or None where nothing is named that can be left out.
    """
    message, named = _said(body)
    if not _REFUSED.search(message):
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
        elif name not in RENAMED.values() and not _WRONG_VALUE.search(message):
            return name
    return None


def refusal_lines(refused: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return what to say of parameters that are sent no more.

    `refused` has the server's reason by model and parameter.
    """
    return [
        f"{printable(model, 80)}: {printable(part, 40)} is left out from now on, because the "
        f"server refuses it: {printable(why, 300)}"
        for model, parts in refused.items()
        for part, why in parts.items()
    ]


def _said(body: str) -> tuple[str, str | None]:
    """Return the message of an error and the parameter that it names, as far as there are any."""
    text = body[:_LONGEST]
    try:
        error: Any = json.loads(body)
        error = error.get("error", error)
        if isinstance(error, Mapping) and isinstance(error.get("message"), str):
            param = error.get("param")
            return error["message"][:_LONGEST], param if isinstance(param, str) else None
    except (ValueError, AttributeError, RecursionError):
        pass
    return text, None
