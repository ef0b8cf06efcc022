"""Writing files whole: who reads one sees the old or the new content, never half of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_ESCAPED = "backslashreplace"


def write_whole(
    path: Path, content: str | bytes | Iterable[str | bytes], *, durable: bool = False
) -> None:
    """Write a file beside its place and move it there, over an older one.

    Text is written as UTF-8, what UTF-8 has not (lone surrogates) as an escape. Several processes
    may write the same file: the last one's stands. Raises `OSError`, and whatever the content
    raises while it is made: then nothing has changed, and nothing is left behind.

    Arguments:
        path: the file; its folder has to be there.
        content: all of it, or its pieces in order.
        durable: whether to wait until it would survive a loss of power.
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
