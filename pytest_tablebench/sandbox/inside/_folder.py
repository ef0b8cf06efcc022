"""The folder of one program: what lies in it, how large it grows, and its end."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping


def fill(folder: str, files: Mapping[str, bytes]) -> None:
    """Lay the given files into a folder. Raises `OSError`, `ValueError` for names that lead out."""
    for name, data in files.items():
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise ValueError(f"no name of a file: {name!r}")
        with open(os.path.join(folder, name), "xb") as file:
            file.write(data)


def grown(folder: str, child: int, most_files: int, most_bytes: int) -> bool:
    """Return whether a program's folder holds more than it may, files without a name counted in."""
    count, size = 0, _unnamed(child)
    todo = [folder]
    while todo:
        try:
            entries = list(os.scandir(todo.pop()))
        except OSError:
            continue
        for entry in entries:
            with contextlib.suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                size += about.st_blocks * 512
                if stat.S_ISDIR(about.st_mode):
                    todo.append(entry.path)
            count += 1
            if count > most_files or size > most_bytes:
                return True
    return False


def _unnamed(child: int) -> int:
    """Return the bytes of files that a process has open and that no folder shows (Linux)."""
    size = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{child}/fd"):
            with contextlib.suppress(OSError):
                about = entry.stat()
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                    size += about.st_blocks * 512
    return size


def left(folder: str, names: Iterable[str], most: int) -> dict[str, bytes]:
    """Return the files of these names, as far as they are plain files of at most so many bytes."""
    found = {}
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(file, "rb") as opened:
                about = os.fstat(file)
                if stat.S_ISREG(about.st_mode) and about.st_size <= most:
                    found[name] = opened.read(most)
    return found


def remove(folder: str) -> None:
    """Remove a folder however deep it is: what lies in it is first brought up to the top."""
    todo, number = [folder], 0
    while todo:
        inner = todo.pop()
        try:
            entries = list(os.scandir(inner))
        except OSError:
            entries = []
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    number += 1
                    moved = f"{folder}.{number}"
                    os.rename(entry.path, moved)
                    todo.append(moved)
                else:
                    os.unlink(entry.path)
        with contextlib.suppress(OSError):
            os.rmdir(inner)
