"""The folders that a program sees, and its own with input files, size and output files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tablebench.util.removal import entries

__all__ = ["ReadablePaths", "places"]

_OF_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_OTHERS = ("/usr/share/fonts", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime")
_SITES = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class ReadablePaths:
    """Paths that a program may read.

    Arguments:
        whole: readable with all content, except `hidden`.
        hidden: folders below `whole` that are not readable, mainly of other packages.
        libraries: readable paths, also below `hidden`.
    """

    whole: tuple[str, ...]
    hidden: tuple[str, ...]
    libraries: tuple[str, ...]

    def each(self) -> Iterator[str]:
        """Yield paths that cover `whole` without `hidden`, then `libraries`."""
        for path in self.whole:
            yield from _without(path, self.hidden)
        yield from self.libraries


def _without(path: str, hidden: Sequence[str]) -> Iterator[str]:
    if path in hidden:
        return
    if not any(hidden_path.startswith(path + os.sep) for hidden_path in hidden):
        yield path
        return
    try:
        inside = list(os.scandir(path))
    except OSError:
        return
    for entry in inside:
        # The target of a link is readable only if it is below one of the paths itself.
        if not entry.is_symlink():
            yield from _without(entry.path, hidden)


def places(libraries: Sequence[str], never: Sequence[str] = ()) -> ReadablePaths:
    """Return what a program may read on this machine.

    Arguments:
        libraries: paths of the libraries that it may import.
        never: folders that are always hidden.
    """
    base = {"platbase": sys.base_exec_prefix, "base": sys.base_prefix}
    standard = [
        os.path.dirname(os.__file__),
        *(sysconfig.get_path(name, vars=base) for name in ("stdlib", "platstdlib")),
    ]
    roots = [path for path in _OF_SYSTEM if os.path.isdir(path)]
    prefixes = sys.base_prefix, sys.base_exec_prefix
    folders = ("/usr/local/lib", *(os.path.join(prefix, "lib") for prefix in prefixes))
    shared = [
        str(file)
        for folder in dict.fromkeys(folders)
        if os.path.realpath(folder) not in map(os.path.realpath, roots)
        for file in sorted(Path(folder).glob("*.so*"))
    ]
    whole = [path for path in (*roots, *standard, *shared, *_OTHERS) if os.path.exists(path)]
    hidden = [*_hidden(roots, standard), *map(os.path.abspath, never)]
    below = [
        hidden_path
        for hidden_path in hidden
        if any(hidden_path.startswith(path + os.sep) for path in whole)
    ]
    return ReadablePaths(tuple(dict.fromkeys(whole)), tuple(dict.fromkeys(below)), tuple(libraries))


def _hidden(roots: Sequence[str], standard: Sequence[str]) -> Iterator[str]:
    """Yield folders of packages, which may contain any files."""
    real = {os.path.realpath(path) for path in standard}
    inner = [str(path) for root in roots for path in sorted(Path(root).glob("py*"))]
    for path in (*standard, *inner):
        if os.path.islink(path) or not os.path.isdir(path):
            continue
        if os.path.realpath(path) in real:
            sites = (os.path.join(path, name) for name in _SITES)
            yield from (site for site in sites if os.path.isdir(site))
        else:
            yield path


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
                status = _entry_status(entry)
                if status is not None:
                    size += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode):
                        todo.append(entry.path)
                if count > most_files or size > most_bytes:
                    return True
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return True
    return size > most_bytes


def _entry_status(entry: os.DirEntry[str]) -> os.stat_result | None:
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
                status = entry.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    size += status.st_blocks * 512
    return size


def left(folder: str, names: Iterable[str], most: int) -> dict[str, bytes]:
    """Return the files of these names that are plain files of at most `most` bytes."""
    kept = {}
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(file, "rb") as opened:
                status = os.fstat(file)
                if stat.S_ISREG(status.st_mode) and status.st_size <= most:
                    kept[name] = opened.read(most)
    return kept
