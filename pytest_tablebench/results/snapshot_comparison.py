"""Compare the answers of a run with stored ones, and record new ones.

One file, in the format of syrupy's Amber extension, contains the answers of one suite and one
model. Only the process that writes the run writes it, never an xdist worker. A lock separates two
runs at once. Entries are never removed from a file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from syrupy.data import Snapshot, SnapshotCollection
from syrupy.extensions.amber import AmberDataSerializer
from syrupy.extensions.amber.serializer import MalformedAmberFile

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.datasets.case import case_ids
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshots import (
    Change,
    Entry,
    change_of,
    changes_data,
    compare,
    write_changes,
)
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import printable, shortened, slug

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.writer import RunWriter

FOLDER = "snapshots"
"""The folder of the files, next to pytest's configuration file (in pytest's root folder)."""

LOCK_S = 60.0
"""The time to wait for another run that is writing the same file, in seconds."""

_NARROWING = (
    *("datasets", *(axis.plural for axis in NAMED)),
    *("limit", "sample", "configs_per_example", "shard"),
)
"""Settings that leave out cases of a suite."""


class AnswerSerializer(AmberDataSerializer):
    """Syrupy's Amber format with a version of its own; `Entry.encode` escapes the entries."""

    VERSION = "tablebench-1"


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
    names = slug(f"{path}/" if "." in path else path.replace("/", "."), 80), slug(model, 80)
    # Some file systems ignore case, so a name with capitals gets a digest.
    caseless = (
        name if name == name.lower() else f"{name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        for name in names
    )
    return f"{'--'.join(caseless)}.ambr"


def read_entries(path: Path) -> dict[str, str]:
    """Return a file's entries by name, as stored. Raises `SettingsError` for a damaged file."""
    try:
        collection = AnswerSerializer.read_file(str(path))
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
    path.parent.mkdir(parents=True, exist_ok=True)
    # Syrupy would leave its lock file in the folder of the snapshots.
    user = os.getuid() if hasattr(os, "getuid") else ""
    digest = hashlib.sha256(os.fsencode(real_path(path))).hexdigest()[:16]
    lock = Path(tempfile.gettempdir()) / f"tablebench-snapshot-{user}-{digest}.lock"
    with FileLock(lock, timeout=LOCK_S):
        stored = read_entries(path)
        collection = SnapshotCollection(location=str(path))
        for name, data in (entries | stored if new_only else stored | entries).items():
            collection.add(Snapshot(name=name, data=data))
        # With `file_lock` syrupy writes a new file and replaces the old one.
        AnswerSerializer.write_file(collection, file_lock=True, _already_locked=True)


@dataclass
class SnapshotFile:
    """The stored answers of one suite and model, compared with the answers of a run.

    `path` is the file to compare with, `recorded` the one to record in, which differs if another
    model is compared. `kinds` has the kind of each entry's change, or `no_answer`. `problem` is
    why the file cannot be used; then it is neither compared nor written.
    """

    path: Path
    recorded: Path
    stored: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    problem: str | None = None

    def __post_init__(self) -> None:
        try:
            self.stored = read_entries(self.path)
        except SettingsError as error:
            self.problem = str(error)

    def note(self, name: str, case_id: str, answer: Entry | None) -> Change | None:
        """Compare an answer with the stored one, and return its change.

        The last answer under a name counts.
        """
        if answer is None:
            self.kinds.setdefault(name, "no_answer")
            return None
        try:
            old = Entry.decode(self.stored.get(name, ""))
        except ValueError:  # missing or damaged: the answer counts as new
            old = None
        self.kinds[name] = compare(old, answer)
        self.pending[name] = answer.encode()
        self.changes.pop(name, None)
        if old is not None and self.kinds[name] != "same":
            self.changes[name] = change_of(case_id, self.path.name, name, old, answer)
        return self.changes.get(name)

    def finish(self, *, update: bool, new_only: bool) -> list[str]:
        """Record differing answers if requested; keep other entries. Return all problems."""
        if self.problem is not None:
            return [self.problem]
        name, problems = self.path.name, []
        is_recorded = self.recorded == self.path and self.pending.items() <= self.stored.items()
        if update and not is_recorded:
            try:
                write_entries(self.recorded, self.pending, new_only=new_only)
            except (OSError, SettingsError) as error:
                problems.append(f"{name}: nothing recorded: {shortened(str(error), 300)}")
        if damaged := sum(kind == "new" and key in self.stored for key, kind in self.kinds.items()):
            problems.append(f"{name}: {damaged} damaged entries were not compared")
        return problems


class SnapshotComparison:
    """The comparison of a run's answers as they arrive; at the end some are recorded if requested.

    `update` records all answers that differ, `new_only` those without a snapshot. `root` is the
    folder of pytest's configuration file.
    """

    def __init__(self, root: Path, settings: Settings, *, update: bool, new_only: bool) -> None:
        self.folder = root / FOLDER
        self.update = update or new_only
        self.problems: list[str] = []
        self.fails_changes = settings.snapshot_changes == "fail" and (new_only or not update)
        self._new_only = new_only
        self._settings = settings
        self.files: dict[str, dict[str, SnapshotFile]] = {model: {} for model in settings.models}
        """The files by model, in the order of the run, and by suite."""
        self._whole: set[str] = set()  # models that ran every case of every suite
        names = case_ids(settings.models, 20, digest=False)
        self._endings = names if len(settings.models) > 1 else {}

    def take(self, node_id: str, message: CaseMessage) -> Change | None:
        """Compare the answer of a finished case with the stored one, and return its change."""
        suite, _, test = node_id.partition("::")
        files = self.files.setdefault(message.model, {})
        if suite not in files:
            path = self.folder / file_name(suite, self._settings.snapshot_of or message.model)
            files[suite] = SnapshotFile(path, self.folder / file_name(suite, message.model))
        record, answer = message.record and message.record.record, None
        if record and record.outcome != "no_answer" and record.raw is not None:
            answer = Entry(record.outcome, record.score, record.raw)
        return files[suite].note(self._name(test, message), message.case_id, answer)

    def _name(self, test: str, message: CaseMessage) -> str:
        """Return the test and the case, without the model, which is in the name of the file."""
        again = f"/r{message.repeat}" if message.repeat > 1 else ""
        case_id = message.case_id.removesuffix(again)
        if message.model in self._endings:
            case_id = case_id.removesuffix(f"/{self._endings[message.model]}")
        function = test.partition("[")[0].replace("::", ".")
        return printable(f"{function}[{case_id}{again}]")

    @property
    def has_failures(self) -> bool:
        """Whether changed answers have failed their tests."""
        return self.fails_changes and any(
            file.changes for files in self.files.values() for file in files.values()
        )

    @property
    def compared_nothing(self) -> bool:
        """Whether no answer of some model had a snapshot, and none is recorded."""
        return any(map(self.is_in_vain, self.models))

    @property
    def models(self) -> list[str]:
        """The models with answers, in the order of the run."""
        return [model for model, files in self.files.items() if files]

    def is_in_vain(self, model: str) -> bool:
        """Return whether no answer of a model had a snapshot, and none is recorded."""
        kinds = {kind for file in self.files[model].values() for kind in file.kinds.values()}
        return not self.update and kinds <= {"new", "no_answer"}

    def finish(
        self, writer: RunWriter, exit_code: int, *, is_selected: bool
    ) -> Mapping[str, dict[str, Any]]:
        """Record answers if requested, write `snapshots.json`, and return its content by model.

        `is_selected` says whether options of pytest selected some of the tests.
        """
        narrows = any(getattr(self._settings, name) is not None for name in _NARROWING)
        if not is_selected and not narrows and exit_code in {0, 1}:
            planned = writer.facts.get("cases", {})
            self._whole = {
                model
                for model, kept in writer.model_runs.items()
                if planned.get(model) is not None and len(kept.rows) >= planned[model]
            }
        for files in self.files.values():
            for file in files.values():
                self.problems += file.finish(update=self.update, new_only=self._new_only)
        runs = {
            model: kept.path for model, kept in writer.model_runs.items() if self.files.get(model)
        }
        data = {model: self.data(model) for model, path in runs.items() if path.is_dir()}
        try:
            for model, content in data.items():
                write_changes(runs[model], content)
        except OSError as error:
            self.problems.append(f"snapshots.json cannot be written: {error.strerror}")
        return data

    def data(self, model: str) -> dict[str, Any]:
        """Return the content of a model's `snapshots.json`."""
        files = self.files[model].values()
        readable = [file for file in files if file.problem is None]
        counters: dict[str, dict[str, int | None]] = {}
        for file in files:
            # A stored answer is unused if all cases of the suite ran and none has it.
            is_counted = file.problem is None and model in self._whole
            unused = len(file.stored.keys() - file.kinds.keys()) if is_counted else None
            counters[file.path.name] = {"stored": len(file.stored), "unused": unused}
        return changes_data(
            Counter(kind for file in readable for kind in file.kinds.values()),
            [change for file in readable for change in file.changes.values()],
            updated=self.update,
            files=counters,
            problems=self.problems,
            compared_with=self._settings.snapshot_of,
        )
