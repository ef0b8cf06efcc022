"""Unicode forms of texts from any source."""

from __future__ import annotations

import unicodedata
from typing import Literal

_LONGEST_RUN = 30


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a text's Unicode form, with at most 30 combining marks in a row.

    No word has more (30 is the limit of Unicode's stream-safe text), and the time to sort a run of
    marks grows with the square of its length.
    """
    if text.isascii():
        return text
    kept: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= _LONGEST_RUN:
            kept.append(character)
    return unicodedata.normalize(form, "".join(kept))
