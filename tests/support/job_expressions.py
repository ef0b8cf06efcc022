"""Evaluate the expressions (`${{ }}`) of our workflows as Python, with the operators that they use.

For our operands Python's operators have the values that GitHub's documentation states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_WHOLE = re.compile(r"\$\{\{(.*?)\}\}", re.S)
_PART = re.compile(r"'[^']*'|\.[A-Za-z_][\w-]*|&&|\|\||!=|!|\b(?:and|or|not|in|is|if)\b|[^\w\s]")
_SIGNS = {"&&": " and ", "||": " or ", "!": " not "}
_KEPT = {"(", ")", ",", "=", "!=", "<", ">", "-"}
_FUNCTIONS = {
    "format": str.format,
    "fromJSON": json.loads,
    "always": lambda: True,
    "cancelled": lambda: False,
}

Scope = Mapping[str, Any]
"""Contexts by name."""


class Known(dict[str, Any]):
    """A context in which missing names are empty, as GitHub's outputs and secrets are."""

    def __missing__(self, key: str) -> str:
        return ""


def filled(value: Any, scope: Scope) -> Any:
    """Return a value of the file with evaluated expressions; a single expression keeps its type."""
    if isinstance(value, Mapping):
        return {key: filled(item, scope) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    if (alone := _WHOLE.fullmatch(value.strip())) and "}}" not in alone[1]:
        return _evaluate(alone[1], scope)
    return _WHOLE.sub(lambda match: as_text(_evaluate(match[1], scope)), value)


def condition(text: str | None, scope: Scope, *, success: bool) -> bool:
    """Return the value of an `if`; without a status function, success is required too."""
    if text is None:
        return success
    text = text.removeprefix("${{").removesuffix("}}")
    asks = "always()" in text or "cancelled()" in text
    return (asks or success) and bool(_evaluate(text, scope))


def as_text(value: Any) -> str:
    """Return a value as part of a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _evaluate(text: str, scope: Scope) -> Any:
    def python(match: re.Match[str]) -> str:
        part = match[0]
        if part[0] == "." and part[1:]:
            return f'["{part[1:]}"]'
        assert part in _SIGNS.keys() | _KEPT or part[0] == "'", f"not known here: {part} in {text}"
        return _SIGNS.get(part, part)

    return eval(_PART.sub(python, text.strip()), {**_FUNCTIONS, **scope})
