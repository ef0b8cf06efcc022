"""Text files of tables, or the text itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.encodings import declared_encoding
from pytest_tablebench.util.names import shortened


def has_line_end(text: str) -> bool:
    """Return whether a text has more than one line."""
    return "\n" in text or "\r" in text


def read_text(
    source: str | os.PathLike[str], kind: str, is_text: Callable[[str], bool], rule: str
) -> tuple[str, str | None, str]:
    """Return the text, the file's name or None, and the label for messages."""
    if isinstance(source, str) and is_text(source):
        return source.removeprefix("\ufeff"), None, f"{kind} text"
    path = to_path(source, kind)
    where = f"{kind} file {shortened(str(path), 300)!r}"
    hint = f"; {kind} text instead of a path {rule}" if isinstance(source, str) else ""
    data = read_bytes(path, where, hint)
    encoding = declared_encoding(data) if kind == "HTML" else ""
    try:
        return data.decode(encoding or "utf-8-sig"), path.name, where
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{where}, line {line}: byte {error.object[error.start]:#04x} is not "
            f"{encoding or 'UTF-8'}; convert the file to UTF-8"
        ) from error


def to_path(source: str | os.PathLike[str], kind: str) -> Path:
    """Return a source as a path. Raises `TableError` for other types and an empty path."""
    if not isinstance(source, str | os.PathLike) or not isinstance(os.fspath(source), str):
        raise TableError(f"{kind}: a path or text is needed, not {type(source).__name__}")
    if not os.fspath(source):
        raise TableError(f"{kind}: the path is empty")
    return Path(source)


def read_bytes(path: Path, where: str, hint: str) -> bytes:
    """Return a file's bytes. Raises `TableError`, which ends with `hint` for a missing file."""
    try:
        if path.is_dir():
            raise TableError(f"{where} is a folder, not a file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise TableError(f"{where} does not exist{hint}") from error
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise TableError(f"{where} cannot be read: {reason}{hint}") from error
