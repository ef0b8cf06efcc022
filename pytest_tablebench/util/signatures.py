"""Checks of registered functions' arguments, and parsing of `name[key=value,…]`."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pytest_tablebench.util.names import printable

_LONGEST = 1000  # characters; more than any real call has, and little for the parser


def parse_call(kind: str, text: str, *, words: bool = False) -> tuple[str, dict[str, Any]]:
    """Split `name[key=literal,…]` into name and arguments, without running anything.

    With `words`, a value may also be a bare word: `tree=off` has the value "off". Raises
    `ValueError`; its message calls the text a `kind`.
    """
    label = printable(text, 80)
    if len(text) > _LONGEST:
        raise ValueError(f"{kind} {label!r} is longer than {_LONGEST} characters")
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(f"cannot read {kind} {label!r}; write name or name[key=value,…]")
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
            f"cannot read the arguments of {kind} {label!r}; write name[key=value,…] with {forms}"
        ) from None


def _value(node: ast.expr, words: bool) -> Any:
    return node.id if words and isinstance(node, ast.Name) else ast.literal_eval(node)


_PLAIN = frozenset({"bool", "bytes", "dict", "float", "int", "list", "None", "str", "tuple"})


class Call(NamedTuple):
    """How the functions of a kind are called.

    Arguments:
        shown: the arguments, as documentation writes them.
        positional: the number of positional arguments.
        keywords: the keyword arguments; a case may supply further ones.
        returns: the type of the result if a plain value is a frequent mistake, else "".
    """

    shown: str
    positional: int
    keywords: Mapping[str, Any] = {}
    returns: str = ""


def source_of(function: object) -> str:
    """Return ` (file:line)` of a function, a class or an instance's class; "" if unknown."""
    function = inspect.unwrap(function) if callable(function) else function
    if not (inspect.isroutine(function) or inspect.isclass(function)):
        function = type(function)
    try:
        return f" ({inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]})"
    except (OSError, TypeError):
        return ""


def call_problem(function: object, call: Call) -> str | None:
    """Return why a function cannot be called in this way, or None if it can or may.

    If `call` has `returns`, a return annotation with a plain type is a mistake too.
    """
    if not callable(function):
        return f"it is {type(function).__name__}, which cannot be called"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function that is not written in Python
        return None
    needed = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    keywords = {**(dict.fromkeys(needed) if call.keywords else {}), **call.keywords}
    try:
        signature.bind(*[None] * call.positional, **keywords)
    except TypeError as error:
        return f"it takes {_arguments(signature)} and is called with {call.shown}: {error}"
    annotation = signature.return_annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if call.returns and (annotation is None or name.partition("[")[0] in _PLAIN):
        return f"it returns {name or None}, but must return {call.returns}"
    return None


def _arguments(signature: inspect.Signature) -> str:
    return str(signature.replace(return_annotation=inspect.Signature.empty))


def method_problem(part: object, name: str, call: Call) -> str | None:
    """Return why an object's method cannot be called in this way, or None."""
    method: Callable[..., Any] | None = getattr(part, name, None)
    if method is None:
        return f"it has no {name}{call.shown}"
    problem = call_problem(method, call)
    return None if problem is None else f"{name}: {problem}"
