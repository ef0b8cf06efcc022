"""Scores free text by the facts that it must state, and those that it must not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._unicode import normalized

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
