"""Evaluate the expressions (`${{ }}`) that our workflows use; any other one is an error.

The rules are from GitHub's "Evaluate expressions in workflows and actions": operators, truth, loose
comparison, and conversion to text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|'(?P<text>(?:[^']|'')*)'|(?P<name>[A-Za-z_][\w-]*)"
    r"|(?P<sign>\|\||&&|==|!=|<=|>=|[!<>().,\[\]]))"
)
_WHOLE = re.compile(r"\$\{\{(.*?)\}\}", re.S)
_STATES = ("success", "failure", "always", "cancelled")

Scope = Mapping[str, Any]
"""Contexts by name; under the names in `_STATES` the results of these functions."""


def filled(value: Any, scope: Scope) -> Any:
    """Return a value of the file with evaluated expressions; a single expression keeps its type."""
    if not isinstance(value, str):
        return value
    if (alone := _WHOLE.fullmatch(value.strip())) and "}}" not in alone[1]:
        return evaluate(alone[1], scope)
    return _WHOLE.sub(lambda match: as_text(evaluate(match[1], scope)), value)


def condition(text: str | None, scope: Scope) -> bool:
    """Return the value of an `if`; without a status function, success is required too."""
    text = "success()" if text is None else str(text).strip()
    text = text[3:-2] if text.startswith("${{") and text.endswith("}}") else text
    asks = any(f"{state}()" in text for state in _STATES)
    return (asks or bool(scope["success"])) and truth(evaluate(text, scope))


def evaluate(text: str, scope: Scope) -> Any:
    """Return the value of an expression. Raises `AssertionError` for unsupported parts."""
    reader = _Reader(text, scope)
    value = reader.either()
    assert not reader.tokens, f"not understood: {text!r} at {reader.tokens[0]}"
    return value


def truth(value: Any) -> bool:
    """Return whether a value counts as true; an empty list does."""
    return isinstance(value, (list, dict)) or bool(value)


def as_text(value: Any) -> str:
    """Return a value as part of a text."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    assert not isinstance(value, (list, dict)), f"no text: {value!r}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _same(left: Any, right: Any) -> bool:
    """Return whether two values are equal: texts ignoring case, different types as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if isinstance(left, (list, dict)) or isinstance(right, (list, dict)):
        return left is right
    return left == right if type(left) is type(right) else _number(left) == _number(right)


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except ValueError:
        return float("nan")


def _format(pattern: str, *values: Any) -> str:
    return re.sub(r"\{(\d+)\}", lambda match: as_text(values[int(match[1])]), pattern)


_FUNCTIONS: dict[str, Callable[..., Any]] = {"format": _format, "fromJSON": json.loads}


class _Reader:
    """Reads an expression from left to right and evaluates it."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text, self.scope, self.tokens = text, scope, []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            assert match, f"not understood: {text!r} at {text[at:]!r}"
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()

    def take(self, *signs: str) -> str:
        """Return the next token if it is one of these signs."""
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return str(self.tokens.pop(0)[1])
        return ""

    def either(self) -> Any:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value if truth(value) else other
        return value

    def both(self) -> Any:
        value = self.compared()
        while self.take("&&"):
            other = self.compared()
            value = other if truth(value) else value
        return value

    def compared(self) -> Any:
        value = self.single()
        if sign := self.take("==", "!=", "<=", ">=", "<", ">"):
            other = self.single()
            if sign in {"==", "!="}:
                return _same(value, other) == (sign == "==")
            left, right = _number(value), _number(other)
            return {"<": left < right, ">": left > right, "<=": left <= right}.get(
                sign, left >= right
            )
        return value

    def single(self) -> Any:
        if self.take("!"):
            return not truth(self.single())
        if self.take("("):
            value = self.either()
            assert self.take(")"), f"no ')': {self.text!r}"
            return value
        assert self.tokens, f"ends too early: {self.text!r}"
        kind, token = self.tokens.pop(0)
        if kind == "text":
            return token.replace("''", "'")
        if kind == "number":
            return float(token) if "." in token else int(token)
        assert kind == "name", f"not understood: {self.text!r} at {token!r}"
        return self.called(token) if self.take("(") else self.named(token)

    def called(self, name: str) -> Any:
        values = []
        while not self.take(")"):
            values.append(self.either())
            self.take(",")
        if name in _STATES:
            return self.scope[name]
        assert name in _FUNCTIONS, f"no function known here: {name}() in {self.text!r}"
        return _FUNCTIONS[name](*values)

    def named(self, name: str) -> Any:
        if name in {"true", "false", "null"}:
            return {"true": True, "false": False, "null": None}[name]
        assert name in self.scope.keys() - set(_STATES), f"not known here: {name} ({self.text})"
        value, path = self.scope[name], name
        while sign := self.take(".", "["):
            kind, key = self.tokens.pop(0)
            assert kind in {"name", "text"} if sign == "[" else kind == "name", self.text
            assert sign == "." or self.take("]"), f"no ']': {self.text!r}"
            path += f".{key}"
            if value is None:
                continue  # a part that the event does not have
            assert isinstance(value, Mapping), f"not known here: {path}"
            try:
                value = value[key]
            except KeyError:
                raise AssertionError(f"not known here: {path} ({self.text})") from None
        return value
