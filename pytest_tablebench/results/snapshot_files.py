"""Read and write stored answers in syrupy's Amber files, one file per suite and model."""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import shortened, slug

if TYPE_CHECKING:
    from syrupy.extensions.amber import AmberSnapshotExtension

FOLDER = "snapshots"
"""The folder of the files, next to pytest's configuration file (in pytest's root folder)."""

LOCK_S = 60.0
"""The time to wait for another run that is writing the same file, in seconds."""


@cache
def amber_extension() -> type[AmberSnapshotExtension]:
    """Return syrupy's Amber extension with a version of its own.

    Entries are written as they are, since `Entry.encode` has escaped them.
    """
    from syrupy.extensions.amber import AmberDataSerializer, AmberSnapshotExtension

    class AnswerSerializer(AmberDataSerializer):
        VERSION = "tablebench-1"

    class AnswerExtension(AmberSnapshotExtension):
        serializer_class = AnswerSerializer

    return AnswerExtension


def file_name(suite: str, model: str) -> str:
    """Return the name of the file for a suite (the path in its node ids) and a model.

    It is ASCII, under 200 characters, and unique for every pair on every file system.
    """
    parts = PurePosixPath(suite.replace("\\", "/")).parts
    if "site-packages" in parts:
        # With --pyargs the path contains the package's place of installation: leave it out.
        parts = parts[len(parts) - parts[::-1].index("site-packages") :]
    path = "/".join(parts).removesuffix(".py")
    # A dot in a folder's name could make two paths equal. The slash makes `slug` add a digest.
    stem = slug(f"{path}/" if "." in path else path.replace("/", "."), 80)
    return f"{_caseless(stem)}--{_caseless(slug(model, 80))}.ambr"


def _caseless(name: str) -> str:
    """Append a digest to a name with capitals, since some file systems ignore case."""
    if name == name.lower():
        return name
    return f"{name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def read_entries(path: Path) -> dict[str, str]:
    """Return a file's entries by name, as stored. Raises `SettingsError` for a damaged file."""
    from syrupy.extensions.amber.serializer import MalformedAmberFile

    try:
        collection = amber_extension()().read_snapshot_collection(str(path))
    except (OSError, UnicodeDecodeError, MalformedAmberFile) as error:
        problem = f"cannot be read ({shortened(str(error), 200)})"
    else:
        if not collection.tainted:
            return {entry.name: str(entry.data) for entry in collection}
        problem = "was not written by this version of pytest-tablebench"
    raise SettingsError(f"{path.name} {problem}; restore it, or delete it and record again")


def write_entries(path: Path, entries: dict[str, Any], *, new_only: bool = False) -> None:
    """Merge entries into a file atomically, one process at a time.

    With `new_only` stored entries stay as they are. Raises `OSError`, also after waiting `LOCK_S`
    seconds for another run, and `SettingsError` if the file has become unusable.
    """
    from filelock import FileLock
    from syrupy.data import Snapshot, SnapshotCollection

    path.parent.mkdir(parents=True, exist_ok=True)
    # Syrupy would leave its lock file in the folder of the snapshots.
    with FileLock(_lock_path(path), timeout=LOCK_S):
        stored = read_entries(path) if path.exists() else {}
        collection = SnapshotCollection(location=str(path))
        for name, data in (entries | stored if new_only else stored | entries).items():
            collection.add(Snapshot(name=name, data=data))
        # With `file_lock` syrupy writes a new file and replaces the old one.
        amber_extension().serializer_class.write_file(
            collection, file_lock=True, _already_locked=True
        )


def _lock_path(path: Path) -> Path:
    user = os.getuid() if hasattr(os, "getuid") else ""
    digest = hashlib.sha256(os.fsencode(real_path(path))).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"tablebench-snapshot-{user}-{digest}.lock"
