"""Read and write stored answers in syrupy's Amber files, one file per suite and model."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pytest_tablebench.datasets.case import case_ids
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshots import Change, Entry, Kind, change_of, compare
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import printable, slug

if TYPE_CHECKING:
    from syrupy.extensions.amber import AmberSnapshotExtension

    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.results.message import CaseMessage

FOLDER = "snapshots"
"""The folder of the files, next to pytest's configuration file (in pytest's root folder)."""

LOCK_S = 60.0
"""The time to wait for another run that is writing the same file, in seconds."""


@cache
def amber_extension() -> type[AmberSnapshotExtension]:
    """Return syrupy's Amber extension with a serializer that does not change text."""
    from syrupy.extensions.amber import AmberDataSerializer, AmberSnapshotExtension

    class AnswerSerializer(AmberDataSerializer):
        """Returns text unchanged, since `Entry.encode` has escaped it."""

        VERSION = "tablebench-1"

        @classmethod
        def serialize(cls, data: Any, **_: Any) -> str:
            return str(data)

    class AnswerExtension(AmberSnapshotExtension):
        """Compares answers by text and verdict."""

        serializer_class = AnswerSerializer

        def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
            old, new = Entry.decode(str(snapshot_data)), Entry.decode(str(serialized_data))
            return compare(old, new) == "same"

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


class SnapshotPlaces:
    """The files of a run's stored answers, and the names of their entries.

    Args:
        root: the folder of pytest's configuration file.
        settings: the settings of the run.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        self.folder = root / FOLDER
        self._compared = settings.snapshot_of
        names = case_ids(settings.models, 20, digest=False)
        self._endings = names if len(settings.models) > 1 else {}

    def load(self, suite: str, model: str) -> SnapshotFile:
        """Read the stored answers to compare a suite's and model's answers with."""
        recorded = self.folder / file_name(suite, model)
        if self._compared is None:
            return SnapshotFile.load(recorded, model)
        compared = self.folder / file_name(suite, self._compared)
        return SnapshotFile.load(compared, model, recorded)

    def entry_name(self, test: str, message: CaseMessage) -> str:
        """Return the test and the case, without the model, which is in the name of the file."""
        case_id, again = message.case_id, ""
        if message.repeat > 1:
            again = f"/r{message.repeat}"
            case_id = case_id.removesuffix(again)
        ending = self._endings.get(message.model)
        if ending is not None:
            case_id = case_id.removesuffix(f"/{ending}")
        function = test.partition("[")[0].replace("::", ".")
        return printable(f"{function}[{case_id}{again}]")


def answer_of(message: CaseMessage) -> Entry | None:
    """Return a case's answer; None without one."""
    if message.record is None:
        return None
    record = message.record.record
    if record.outcome == "no_answer" or record.raw is None:
        return None
    return Entry(record.outcome, record.score, record.raw)


@dataclass
class SnapshotFile:
    """The stored answers of one suite and model, compared with the answers of a run.

    `problem` is the reason if the file cannot be used; then it is neither compared nor written.
    """

    path: Path
    """The file to compare answers with."""
    model: str
    recorded: Path
    """The file to record answers in; it differs from `path` if another model is compared."""
    stored: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    """Entries whose case had no answer."""
    pending: dict[str, str] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    """Entries with an answer, if the file cannot be used."""
    damaged: int = 0
    problem: str | None = None

    @classmethod
    def load(cls, path: Path, model: str, recorded: Path | None = None) -> SnapshotFile:
        """Read a file; a missing file is empty."""
        file = cls(path, model, recorded or path)
        try:
            file.stored = read_entries(path)
        except SettingsError as error:
            file.problem = str(error)
        return file

    def note(self, name: str, case_id: str, answer: Entry) -> Kind | None:
        """Compare an answer with the stored one; the last answer under a name counts."""
        if self.problem is not None:
            self.unread.add(name)
            return None
        data, recorded = answer.encode(), self.stored.get(name)
        self.changes.pop(name, None)
        self.pending.pop(name, None)
        old = None
        if recorded is not None and recorded != data:
            try:
                old = Entry.decode(recorded)
            except ValueError:
                self.damaged += name not in self.kinds  # the answer counts as new
        kind = "same" if recorded == data else compare(old, answer)
        self.kinds[name] = kind
        if recorded != data or self.recorded != self.path:
            self.pending[name] = data
        if old is not None and kind != "same":
            both = old, answer
            self.changes[name] = change_of(case_id, kind, self.path.name, name, both)
        return kind

    def unused(self) -> int:
        """Return the number of entries without a case in this run."""
        return len(self.stored.keys() - self.kinds.keys() - self.silent)

    def save(self, *, new_only: bool) -> None:
        """Record differing answers; keep other entries. Raises `OSError`, `SettingsError`."""
        if not self.pending or self.problem is not None:
            return
        recorded = self.stored if self.recorded == self.path else read_entries(self.recorded)
        chosen = {
            name: data
            for name, data in self.pending.items()
            if not new_only or name not in recorded
        }
        if chosen:
            write_entries(self.recorded, chosen)


def read_entries(path: Path) -> dict[str, str]:
    """Return a file's entries by name, as stored. Raises `SettingsError` for a damaged file."""
    from syrupy.extensions.amber.serializer import MalformedAmberFile

    try:
        collection = amber_extension()().read_snapshot_collection(str(path))
    except (OSError, UnicodeDecodeError, MalformedAmberFile) as error:
        raise SettingsError(
            f"{path.name} cannot be read ({printable(str(error), 200)}); restore it, or delete "
            f"it and record again"
        ) from None
    if collection.tainted:
        raise SettingsError(
            f"{path.name} was not written by this version of pytest-tablebench; restore it, or "
            f"delete it and record again"
        )
    return {entry.name: str(entry.data) for entry in collection}


def write_entries(path: Path, entries: dict[str, str]) -> None:
    """Merge entries into a file atomically, one process at a time.

    Raises `OSError`, also after waiting `LOCK_S` seconds for another run, and `SettingsError` if
    the file has become unusable.
    """
    from filelock import FileLock
    from syrupy.data import Snapshot, SnapshotCollection

    collection = SnapshotCollection(location=str(path))
    for name, data in entries.items():
        collection.add(Snapshot(name=name, data=data))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Syrupy leaves its lock file behind, and removing it is safe only if no other process waits
    # for it. Hence another lock around it, whose file may stay in the temporary folder.
    with FileLock(_lock_path(path), timeout=LOCK_S):
        if path.exists():
            read_entries(path)
        try:
            # With `file_lock` syrupy writes a new file and replaces the old one.
            amber_extension().serializer_class.write_file(collection, merge=True, file_lock=True)
        finally:
            path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def _lock_path(path: Path) -> Path:
    user = os.getuid() if hasattr(os, "getuid") else ""
    digest = hashlib.sha256(os.fsencode(real_path(path))).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"tablebench-snapshot-{user}-{digest}.lock"
