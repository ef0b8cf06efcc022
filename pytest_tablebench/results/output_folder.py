"""The folder that a command writes, marked until the command has finished."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.results.folder import UNFINISHED
from pytest_tablebench.util.leftovers import lock
from pytest_tablebench.util.names import printable
from pytest_tablebench.util.removal import empty


@contextlib.contextmanager
def output_folder(out: Path, command: str) -> Iterator[None]:
    """Mark a folder as unfinished until the end of the block, also if an error ends it.

    Content that the same command left unfinished is deleted first. Raises `SettingsError` for any
    other content, and if another process writes the folder.
    """
    mark = out / UNFINISHED
    shown = printable(str(out))
    with writing(f"--out: cannot write {shown}", "; choose another folder"):
        out.mkdir(parents=True, exist_ok=True)
        if _left_by(command, mark):
            empty(str(out))
        if any(out.iterdir()):
            raise SettingsError(
                f"--out: {shown} already exists; choose another folder (no file was changed)"
            )
        file = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.write(file, command.encode())
        with contextlib.suppress(OSError):  # a file system without locks
            lock(file)
    try:
        yield
    finally:
        os.close(file)
    mark.unlink(missing_ok=True)


def _left_by(command: str, mark: Path) -> bool:
    """Return whether this command left the mark. Raises `SettingsError` if it still runs."""
    if mark.is_symlink() or not mark.is_file() or mark.read_bytes() != command.encode():
        return False
    with mark.open("rb") as file:
        try:
            lock(file.fileno())
        except BlockingIOError:
            raise SettingsError(
                f"--out: another process is writing {printable(str(mark.parent))}; wait for it, or "
                f"choose another folder"
            ) from None
        except OSError:
            return True
    return True
