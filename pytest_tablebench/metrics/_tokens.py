"""Tokens of a text, as the published token F1 splits it (spec: torr.md section 8.2)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.extras import require
from pytest_tablebench.metrics._numbers import canonical_number

# Marks that only separate or wrap answers; signs such as %, $, + and - have a meaning.
_WRAPPING = frozenset(",.;:!?'\"()[]{}`´‘’“”«»„…")

_LONG = 1000
_LONG_RUN = re.compile(rf"(\S{{{_LONG},}})")


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    # Only the rules: equal to the reference's pipeline with every component off.
    require(["spacy"], "token F1")
    from spacy.lang.en import English

    return English().tokenizer


def tokens(text: str) -> tuple[str, ...]:
    """Return the lower-cased tokens of a text, including white space and marks."""
    return _cached(text) if len(text) < _LONG else _split(text)


def words(text: str) -> tuple[str, ...]:
    """Return a number as its value, other text as its tokens without separating marks.

    A text of nothing but marks is returned in lower case.
    """
    number = canonical_number(text.strip())
    if number is not None:
        return (number,)
    words = (
        token for token in tokens(text) if not token.isspace() and not _WRAPPING.issuperset(token)
    )
    return tuple(canonical_number(token) or token for token in words) or tuple(
        filter(None, [text.strip().lower()])
    )


def _split(text: str) -> tuple[str, ...]:
    # The tokenizer rejects lone surrogates. Its time grows with the square of a run of marks
    # without a blank, so a run longer than in any answer is one token.
    text = text.encode("utf-8", "replace").decode("utf-8")
    pieces: list[str] = []
    for piece in _LONG_RUN.split(text):
        if len(piece) >= _LONG and _LONG_RUN.fullmatch(piece):
            pieces.append(piece.lower())
        else:
            pieces += (token.text.lower() for token in _tokenizer()(piece))
    return tuple(pieces)


_cached = lru_cache(maxsize=4096)(_split)  # references and short replies are tokenized repeatedly
