"""Compare the answers of a run with stored ones, and record new ones.

One file contains the answers of one suite and one model. Only the process that writes the run
writes it, never an xdist worker. A lock separates two runs at once. Entries are never removed from
a file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.datasets.case import case_ids
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshot_files import FOLDER, file_name, read_entries, write_entries
from pytest_tablebench.results.snapshots import (
    Change,
    Entry,
    change_of,
    changes_data,
    compare,
    write_changes,
)
from pytest_tablebench.util.names import printable, shortened

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.record import Record
    from pytest_tablebench.results.writer import RunWriter

_NARROWING = (
    *("datasets", *(axis.plural for axis in NAMED)),
    *("limit", "sample", "configs_per_example", "shard"),
)
"""Settings that leave out cases of a suite."""


@dataclass
class SnapshotFile:
    """The stored answers of one suite and model, compared with the answers of a run.

    `problem` is the reason if the file cannot be used; then it is neither compared nor written.
    """

    path: Path
    """The file to compare answers with."""
    recorded: Path
    """The file to record answers in; it differs from `path` if another model is compared."""
    model: str
    stored: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    """By entry the kind of its change, or `no_answer`."""
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
        data, stored = answer.encode(), self.stored.get(name)
        try:
            old = None if stored is None else Entry.decode(stored)
        except ValueError:  # damaged: the answer counts as new
            old = None
        kind = self.kinds[name] = compare(old, answer)
        self.changes.pop(name, None)
        self.pending[name] = data
        if old is not None and kind != "same":
            self.changes[name] = change_of(case_id, kind, self.path.name, name, (old, answer))
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
            except SettingsError as error:
                problems.append(f"nothing recorded: {error}")
            except OSError as error:
                why = error.strerror or shortened(str(error), 200)
                problems.append(f"{name}: nothing recorded: {why}")
        if damaged := sum(kind == "new" and key in self.stored for key, kind in self.kinds.items()):
            problems.append(f"{name}: {damaged} damaged entries were not compared")
        return problems


class SnapshotComparison:
    """Compares answers as they arrive, and records them at the end if requested.

    Args:
        root: the folder of pytest's configuration file.
        settings: the settings of the run.
        update: whether answers that differ are recorded.
        new_only: whether only answers without a snapshot are recorded.
    """

    def __init__(self, root: Path, settings: Settings, *, update: bool, new_only: bool) -> None:
        self.folder = root / FOLDER
        self.update = update or new_only
        self.problems: list[str] = []
        self._new_only = new_only
        self._settings = settings
        self._files: dict[tuple[str, str], SnapshotFile] = {}
        self._whole: set[str] = set()
        """Models that ran every case of every suite."""
        names = case_ids(settings.models, 20, digest=False)
        self._endings = names if len(settings.models) > 1 else {}

    def check(self) -> None:
        """Raise `SettingsError` if the snapshots cannot be read or recorded."""
        path = self.folder
        if path.exists() and not path.is_dir():
            raise SettingsError(f"--bench-snapshot: {path} is not a folder; move it away")
        folder = path if path.exists() else path.parent
        if self.update and not os.access(folder, os.W_OK | os.X_OK):
            raise SettingsError(
                f"--bench-snapshot: cannot write into {folder}; change its permissions"
            )

    def take(self, node_id: str, message: CaseMessage) -> Change | None:
        """Compare the answer of a finished case with the stored one, and return its change."""
        suite, _, test = node_id.partition("::")
        key = suite, message.model
        if key not in self._files:
            recorded = self.folder / file_name(*key)
            path = self.folder / file_name(suite, self._settings.snapshot_of or message.model)
            self._files[key] = SnapshotFile(path, recorded, message.model)
        answer = None if message.record is None else _answer(message.record.record)
        return self._files[key].note(self._name(test, message), message.case_id, answer)

    def _name(self, test: str, message: CaseMessage) -> str:
        """Return the test and the case, without the model, which is in the name of the file."""
        case_id, again = message.case_id, ""
        if message.repeat > 1:
            again = f"/r{message.repeat}"
            case_id = case_id.removesuffix(again)
        if message.model in self._endings:
            case_id = case_id.removesuffix(f"/{self._endings[message.model]}")
        function = test.partition("[")[0].replace("::", ".")
        return printable(f"{function}[{case_id}{again}]")

    @property
    def fails_changes(self) -> bool:
        """Whether changed answers fail their tests."""
        fails = self._settings.snapshot_changes == "fail"
        return fails and (self._new_only or not self.update)

    @property
    def has_failures(self) -> bool:
        """Whether changed answers have failed their tests."""
        return self.fails_changes and any(file.changes for file in self._files.values())

    @property
    def compared_nothing(self) -> bool:
        """Whether no answer of some model had a snapshot, and none is recorded."""
        return any(map(self.is_in_vain, self.models))

    @property
    def models(self) -> list[str]:
        """The models with answers, in the order of the run."""
        return [model for model in self._settings.models if self.files(model)]

    def files(self, model: str) -> list[SnapshotFile]:
        """Return the files of a model."""
        return [file for file in self._files.values() if file.model == model]

    def is_in_vain(self, model: str) -> bool:
        """Return whether no answer of a model had a snapshot, and none is recorded."""
        kinds = {kind for file in self.files(model) for kind in file.kinds.values()}
        return not self.update and kinds <= {"new", "no_answer"}

    def finish(
        self, writer: RunWriter, exit_code: int, *, is_selected: bool
    ) -> Mapping[str, dict[str, Any]]:
        """Record answers if requested, write `snapshots.json`, and return its content by model.

        Args:
            writer: the writer of the run.
            exit_code: pytest's exit code.
            is_selected: whether options of pytest selected some of the tests.
        """
        narrows = any(getattr(self._settings, name) is not None for name in _NARROWING)
        if not is_selected and not narrows and exit_code in {0, 1}:
            planned = writer.facts.get("cases", {})
            self._whole = {
                model
                for model, kept in writer.model_runs.items()
                if planned.get(model) is not None and len(kept.rows) >= planned[model]
            }
        for file in self._files.values():
            self.problems += file.finish(update=self.update, new_only=self._new_only)
        data_by_model = {}
        for model, kept in writer.model_runs.items():
            if not kept.path.is_dir() or not self.files(model):
                continue
            data_by_model[model] = self.data(model)
            try:
                write_changes(kept.path, data_by_model[model])
            except OSError as error:
                self.problems.append(f"snapshots.json cannot be written: {error.strerror}")
        return data_by_model

    def data(self, model: str) -> dict[str, Any]:
        """Return the content of a model's `snapshots.json`."""
        files = {file.path.name: file for file in self.files(model)}
        readable = {name: file for name, file in files.items() if file.problem is None}
        # A stored answer is unused if all cases of the suite ran and none has it.
        unused = {
            name: len(file.stored.keys() - file.kinds.keys())
            for name, file in readable.items()
            if model in self._whole
        }
        return changes_data(
            Counter(kind for file in readable.values() for kind in file.kinds.values()),
            [change for file in readable.values() for change in file.changes.values()],
            updated=self.update,
            files={
                name: {"stored": len(file.stored), "unused": unused.get(name)}
                for name, file in files.items()
            },
            problems=self.problems,
            compared_with=self._settings.snapshot_of,
        )


def _answer(record: Record) -> Entry | None:
    if record.outcome == "no_answer" or record.raw is None:
        return None
    return Entry(record.outcome, record.score, record.raw)
