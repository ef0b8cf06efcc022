"""Exact match of short answers: the metric of the embedded dataset and of users' own tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from pytest_tablebench.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._numbers import canonical_number

__all__ = ["exact_match"]

# The number takes all it can for good: what it left over would only fail in the unit again, at
# every length, because the unit holds no digit.
_WITH_UNIT = re.compile(
    r"(?P<before>[^\d+.\-\u2212]{0,3}?)\s*(?P<number>[-+\u2212]?[\d,.]++)\s*(?P<after>\D*)"
)


def exact_match(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",  # noqa: ARG001 - there is no reference implementation
    **_: Any,
) -> Score:
    """1 when the reply holds exactly the expected items, in any order, else 0.

    Case, white space, Unicode form and the way a number is written (`1,234.0` for `1234`) do
    not matter; units, signs and percent signs do. Several references are all expected.
    The reply is split at comma and space; `partial` gives the share of items found,
    F1 over the two multisets of items.
    """
    given = _items([prediction])
    wanted = _items(references)
    remaining = list(wanted)
    for item in given:
        if item in remaining:
            remaining.remove(item)
    hit = len(wanted) - len(remaining)
    partial = 2 * hit / (len(given) + len(wanted)) if hit else 0.0
    value = float(bool(wanted) and not remaining and len(given) == len(wanted))
    return Score(value, {"exact_match": value, "partial": partial})


def _items(values: Sequence[Processed]) -> list[str]:
    pieces: list[str] = []
    for value in values:
        if isinstance(value, list | tuple):
            pieces.extend(str(item) for item in value)
        else:
            pieces.extend(str(value).split(", "))
    return [item for item in (_normal(piece) for piece in pieces) if item]


def _normal(text: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    match = _WITH_UNIT.fullmatch(text)
    number = canonical_number(match["number"]) if match else None
    if match is None or number is None:
        return text
    return f"{match['before'].strip()}{number}{match['after'].strip()}"
