"""The record of a pull, `.tablebench-pull.json` in the dataset's folder."""

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
    """A file cannot be written, because of a full disk or a missing permission."""


@dataclass
class Lock:
    """The files of a pull and their source; digests of later downloads must equal these.

    Attributes:
        source, revision, pinned: the source's page, and its fields.
        endpoint: the address of the server that was used.
        commit: the commit that the server states, or None.
        time: when the first file was recorded, UTC, ISO 8601.
        complete: whether all files are in place.
        by_hand: files that the user put in place.
        archive: SHA-256 of a downloaded archive until all its files are in place.
        files: SHA-256 by path in the folder.
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
        """Write the record atomically."""
        content = {"schema": SCHEMA, **asdict(self)}
        write_text(folder / PULL_RECORD, json.dumps(content, indent=1) + "\n")


def read_lock(folder: Path, upstream: Upstream) -> Lock | None:
    """Return the record of earlier pulls, or None.

    Raises `DataError` if it cannot be read, was written by a newer version, or belongs to another
    source or revision than `upstream`.
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
                    f"{folder} was pulled from {lock.source} at {lock.revision}, not from "
                    f"{upstream.home} at {upstream.revision}; move {folder} away and pull again"
                )
            return lock
    raise DataError(f"{path}: not a record of a pull; move {folder} away and pull again")


def recorded_source(folder: Path) -> str | None:
    """Return the page of the source of a folder's files, or None if it has no files yet."""
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
    """Write a small file atomically. Raises `Unwritable`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, durable=True)
    except OSError as error:
        raise os_error(path, error) from None


def os_error(path: Path, error: OSError) -> Unwritable:
    """Return the error for a file that cannot be written."""
    return Unwritable(f"{path}: cannot be written: {error.strerror or error}")


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Lock the folder. Raises `DataError` if another pull has the lock.

    The operating system releases the lock when the process ends for any reason.
    """
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        guard = FileLock(folder / PULL_BUSY)
        guard.acquire(timeout=0)
    except Timeout:
        raise DataError(f"{folder}: another `tablebench pull` is running there") from None
    except OSError as error:
        raise os_error(folder, error) from None
    try:
        yield
    finally:
        guard.release()
