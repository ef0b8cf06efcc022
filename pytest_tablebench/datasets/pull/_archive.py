"""The wanted files of a downloaded archive, unpacked with suspicion."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from pytest_tablebench.datasets._files import inside
from pytest_tablebench.datasets.pull._lock import os_error
from pytest_tablebench.datasets.pull._upstream import File, is_pattern, matches
from pytest_tablebench.errors import DataError
from pytest_tablebench.names import printable

__all__ = ["MAX_UNPACKED", "unpack"]

MAX_UNPACKED = 4 * 1024**3
"""Bytes of an unpacked archive that are looked at, wanted or not."""

MAX_MEMBERS = 1_000_000
CHUNK = 1024 * 1024


def unpack(
    archive: Path, wanted: Sequence[File], into: Path, *, max_bytes: int = MAX_UNPACKED
) -> tuple[list[str], str | None]:
    """Write the wanted files of a gzipped tarball below `into`.

    The archive's one top folder is dropped from all names. What is not wanted is never
    written; what is wanted must be an ordinary file that stays below `into`.

    Returns the names written, sorted, and the commit that git noted in the archive.

    Raises `DataError` for a damaged or hostile archive, and where something wanted is missing.
    """
    names: set[str] = set()
    try:
        with gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for count, member in enumerate(tar, start=1):
                if count > MAX_MEMBERS or member.offset_data + member.size > max_bytes:
                    raise DataError(f"{archive}: unpacks to more than any dataset holds")
                name = member.name.partition("/")[2]
                if not _is_wanted(name, wanted) or member.isdir():
                    continue
                _check(archive, member, name, into)
                if name in names:
                    raise DataError(f"{archive}: holds {printable(name, 80)} twice")
                names.add(name)
                _write(tar, member, inside(into, name))
            commit = tar.pax_headers.get("comment")
            # The checksum of the whole stands at its very end, behind what a tarball needs.
            while stream.read(CHUNK):
                if stream.tell() > max_bytes:
                    raise DataError(f"{archive}: unpacks to more than any dataset holds")
    except (tarfile.TarError, EOFError, zlib.error, UnicodeError, ValueError) as error:
        raise DataError(f"{archive}: no sound archive: {error}; pull again") from None
    except OSError as error:
        # gzip reports damage as an OSError without a number.
        if error.errno is None:
            raise DataError(f"{archive}: no sound archive: {error}; pull again") from None
        raise os_error(into, error) from None
    for file in wanted:
        if not any(matches(name, file.path) for name in names):
            kind = "nothing like" if is_pattern(file.path) else "no"
            raise DataError(f"{archive}: holds {kind} {file.path}")
    return sorted(names), commit


def _is_wanted(name: str, wanted: Sequence[File]) -> bool:
    return any(matches(name, file.path) for file in wanted)


def _check(archive: Path, member: tarfile.TarInfo, name: str, into: Path) -> None:
    shown = printable(name, 80)
    if not member.isreg() or member.issparse():
        raise DataError(f"{archive}: {shown} is not an ordinary file")
    if ".." in name.split("/") or "\\" in name or "\0" in name:
        raise DataError(f"{archive}: {shown} leads out of its folder")
    # The standard library's own judgement as well, where this Python has it (3.11.4).
    judge = getattr(tarfile, "data_filter", None)
    if judge is not None:
        judge(member, str(into))


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(member)
    if source is None:  # cannot be: it is an ordinary file
        raise DataError(f"{path}: not in the archive")
    # "x": staging is empty, so an existing file can only be a trick with upper and lower case.
    with source, path.open("xb") as target:
        shutil.copyfileobj(source, target)
