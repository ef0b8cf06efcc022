"""Counting of tokens without a network.

tiktoken downloads its vocabularies, so this module uses the file with one that litellm installs.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

_NAME = "cl100k_base"
_FOLDER = "litellm_core_utils/tokenizers"
_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""The SHA-1 of the vocabulary's address, its name in tiktoken's cache."""
_CACHE = "TIKTOKEN_CACHE_DIR"
_BYTES_PER_TOKEN = 4
_SURROGATE = re.compile("[\ud800-\udfff]")

TOKEN_BUCKETS = ("<10K", "10-20K", ">20K")
"""Ranges of a table's tokens, as in RealHiTBench's Table 3."""


def token_bucket(tokens: int) -> str:
    """Return the range of a number of tokens. The limits belong to the middle range."""
    low, middle, high = TOKEN_BUCKETS
    return low if tokens < 10_000 else middle if tokens <= 20_000 else high


def tokenizer_name() -> str:
    """Return the name of the tokenizer, for the record of a run."""
    return f"{_NAME} (tiktoken)" if _folder() else f"length ({_BYTES_PER_TOKEN} bytes each)"


def count_tokens(data: bytes) -> int:
    """Return the number of tokens of a text; without a tokenizer by its length in UTF-8."""
    if _folder() is None:
        return len(data) // _BYTES_PER_TOKEN
    return len(_encoding().encode(data.decode("utf-8", "ignore"), disallowed_special=()))


def first_tokens(text: str, most: int) -> tuple[str, int]:
    """Return the longest prefix of a text with at most `most` tokens, and its number of tokens.

    A partial character is left out. Without a tokenizer, four bytes count as a token.
    """
    # tiktoken does not encode lone surrogates. The replacement has the same number of characters.
    clean = _SURROGATE.sub("\ufffd", text)
    if _folder() is None:
        data = clean.encode()
        start = data[: most * _BYTES_PER_TOKEN].decode("utf-8", "ignore")
        return text[: len(start)], -(-len(start.encode()) // _BYTES_PER_TOKEN)
    encoding = _encoding()
    tokens = encoding.encode(clean, disallowed_special=())
    if len(tokens) <= most:
        return text, len(tokens)
    kept = most
    while True:
        start = encoding.decode_bytes(tokens[:kept]).decode("utf-8", "ignore")
        # The tokens of a prefix can differ from the first tokens of the text.
        count = len(encoding.encode(start, disallowed_special=()))
        if count <= most:
            return text[: len(start)], count
        kept = max(0, kept - (count - most))


@cache
def _folder() -> Path | None:
    """Return the folder of the vocabulary; None without it or without tiktoken."""
    package = find_spec("litellm") if find_spec("tiktoken") else None
    folder = Path(package.origin).parent / _FOLDER if package and package.origin else None
    return folder if folder is not None and (folder / _FILE).is_file() else None


@cache
def _encoding() -> Encoding:
    import tiktoken

    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = str(_folder())
    try:
        return tiktoken.get_encoding(_NAME)
    finally:
        if before is None:
            del os.environ[_CACHE]
        else:
            os.environ[_CACHE] = before
