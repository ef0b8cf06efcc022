"""Atomic writing of files: a reader sees the old or the new content, never a part."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_ESCAPED = "backslashreplace"


def real_path(path: Path) -> Path:
    """Return the absolute path behind links. A link to itself stays; opening it is an `OSError`.

    `Path.resolve` raises `RuntimeError` for it before Python 3.13.
    """
    return Path(os.path.realpath(path))


def write_whole(
    path: Path, content: str | bytes | Iterable[str | bytes], *, durable: bool = False
) -> None:
    """Write a temporary file and move it to its place, replacing an older file.

    Text is written as UTF-8, and lone surrogates as escapes. If several processes write the same
    file, the last one wins. Raises `OSError`, and any error of the content's iterator; the old file
    is then unchanged, and no temporary file is left.

    Arguments:
        path: the file; its folder must exist.
        content: the whole content, or its pieces in order.
        durable: whether to wait until the content would survive a loss of power.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as file:
            for piece in (content,) if isinstance(content, str | bytes) else content:
                data = piece if isinstance(piece, bytes) else piece.encode("utf-8", _ESCAPED)
                file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
