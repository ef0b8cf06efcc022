"""Parsing of `name[key=value,…]`: a name, and arguments that are literals."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from pytest_tablebench.util.names import printable

_LONGEST = 1000  # characters; more than any real call has, and little for the parser


def parse_call(kind: str, text: str, *, words: bool = False) -> tuple[str, dict[str, Any]]:
    """Split `name[key=literal,…]` into name and arguments, without running anything.

    With `words`, a value may also be a bare word: `tree=off` has the value "off". Raises
    `ValueError`; its message calls the text a `kind`.
    """
    shown = printable(text, 80)
    if len(text) > _LONGEST:
        raise ValueError(f"{kind} {shown!r} is longer than {_LONGEST} characters")
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(f"cannot read {kind} {shown!r}; write name or name[key=value,…]")
    name, inner = match[1], match[2]
    if not inner:
        return name, {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # refuse dubious literals instead of warning
            call = ast.parse(f"f({inner})", mode="eval").body
        # `a=1)(b=2` parses as a call of a call, `**{…}` as a keyword without a name.
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        keys = [keyword.arg for keyword in call.keywords if keyword.arg]
        if len(set(keys)) != len(call.keywords):
            raise ValueError
        return name, {str(option.arg): _value(option.value, words) for option in call.keywords}
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        forms = "plain numbers and words" if words else "plain numbers and lists"
        raise ValueError(
            f"cannot read the arguments of {kind} {shown!r}; write name[key=value,…] with {forms}"
        ) from None


def _value(node: ast.expr, words: bool) -> Any:
    return node.id if words and isinstance(node, ast.Name) else ast.literal_eval(node)
