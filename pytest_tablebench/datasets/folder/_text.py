"""Reader of text files."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.tables.encodings import decode

MOST_BYTES = 1 << 30
"""The largest file that is read, in bytes."""


def read_text(path: Path, encoding: str = "") -> tuple[str, str | None]:
    """Return a file's text, and the name of its encoding, None for UTF-8; see `decode`.

    Raises `DataError` for a file that cannot be read or is not text.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"larger than {MOST_BYTES >> 20} MB")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}") from None
    try:
        is_html = path.suffix.lower() in {".html", ".htm"}
        return decode(data, is_html=is_html, encoding=encoding)
    except TableError as error:
        raise DataError(str(error)) from None
