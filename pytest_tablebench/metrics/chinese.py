"""Words of Chinese text, which has no blanks between them (spec: treb.md section 5)."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.extras import require

MAX_CHARACTERS = 20_000
"""Characters that are split into words; after them each character is a word."""

# Bounds the time for unknown characters, which grows with the square of their number.
_PIECE = 5_000

_CHINESE = re.compile("[\u4e00-\u9fff]")


def is_chinese(text: str) -> bool:
    """Return whether a text contains a Chinese character."""
    return _CHINESE.search(text) is not None


def chinese_words(text: str) -> list[str]:
    """Return a text's words by jieba, including blanks and marks: joined they are the text.

    Texts of more than 5,000 characters are split piece by piece, so that the time is bounded.
    """
    tokenizer = _tokenizer()
    words: list[str] = []
    head = text[:MAX_CHARACTERS]
    for start in range(0, len(head), _PIECE):
        words += tokenizer.cut(head[start : start + _PIECE])
    words += text[MAX_CHARACTERS:]
    return words


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    # Not filled by jieba's `initialize`: that trusts a file in the folder for temporary files,
    # which any user can write, and logs to the terminal.
    require(["jieba"], "the score of a Chinese answer")
    with warnings.catch_warnings():
        # Newer Pythons warn of escapes and an import in its source.
        warnings.simplefilter("ignore")
        import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
