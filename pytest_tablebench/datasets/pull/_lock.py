"""The record of a pull, `.tablebench-pull.json` beside the data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any

from pytest_tablebench.datasets.files import PULL_BUSY, PULL_RECORD, read_json
from pytest_tablebench.datasets.pull._upstream import Upstream
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.files import write_whole

SCHEMA = 1


class Unwritable(DataError):
    """The system does not let us write: a full disk, a missing permission."""


@dataclass
class Lock:
    """What was downloaded from where; digests of later downloads must equal these.

    Attributes:
        source, revision, pinned: as in the table of sources.
        endpoint: the server that was really asked: the source's own, or a mirror.
        commit: the commit the server said it served, where it says so.
        time: when the first file was recorded, UTC, ISO 8601.
        complete: whether every file is there.
        by_hand: files that were found in place and never downloaded.
        archive: SHA-256 of a downloaded archive until its files are all in place.
        files: SHA-256 by path inside the folder.
    """

    source: str
    revision: str
    pinned: bool
    licence: dict[str, str]
    endpoint: str
    time: str
    commit: str | None = None
    complete: bool = False
    by_hand: list[str] = field(default_factory=list)
    archive: str | None = None
    files: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Put the record into its folder, whole or not at all."""
        content = {"schema": SCHEMA, **asdict(self)}
        write_text(folder / PULL_RECORD, json.dumps(content, indent=1) + "\n")


def read_lock(folder: Path, upstream: Upstream) -> Lock | None:
    """Return the record of earlier pulls, None without one.

    Raises `DataError` when it cannot be read, is a newer version's, or belongs to another
    source or revision than the one that would be pulled now.
    """
    path = folder / PULL_RECORD
    if not path.exists():
        return None
    content = read_json(path)
    if isinstance(content, dict) and isinstance(content.get("schema"), int):
        if content["schema"] > SCHEMA:
            raise DataError(
                f"{path}: written by a newer version (schema {content['schema']}, this one reads "
                f"{SCHEMA}); update pytest-tablebench, or move {folder} away and pull again"
            )
        lock = _parse(content)
        if lock is not None:
            if (lock.source, lock.revision) != (upstream.home, upstream.revision):
                raise DataError(
                    f"{folder} was pulled from {lock.source} at {lock.revision}, wanted is "
                    f"{upstream.home} at {upstream.revision}; move {folder} away and pull again"
                )
            return lock
    raise DataError(f"{path}: no record of a pull; move {folder} away and pull again")


def recorded_source(folder: Path) -> str | None:
    """Return the page of the source that a folder has files of; None where it has none yet."""
    path = folder / PULL_RECORD
    content = read_json(path) if path.exists() else None
    if not isinstance(content, dict) or not content.get("files"):
        return None
    return str(content.get("source"))


def _parse(content: dict[str, Any]) -> Lock | None:
    fields = {name: value for name, value in content.items() if name != "schema"}
    try:
        lock = Lock(**fields)
    except TypeError:
        return None
    sound = isinstance(lock.files, dict) and all(
        isinstance(digest, str) and _stays_inside(name) for name, digest in lock.files.items()
    )
    return lock if sound and isinstance(lock.by_hand, list) else None


def _stays_inside(name: str) -> bool:
    path = PurePath(name)
    return not (path.is_absolute() or path.drive or ".." in path.parts or "\0" in name)


def write_text(path: Path, text: str) -> None:
    """Write a small file beside its place and move it there; `DataError` when that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, durable=True)
    except OSError as error:
        raise os_error(path, error) from None


def os_error(path: Path, error: OSError) -> Unwritable:
    """Return the error for a file that cannot be written, such as on a full disk."""
    return Unwritable(f"{path}: cannot be written: {error.strerror or error}")


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Keep other pulls out of the folder; `DataError` when one is at work there.

    The system gives the lock back when its process ends, however that happens.
    """
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        guard = FileLock(folder / PULL_BUSY)
        guard.acquire(timeout=0)
    except Timeout:
        raise DataError(f"{folder}: another `tablebench pull` is at work there") from None
    except OSError as error:
        raise os_error(folder, error) from None
    try:
        yield
    finally:
        guard.release()
