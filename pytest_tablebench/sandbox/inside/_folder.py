"""The folder of one program: input files, size, and output files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Mapping

from pytest_tablebench.util.removal import entries


def fill(folder: str, files: Mapping[str, bytes]) -> None:
    """Write the given files into a folder. Raises `OSError`, `ValueError` for names with a path."""
    for name, data in files.items():
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise ValueError(f"not a file name: {name!r}")
        with open(os.path.join(folder, name), "xb") as file:
            file.write(data)


def grown(folder: str, child: int, most_files: int, most_bytes: int) -> bool:
    """Return whether a folder exceeds its limits, with open files that have no name.

    A path that is too long to look at counts as too many files.
    """
    count, size = -1, _unnamed(child)  # the program's own folder is not one of its files
    todo = [folder]
    while todo:
        inner = todo.pop()
        try:
            for entry in entries(inner):
                count += 1
                about = _about(entry)
                if about is not None:
                    size += about.st_blocks * 512
                    if stat.S_ISDIR(about.st_mode):
                        todo.append(entry.path)
                if count > most_files or size > most_bytes:
                    return True
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return True
    return size > most_bytes


def _about(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return a file's size and kind; None if it is gone. Raises `OSError` for a long path."""
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
        return None


def _unnamed(child: int) -> int:
    """Return the bytes of a process's open files that have no name (Linux)."""
    size = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{child}/fd"):
            with contextlib.suppress(OSError):
                about = entry.stat()
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                    size += about.st_blocks * 512
    return size


def left(folder: str, names: Iterable[str], most: int) -> dict[str, bytes]:
    """Return the files of these names that are plain files of at most `most` bytes."""
    kept = {}
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(file, "rb") as opened:
                about = os.fstat(file)
                if stat.S_ISREG(about.st_mode) and about.st_size <= most:
                    kept[name] = opened.read(most)
    return kept
