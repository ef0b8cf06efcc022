"""The files of a pull: its record, its lock, and the unpacking of archives."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any

from pytest_tablebench.datasets.files import PULL_BUSY, PULL_RECORD, inside, pull_record, read_json
from pytest_tablebench.datasets.pull._upstream import File, Upstream, is_pattern, matches
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened

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
    record = pull_record(folder)
    return str(record.get("source")) if record.get("files") else None


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


CHUNK = 64 * 1024

MAX_UNPACKED = 4 * 1024**3
"""Most bytes of an unpacked archive."""

MAX_MEMBERS = 200_000
"""Most entries of an archive: ten times as many as the largest source has."""

MAX_HEAD = 64 * 1024
"""Most bytes of all headers of one entry."""

MAX_COMMON = 20
"""Most fields that an archive sets for all its entries; git sets one."""

MAX_NAME = 500
"""Most characters of the path of a required file."""


def unpack(archive: Path, chosen: Sequence[File], into: Path) -> tuple[list[str], str | None]:
    """Write the chosen files of a gzipped tarball below `into`.

    The archive's top folder is dropped from all names. A chosen file must be an ordinary file
    inside `into`.

    Returns the names written, sorted, and the commit that git recorded in the archive.

    Raises `DataError` for a damaged or hostile archive, and if a chosen file is missing.
    """
    names: set[str] = set()
    try:
        with _Unpacked(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in _members(archive, stream, tar):
                name = member.name.partition("/")[2]
                if member.isdir() or not any(matches(name, file.path) for file in chosen):
                    continue
                _check(archive, member, name, into)
                if name in names:
                    raise DataError(f"{archive}: contains {shortened(name, 80)} twice")
                names.add(name)
                stream.budget = member.size
                _write(tar, member, inside(into, name))
            comment = tar.pax_headers.get("comment", "")
            stream.budget = MAX_UNPACKED
            while stream.read(CHUNK):  # to the end, where the checksum is
                pass
    except (
        tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, RecursionError
    ) as error:  # fmt: skip
        why = shortened(str(error), 200)
        raise DataError(f"{archive}: damaged archive: {why}; pull again") from None
    except OSError as error:
        raise os_error(into, error) from None
    for file in chosen:
        if not any(matches(name, file.path) for name in names):
            kind = "nothing like" if is_pattern(file.path) else "no"
            raise DataError(f"{archive}: contains {kind} {file.path}")
    return sorted(names), comment if re.fullmatch(r"[0-9a-f]{40}", comment) else None


class _Unpacked(gzip.GzipFile):
    """The unpacked content of an archive.

    tarfile reads headers of any declared length into memory. So the caller sets `budget`, the
    number of bytes that may be read until it is set again. Skipped bytes do not count.
    """

    budget = MAX_HEAD

    def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes, fewer only at the end. Raises `DataError`."""
        if size is None or not 0 <= size <= self.budget:
            raise DataError(f"{self.name}: a header or the end is longer than any dataset's")
        self.budget -= size
        return super().read(size)


def _members(archive: Path, stream: _Unpacked, tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the entries of an archive one at a time, and check that their sizes are bounded."""
    count = 0
    while True:
        stream.budget = MAX_HEAD
        member = tar.next()
        if member is None:
            return
        tar.members.clear()  # type: ignore[attr-defined]
        count += 1
        if count > MAX_MEMBERS or len(tar.pax_headers) > MAX_COMMON:
            raise DataError(f"{archive}: contains more entries or fields than any dataset")
        if member.size < 0:
            raise tarfile.ReadError("an entry has a negative size")
        if member.offset_data + member.size > MAX_UNPACKED:
            raise DataError(f"{archive}: unpacks to more than any dataset contains")
        yield member


def _check(archive: Path, member: tarfile.TarInfo, name: str, into: Path) -> None:
    label = shortened(name, 80)
    if len(name) > MAX_NAME:
        raise DataError(f"{archive}: {label} is longer than {MAX_NAME} characters")
    if not member.isreg() or member.issparse():
        raise DataError(f"{archive}: {label} is not an ordinary file")
    if ".." in name.split("/") or "\\" in name or "\0" in name:
        raise DataError(f"{archive}: {label} is outside its folder")
    # Also apply the standard library's check, which Python has from 3.11.4 on.
    data_filter = getattr(tarfile, "data_filter", None)
    if data_filter is not None:
        data_filter(member, str(into))


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(member)
    if source is None:  # for the type checker: it is an ordinary file
        raise DataError(f"{path}: not in the archive")
    # "x": staging is empty, so a file exists only if names differ in upper and lower case alone.
    with source, path.open("xb") as target:
        shutil.copyfileobj(source, target, CHUNK)
