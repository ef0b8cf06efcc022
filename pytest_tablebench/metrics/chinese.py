"""Words of Chinese text, which has no blanks between them (spec: treb.md section 5)."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.extras import require

MAX_CHARACTERS = 20_000
"""How much of a text is cut into words; behind that each character is one."""

# The time for a run of unknown characters grows with the square of its length.
_PIECE = 5_000

_CHINESE = re.compile("[\u4e00-\u9fff]")


def is_chinese(text: str) -> bool:
    """Tell whether a text holds a Chinese character."""
    return _CHINESE.search(text) is not None


def chinese_words(text: str) -> list[str]:
    """Return the words of a text by jieba, blanks and marks among them: joined they are the text.

    Texts of more than 5,000 characters are cut piece by piece, so that the time for any reply is
    bounded.
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
    """Jieba's tokenizer with its own dictionary.

    Filled here and not by its `initialize`: that would trust a file in the folder for temporary
    files, where anybody may write, and log to the terminal.
    """
    require(["jieba"], "the score of a Chinese answer")
    with warnings.catch_warnings():
        # Its source has escapes, and an import, that newer Pythons warn of.
        warnings.simplefilter("ignore")
        import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
