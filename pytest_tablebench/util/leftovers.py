"""What runs keep for their own time only, and what is left of it when they are killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from pytest_tablebench.util.removal import empty

STORES = "tablebench-answers-"
"""How the names of temporary stores begin."""

_HELD = "in-use"
_OLD_S = 24 * 3600
"""Seconds since its last change after which what nobody can hold is left behind for sure."""


class TemporaryFolder:
    """A folder of this process, which every other one can tell from one that was left behind.

    A file in it is held for as long as this process lives: locked, and on Windows open, where
    nobody can remove it then.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=STORES))
        self._file = os.open(self.path / _HELD, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: `sweep` tells by age
            _lock(self._file)

    def remove(self) -> None:
        """Remove it, and what is in it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        _remove(self.path)


def sweep(folder: Path | None = None) -> None:
    """Remove what runs that were killed have left in the folder for temporary files.

    Only what belongs to this user, and is in nobody's use. What cannot be removed stays.
    """
    folder = Path(tempfile.gettempdir()) if folder is None else folder
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if not path.name.startswith(STORES):
                continue
            with contextlib.suppress(OSError):
                about = path.lstat()
                if hasattr(os, "getuid") and about.st_uid != os.getuid():
                    continue
                if path.is_dir() and not path.is_symlink() and _left_behind(path):
                    _remove(path)


def _remove(path: Path) -> None:
    empty(str(path))
    shutil.rmtree(path, ignore_errors=True)


def _left_behind(path: Path) -> bool:
    try:
        file = os.open(path / _HELD, os.O_RDWR)
    except FileNotFoundError:
        # Just being made, or by an earlier version.
        return time.time() - path.lstat().st_mtime > _OLD_S
    try:
        _lock(file)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        """Lock a file, or raise `OSError` where another process has it."""
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        """Lock a file, or raise `OSError` where another process has it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
