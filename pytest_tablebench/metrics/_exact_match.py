"""Exact match of short answers, and the facts that free text must state."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._normal import canonical_number, normalized

# The number is possessive: the unit has no digit, so trying shorter numbers cannot succeed.
_WITH_UNIT = re.compile(
    r"(?P<before>[^\d+.\-\u2212]{0,3}?)\s*(?P<number>[-+\u2212]?[\d,.]++)\s*(?P<after>\D*)"
)


def exact_match(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    ordered: bool = False,
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    **_: Any,
) -> Score:
    """Return 1 if the reply contains exactly the expected items, else 0.

    Case, white space, Unicode form and the way a number is written (`1,234.0` for `1234`) do not
    matter; units, signs and percent signs do. All references are expected, with `ordered` in their
    order. `aliases` are for a reference other texts that are equally right. The reply is split at
    comma and space; `partial` is F1 over the two multisets of items.
    """
    expected = _items(references)
    items = _with_references(_items([prediction]), aliases)
    remaining = list(expected)
    for item in items:
        if item in remaining:
            remaining.remove(item)
    hit = len(expected) - len(remaining)
    partial = 2 * hit / (len(items) + len(expected)) if hit else 0.0
    same = items == expected if ordered else not remaining and len(items) == len(expected)
    value = float(bool(expected) and same)
    return Score(value, {"exact_match": value, "partial": partial}, "exact_match")


def _with_references(items: list[str], aliases: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the reply's items with each alias replaced by its reference, longest alias first."""
    pairs = [(_items([a]), _items([text])) for text, others in aliases.items() for a in others]
    pairs = sorted((pair for pair in pairs if pair[0]), key=lambda pair: -len(pair[0]))
    renamed: list[str] = []
    position = 0
    while position < len(items):
        for alias, reference in pairs:
            if items[position : position + len(alias)] == alias:
                renamed += reference
                position += len(alias)
                break
        else:
            renamed.append(items[position])
            position += 1
    return renamed


def _items(values: Sequence[Processed]) -> list[str]:
    pieces: list[str] = []
    for value in values:
        if isinstance(value, list | tuple):
            pieces.extend(str(item) for item in value)
        else:
            pieces.extend(str(value).split(", "))
    return [item for item in (_normal(piece) for piece in pieces) if item]


def _normal(text: str) -> str:
    text = " ".join(normalized("NFKC", text).casefold().split())
    match = _WITH_UNIT.fullmatch(text)
    number = canonical_number(match["number"]) if match else None
    if match is None or number is None:
        return text
    return f"{match['before'].strip()}{number}{match['after'].strip()}"


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_EDGE = re.compile(r"[0-9a-z\u00c0-\u024f]")
"""Letters of scripts that put blanks between words."""


def facts(
    prediction: Processed,
    references: Sequence[Processed],  # noqa: ARG001 - replaced by the facts
    *,
    must: Sequence[str] = (),
    must_not: Sequence[str] = (),
    **_: Any,
) -> Score:
    """Return 1 for a reply that states every fact of `must` and none of `must_not`, else 0.

    A fact is one or more words of the reply. Case, white space and separators of thousands do not
    matter. A fact with alternatives, `rose / grew`, is stated by either of them. References have no
    effect.
    """
    text = _plain(str(prediction))
    stated = [_states(text, fact) for fact in must]
    wrong = [_states(text, fact) for fact in must_not]
    parts = {}
    if must:
        parts["must"] = sum(stated) / len(stated)
    if must_not:
        parts["must_not"] = 1 - sum(wrong) / len(wrong)
    return Score(float(bool(parts) and all(stated) and not any(wrong)), parts)


def _plain(text: str) -> str:
    words = " ".join(normalized("NFKC", text).casefold().replace("\u2212", "-").split())
    return _THOUSANDS.sub("", words)


def _states(text: str, fact: str) -> bool:
    return any(
        _contains(text, _plain(spelling))
        for spelling in re.split(r"\s+/\s+", fact)
        if spelling.strip()
    )


def _contains(text: str, words: str) -> bool:
    """Return whether a text contains the words, not only within longer words or numbers."""
    before = r"(?<![0-9a-z\u00c0-\u024f])(?<![0-9][.,])" if _EDGE.match(words) else ""
    after = r"(?![0-9a-z\u00c0-\u024f])" if _EDGE.match(words[-1]) else ""
    after += r"(?![.,][0-9])" if words[-1].isdigit() else ""
    return re.search(before + re.escape(words) + after, text) is not None
