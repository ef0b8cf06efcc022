"""Reader of text files in UTF-8, UTF-16, UTF-32 or the encodings of old spreadsheet programs."""

from __future__ import annotations

import codecs
from pathlib import Path

from pytest_tablebench.errors import DataError

MOST_BYTES = 32 * 1024 * 1024
"""The largest file that is read, in bytes; no model reads a table of that size."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the start of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text(path: Path) -> tuple[str, str | None]:
    """Return a file's text, and the name of its encoding, None for UTF-8.

    Raises `DataError` for a file that cannot be read or is not text.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"larger than {MOST_BYTES >> 20} MB; no model reads a table like that")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}") from None
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), _guessed(data))
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise DataError(f"is neither UTF-8 nor {encoding}; save it as UTF-8") from None
    if "\0" in text:
        raise DataError("is not a text file")
    return text, None if encoding.startswith("utf-8") else encoding


def _guessed(data: bytes) -> str:
    """Return the encoding of a file without a byte order mark, guessed by fixed rules."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    else:
        if "\0" not in text:
            return "utf-8"
    # Latin letters in UTF-16 have a zero as every other byte.
    if len(data) > 1 and len(data) % 2 == 0:
        for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            if data[start::2].count(0) * 2 > len(data[start::2]):
                return name
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "latin-1" if not any(0x80 <= byte < 0xA0 for byte in data) else "cp1252"
