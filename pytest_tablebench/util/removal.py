"""Removal of folders that are very deep or lack access rights.

The sandbox loads this module without the rest of the package, so it imports no other module of it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the content of a folder of this user, whatever its rights. Raises `OSError`."""
    try:
        return list(os.scandir(folder))
    except PermissionError:
        Path(folder).chmod(0o700)
        return list(os.scandir(folder))


def empty(folder: str) -> bool:
    """Remove the content of a folder; return whether that succeeded.

    Each inner folder is moved to the top first, so no path gets longer than the system allows.
    """
    todo, number = [folder], 0
    is_empty = True
    while todo:
        inner = todo.pop()
        inside: list[os.DirEntry[str]] = []
        with contextlib.suppress(OSError):
            inside = entries(inner)
        for entry in inside:
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                Path(entry.path).chmod(0o700)  # moving a folder changes its entry for `..`
                path = entry.path
                if inner != folder:
                    while os.path.lexists(path):
                        path = os.path.join(folder, f"{number}.moved")
                        number += 1
                    os.rename(entry.path, path)
                todo.append(path)
        if inner != folder:
            try:
                os.rmdir(inner)
            except OSError:
                is_empty = False
    with contextlib.suppress(OSError):
        return is_empty and not os.listdir(folder)
    return False
