"""Removes what models put around a short answer."""

from __future__ import annotations

import re
from typing import Any

_IS = r"(?:is\b\s*:?|:)"
# The asterisks of `**Answer:** 42` and `**Answer**: 42` belong to the marker; `_QUOTES` removes
# those around the answer, or around marker and answer. Repeated markers are removed together:
# one by one, each would copy a long reply.
_MARKERS = re.compile(
    rf"(?:(\**)(?:the\s+)?(?:final\s+)?answer(?:\1\s*{_IS}|\s*{_IS}\1)\s*)+", re.IGNORECASE
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`", "**": "**"}


def strip_answer_marker(value: Any) -> str:
    """Remove what models put around a short answer: `Answer:` before it, quotes, a full stop."""
    text = str(value).strip()
    before = None
    while before != text:
        before = text
        if markers := _MARKERS.match(text):
            text = text[markers.end() :]
        text = _without_full_stop(text)
        for opening, closing in _QUOTES.items():
            if len(text) > len(opening + closing) and text.startswith(opening):
                inner = text[len(opening) : -len(closing)]
                if text.endswith(closing) and opening not in inner and closing not in inner:
                    text = inner.strip()
    return text


def _without_full_stop(text: str) -> str:
    """Remove full stops with blanks between them (`42 . .`); an ellipsis stays."""
    end = len(text)
    while end > 1 and text[end - 1] == "." != text[end - 2]:
        end -= 1
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]
