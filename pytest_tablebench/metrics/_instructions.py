"""Instructions that a rule can check (spec: treb.md section 5, Instruction_Following).

A rule is data: the name of a predicate and its arguments, as a question's file has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics.chinese import is_chinese
from pytest_tablebench.util.names import unknown_name


def treb_instruction(
    prediction: Processed,
    references: Sequence[Processed],  # noqa: ARG001 - the rule is all there is to compare with
    *,
    compat: Compat = "fixed",
    rule: str,
    arguments: Mapping[str, Any],
    **_: Any,
) -> Score:
    """Return 1 if the reply follows the instruction, else 0."""
    value = float(follows(rule, arguments, str(prediction), compat))
    return Score(value, {"follow": value}, "follow")


def follows(rule: str, arguments: Mapping[str, Any], answer: str, compat: Compat) -> bool:
    """Return whether an answer follows a rule.

    Raises `SettingsError` for an unknown rule or other arguments.
    """
    try:
        predicate = RULES[rule]
    except KeyError:
        raise SettingsError(unknown_name("instruction rule", rule, RULES)) from None
    try:
        return predicate(answer, compat, **arguments)
    except TypeError as error:
        raise SettingsError(f"instruction rule {rule!r}: {error}") from None


def _contains_without(answer: str, _: Compat, *, required: str, forbidden: str, case: str) -> bool:
    """Capitals matter if `case` is `exact`, not if it is `fold`."""
    if case == "fold":
        answer, required, forbidden = answer.lower(), required.lower(), forbidden.lower()
    elif case != "exact":
        raise SettingsError(unknown_name("case", case, ("exact", "fold")))
    return required in answer and forbidden not in answer


def _is_long(answer: str, length: int, compat: Compat) -> bool:
    # For `reference`, an answer of exactly this length is too short.
    return len(answer) > length if compat == "reference" else len(answer) >= length


_AABB = {"fixed": re.compile(r"(.)\1(.)\2"), "reference": re.compile(r"(..)\1(..)\2")}


def _aabb_idioms(answer: str, compat: Compat, *, count: int) -> bool:
    """Return whether an answer is this many idioms AABB between Chinese commas, and nothing else.

    A and B are characters in `fixed`, pairs of characters in `reference`.
    """
    idioms = answer.split("，")
    return len(idioms) == count and all(map(_AABB[compat].fullmatch, idioms))


def _reversed(answer: str, compat: Compat, *, text: str, unit: str) -> bool:
    """Return whether the text is reversed; English is always reversed by words in `reference`."""
    if unit not in {"letters", "words"}:
        raise SettingsError(unknown_name("unit", unit, ("letters", "words")))
    if unit == "words" or (compat == "reference" and not is_chinese(text)):
        return answer == " ".join(reversed(text.split()))
    return answer == text[::-1]


RULES: Mapping[str, Callable[..., bool]] = {
    "aabb_idioms": _aabb_idioms,
    "contains": lambda answer, _, *, text: text in answer,
    "contains_all_longer_than": lambda answer, compat, *, words, length: (
        _is_long(answer, length, compat) and all(word in answer for word in words)
    ),
    "contains_without": _contains_without,
    "equals": lambda answer, _, *, text: answer == text,
    "reversed": _reversed,
    "starts_with": lambda answer, _, *, text: answer.startswith(text),
    "starts_with_longer_than": lambda answer, compat, *, text, length: (
        _is_long(answer, length, compat) and answer.startswith(text)
    ),
}
"""Rules by name: each is a predicate on the answer, the compat mode and its arguments."""
