"""Reader of text files, and of delimited text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.tables.encodings import decode

MOST_BYTES = 32 * 1024 * 1024
"""The largest file that is read, in bytes; no model reads a table of that size."""

_MOST_CHARACTERS = 1_000_000
"""The longest line that is read, in characters."""


def read_text(path: Path, encoding: str = "") -> tuple[str, str | None]:
    """Return a file's text, and the name of its encoding, None for UTF-8; see `decode`.

    Raises `DataError` for a file that cannot be read or is not text.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"larger than {MOST_BYTES >> 20} MB; no model reads a table like that")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}") from None
    try:
        is_html = path.suffix.lower() in {".html", ".htm"}
        return decode(data, is_html=is_html, encoding=encoding)
    except TableError as error:
        raise DataError(str(error)) from None


def delimiter_of(text: str) -> str:
    """Return the most frequent of comma, semicolon and tab in the first line, outside quotes."""
    line = "".join(text.lstrip("\r\n").partition("\n")[0].split('"')[::2])
    return max(",;\t", key=line.count)


def _lines(text: str) -> Iterator[str]:
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if len(line) > _MOST_CHARACTERS:  # before the reader makes millions of cells from it
            raise DataError(f"line {number}: longer than {_MOST_CHARACTERS:,} characters")
        yield line


def numbered_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of each row; skip blank lines.

    Raises `DataError` for an unclosed quote, and for a line that is too long.
    """
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"line {reader.line_num}: {error}") from None
