"""Temporary folders and shared files of runs, and the removal of those of killed runs."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import time
from functools import cache, cached_property
from pathlib import Path

from pytest_tablebench.util.removal import empty


class SharedFile(bytes):
    """The bytes of a file, with its digest and a copy on the disk, each made once."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 as 64 hexadecimal digits."""
        return hashlib.sha256(self).hexdigest()

    @cached_property
    def path(self) -> Path:
        """The path of a copy, which exists as long as this process."""
        path = _folder().path / self.digest
        path.write_bytes(self)
        return path


@cache
def _folder() -> TemporaryFolder:
    folder = TemporaryFolder()
    atexit.register(folder.remove)
    return folder


STORES = "tablebench-answers-"
"""The prefix of temporary stores."""

_HELD = "in-use"
_OLD_S = 24 * 3600
"""Seconds without a change after which a folder without a lock is certainly abandoned."""


class TemporaryFolder:
    """A temporary folder that other processes can tell from an abandoned one.

    While this process lives, it keeps a file in the folder locked; on Windows it keeps the file
    open, so that it cannot be removed.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=STORES))
        self._file = os.open(self.path / _HELD, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: `sweep` goes by age
            lock(self._file)

    def remove(self) -> None:
        """Remove the folder with its content."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        _remove(self.path)


def sweep(folder: Path | None = None) -> None:
    """Remove the abandoned folders of killed runs from the folder for temporary files.

    Only folders of this user that no process uses. A folder that cannot be removed stays.
    """
    folder = Path(tempfile.gettempdir()) if folder is None else folder
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if not path.name.startswith(STORES):
                continue
            with contextlib.suppress(OSError):
                status = path.lstat()
                if hasattr(os, "getuid") and status.st_uid != os.getuid():
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
        # It is being made at this moment, or by an earlier version.
        return time.time() - path.lstat().st_mtime > _OLD_S
    try:
        lock(file)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


if sys.platform == "win32":
    import msvcrt

    def lock(file: int) -> None:
        """Lock a file. Raises `OSError` if another process has locked it."""
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock(file: int) -> None:
        """Lock a file. Raises `OSError` if another process has locked it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
