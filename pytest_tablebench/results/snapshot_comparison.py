"""Compare the answers of a run with stored ones, and record new ones.

One file contains the answers of one suite and one model. Only the process that writes the run
reads and writes it, never an xdist worker. A lock separates two runs at once. Entries are never
removed from a file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshot_files import SnapshotFile, SnapshotPlaces, answer_of
from pytest_tablebench.results.snapshots import changes_data, write_changes
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.writer import RunWriter

_NARROWING = (
    *("datasets", *(axis.plural for axis in NAMED)),
    *("limit", "sample", "configs_per_example", "shard"),
)
"""Settings that leave out cases of a suite."""


class SnapshotComparison:
    """Compares answers as they arrive, and records them at the end if requested.

    Args:
        places: the files of the stored answers.
        settings: the settings of the run.
        update: whether answers that differ are recorded.
        new_only: whether only answers without a snapshot are recorded.
    """

    def __init__(
        self, places: SnapshotPlaces, settings: Settings, *, update: bool, new_only: bool
    ) -> None:
        self.update = update or new_only
        self.problems: list[str] = []
        self._new_only = new_only
        self._places = places
        self._settings = settings
        self._files: dict[tuple[str, str], SnapshotFile] = {}
        self._whole: set[str] = set()
        """Models that ran every case of every suite."""
        self._check()

    def _check(self) -> None:
        """Raise `SettingsError` if the snapshots cannot be read or recorded."""
        path = self._places.folder
        if path.exists() and not path.is_dir():
            raise SettingsError(f"--bench-snapshot: {path} is not a folder; move it away")
        folder = path if path.exists() else path.parent
        if self.update and not os.access(folder, os.W_OK | os.X_OK):
            raise SettingsError(
                f"--bench-snapshot: cannot write into {folder}; change its permissions"
            )

    def take(self, suite: str, test: str, message: CaseMessage) -> None:
        """Compare the answer of a finished case with the stored one.

        Args:
            suite: the path in the test's node id.
            test: the rest of the node id.
            message: the message of the case.
        """
        key = suite, message.model
        if key not in self._files:
            self._files[key] = self._places.load(*key)
        file, name = self._files[key], self._places.entry_name(test, message)
        answer = answer_of(message)
        if answer is not None:
            file.silent.discard(name)
            file.note(name, message.case_id, answer)
        elif name not in file.kinds:
            file.silent.add(name)

    @property
    def has_failures(self) -> bool:
        """Whether changed answers have failed their tests."""
        fails = self._settings.snapshot_changes == "fail" and (self._new_only or not self.update)
        return fails and any(file.changes for file in self._files.values())

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
        return not self.update and kinds <= {"new"}

    def finish(
        self, writer: RunWriter, exit_code: int, *, is_selected: bool
    ) -> Mapping[str, dict[str, Any]]:
        """Record answers if requested, write `snapshots.json`, and return its content by model.

        Args:
            writer: the writer of the run.
            exit_code: pytest's exit code.
            is_selected: whether options of pytest selected some of the tests.
        """
        if not is_selected and exit_code in {0, 1}:
            self._whole = self._whole_models(writer)
        for file in self._files.values():
            if self.update:
                self._save(file)
            if file.problem is not None:
                self.problems.append(file.problem)
            if file.damaged:
                self.problems.append(
                    f"{file.path.name}: {file.damaged} damaged entries were not compared"
                )
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

    def _whole_models(self, writer: RunWriter) -> set[str]:
        """Return the models that ran every case of every suite.

        Only then is an entry without a case unused.
        """
        if any(getattr(self._settings, name) is not None for name in _NARROWING):
            return set()
        planned = writer.facts.get("cases", {})
        return {
            model
            for model, kept in writer.model_runs.items()
            if planned.get(model) is not None and len(kept.rows) >= planned[model]
        }

    def _save(self, file: SnapshotFile) -> None:
        try:
            file.save(new_only=self._new_only)
        except SettingsError as error:
            self.problems.append(f"nothing recorded: {error}")
        except OSError as error:
            why = error.strerror or printable(str(error), 200)
            self.problems.append(f"{file.path.name}: nothing recorded: {why}")

    def data(self, model: str) -> dict[str, Any]:
        """Return the content of a model's `snapshots.json`."""
        files, is_whole = self.files(model), model in self._whole
        counts: Counter[str] = Counter()
        for file in files:
            counts.update(file.kinds.values())
            counts["no_answer"] += len(file.silent)
        return changes_data(
            counts,
            [change for file in files for change in file.changes.values()],
            compared_with=self._settings.snapshot_of,
            updated=self.update,
            files={
                file.path.name: {
                    "stored": len(file.stored),
                    "unused": file.unused() if is_whole and file.problem is None else None,
                }
                for file in files
            },
            problems=self.problems,
        )
