"""Free text by facts: what it must say, and what it must not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._unicode import normalized

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_EDGE = re.compile(r"[0-9a-z\u00c0-\u024f]")
"""Letters that form words with blanks between them; Chinese has none."""


def facts(
    prediction: Processed,
    references: Sequence[Processed],  # noqa: ARG001 - the facts say what is right
    *,
    compat: Compat = "fixed",  # noqa: ARG001 - there is no reference implementation
    must: Sequence[str] = (),
    must_not: Sequence[str] = (),
    **_: Any,
) -> Score:
    """Return 1 for a reply that says every fact of `must` and none of `must_not`, else 0.

    A fact is a word or words of the reply, without regard to case, blanks and separators of
    thousands. `rose / grew` is a fact that either of the two says.

    Arguments:
        prediction: the reply.
        references: without effect.
        compat: without effect.
        must: facts that the reply must say.
        must_not: facts that it must not say.
    """
    text = _plain(str(prediction))
    stated = [_says(text, fact) for fact in must]
    wrong = [_says(text, fact) for fact in must_not]
    parts = {}
    if must:
        parts["must"] = sum(stated) / len(stated)
    if must_not:
        parts["must_not"] = 1 - sum(wrong) / len(wrong)
    return Score(float(bool(parts) and all(stated) and not any(wrong)), parts)


def _plain(text: str) -> str:
    words = " ".join(normalized("NFKC", text).casefold().replace("\u2212", "-").split())
    return _THOUSANDS.sub("", words)


def _says(text: str, fact: str) -> bool:
    return any(
        _contains(text, _plain(spelling))
        for spelling in re.split(r"\s+/\s+", fact)
        if spelling.strip()
    )


def _contains(text: str, words: str) -> bool:
    """Return whether a text contains words, not only as a part of longer ones."""
    before = r"(?<![0-9a-z\u00c0-\u024f])(?<![0-9][.,])" if _EDGE.match(words) else ""
    after = r"(?![0-9a-z\u00c0-\u024f])" if _EDGE.match(words[-1]) else ""
    after += r"(?![.,][0-9])" if words[-1].isdigit() else ""
    return re.search(before + re.escape(words) + after, text) is not None
