"""The files that a program may read: the interpreter, shared libraries, and fonts."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    folders = ("/usr/local/lib", *(os.path.join(prefix, "lib") for prefix in _prefixes()))
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


def _prefixes() -> tuple[str, ...]:
    return sys.base_prefix, sys.base_exec_prefix


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
