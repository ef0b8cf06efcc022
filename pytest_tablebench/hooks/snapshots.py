"""Pytest hooks that compare answers with stored ones, in syrupy's Amber files.

One file holds the answers of one suite and one model. It is read and written by the process
that keeps the run, never by an xdist worker: answers arrive there anyway, so that no two
processes of a run write the same file. Two runs at once take turns by a lock.

A changed answer is a signal of its own: it changes no test's outcome and no exit code, unless
`--bench-snapshot-changes=fail` asks for that (`snapshot_checks.py`). Nothing is ever removed from
a file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.hooks.snapshot_files import (
    FOLDER,
    SnapshotFile,
    SnapshotPlaces,
    answer_of,
)
from pytest_tablebench.results.snapshots import (
    changes_data,
    diff_line,
    excerpt,
    shorten,
    word_diff,
    write_changes,
)
from pytest_tablebench.session.command_line import selected_by
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.writer import RunWriter
    from pytest_tablebench.session.base import RunKeeper

__all__ = ["SnapshotHooks"]

SHOWN = 10
"""Changes that the terminal shows; all are in `snapshots.json`."""

_COLORS = {"-": {"red": True}, "+": {"green": True}, "=": {}}


class SnapshotHooks:
    """Registered by `--bench-snapshot` where the run is kept.

    Its hook for reports comes before that of `ReportingHooks`, with the case still on the report;
    its end is called by those, so that `snapshots.json` is in the run folder when the page is
    written.
    """

    def __init__(self, config: pytest.Config, session: RunKeeper) -> None:
        self._config = config
        self._session = session
        self._settings = settings = session.settings
        self._places = SnapshotPlaces(config.rootpath, settings)
        self._folder = self._places.folder
        # Asked for by name, so that it works without syrupy's plugin as well.
        self._new_only = bool(config.getoption("--snapshot-update-new-only", False))
        self.update = self._new_only or bool(config.getoption("--snapshot-update", False))
        self._files: dict[tuple[str, str], SnapshotFile] = {}
        self._problems: list[str] = []
        self._whole: set[str] = set()
        self._check()

    def _check(self) -> None:
        """Raise `SettingsError` for what could not work at the end either."""
        dirname = self._config.getoption("--snapshot-dirname", "")
        if Path(str(dirname)).name == FOLDER:
            raise SettingsError(
                f"--snapshot-dirname: {FOLDER} is where --bench-snapshot keeps answers, and "
                f"syrupy would take them for leftovers of its own; choose another name"
            )
        if self._folder.exists() and not self._folder.is_dir():
            raise SettingsError(f"--bench-snapshot: {self._folder} is no folder; move it away")
        folder = self._folder if self._folder.exists() else self._folder.parent
        if self.update and not os.access(folder, os.W_OK | os.X_OK):
            raise SettingsError(f"--bench-snapshot: cannot write into {folder}; change its rights")

    @property
    def _writer(self) -> RunWriter:
        return self._session.run.writer

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Compare the answer of a finished case with the stored one."""
        message: CaseMessage | None = report.__dict__.get("tablebench")
        if message is None:
            return
        suite, _, test = report.nodeid.partition("::")
        model = message.model
        file = self._files.get((suite, model))
        if file is None:
            file = self._files[suite, model] = self._places.load(suite, model)
        name = self._places.entry_name(test, message)
        answer = answer_of(message)
        if answer is None:
            if name not in file.kinds:
                file.silent.add(name)
            return
        file.silent.discard(name)
        file.note(name, message.case_id, answer)

    @property
    def has_failures(self) -> bool:
        """Whether changed answers have failed their tests."""
        fails = self._settings.snapshot_changes == "fail" and (self._new_only or not self.update)
        return fails and any(file.changes for file in self._files.values())

    @property
    def compared_nothing(self) -> bool:
        """Whether a model's answers were to be compared, and none had a snapshot."""
        return any(self._in_vain(files) for files in map(self._of, self._settings.models) if files)

    def _in_vain(self, files: list[SnapshotFile]) -> bool:
        return not self.update and all(set(file.kinds.values()) <= {"new"} for file in files)

    def finish(self, exit_code: int) -> dict[str, dict[str, Any]]:
        """Record where asked to, and write `snapshots.json` into the run folders.

        Returns what it holds, by model. Who closes the run calls this first: its page shows what
        changed.
        """
        self._whole = self._ran_whole(exit_code)
        for file in self._files.values():
            if self.update:
                self._save(file)
            if file.problem is not None:
                self._problems.append(file.problem)
            if file.damaged:
                self._problems.append(
                    f"{file.path.name}: {file.damaged} damaged entries, compared with nothing"
                )
        writer, data_by_model = self._writer, {}
        for model, kept in writer.model_runs.items():
            if not kept.path.is_dir() or not self._of(model):
                continue
            data_by_model[model] = self._data(self._of(model), whole=model in self._whole)
            try:
                write_changes(kept.path, data_by_model[model])
            except OSError as error:
                self._problems.append(f"snapshots.json cannot be written: {error.strerror}")
        return data_by_model

    def _save(self, file: SnapshotFile) -> None:
        try:
            file.save(new_only=self._new_only)
        except SettingsError as error:
            self._problems.append(f"nothing recorded: {error}")
        except OSError as error:
            why = error.strerror or printable(str(error), 200)
            self._problems.append(f"{file.path.name}: nothing recorded: {why}")

    def _of(self, model: str) -> list[SnapshotFile]:
        return [file for file in self._files.values() if file.model == model]

    def _ran_whole(self, exit_code: int) -> set[str]:
        """Return the models of which every case of every suite was run.

        Only then is an entry without a case unused; a shard, a sample or a selection cannot tell.
        """
        selected = selected_by(self._config) or self._config.getoption("markexpr", None)
        narrowed = any(
            getattr(self._settings, name, None) is not None
            for name in (
                "datasets",
                "serializers",
                "perturbations",
                "strategies",
                "modalities",
                "limit",
                "sample",
                "configs_per_example",
                "shard",
            )
        )
        writer = self._writer
        if selected or narrowed or exit_code not in {0, 1}:
            return set()
        planned = writer.facts.get("cases", {})
        return {
            model
            for model, kept in writer.model_runs.items()
            if planned.get(model) is not None and len(kept.rows) >= planned[model]
        }

    def _data(self, files: list[SnapshotFile], *, whole: bool) -> dict[str, Any]:
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
                    "unused": file.unused() if whole and file.problem is None else None,
                }
                for file in files
            },
            problems=self._problems,
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """Show the counts and the first changes, behind the table of the run."""
        yield
        if not self._files:
            return
        terminalreporter.write_sep("=", "tablebench: snapshots of answers")
        left = SHOWN
        for model in self._settings.models:
            files = self._of(model)
            if not files:
                continue
            data = self._data(files, whole=model in self._whole)
            line = self._vain_line(files) if self._in_vain(files) else self._counts_line(data)
            terminalreporter.write_line(f"{self._title(model)}: {line}")
            for change in data["changes"][:left]:
                _write_change(terminalreporter, change)
            more = len(data["changes"]) - left
            left = max(0, left - len(data["changes"]))
            if more > 0:
                terminalreporter.write_line(
                    f"not shown: {more} more changed; all are in snapshots.json"
                )
        for problem in dict.fromkeys(self._problems):
            terminalreporter.write_line(printable(problem), red=True)

    def _title(self, model: str) -> str:
        compared = self._settings.snapshot_of
        name = printable(model, 80)
        return name if compared is None else f"{name} against {printable(compared, 80)}"

    def _vain_line(self, files: list[SnapshotFile]) -> str:
        """Return the line of a comparison without a snapshot: it is no success."""
        count = sum(len(file.kinds) + len(file.unread) for file in files)
        text = f"0 of {counted(count, 'answer')} had a snapshot"
        if any(file.problem for file in files):
            return text
        compared = self._settings.snapshot_of
        if compared is None:
            return f"{text}; --snapshot-update records them"
        return f"{text}; a run with --snapshot-update and {printable(compared, 80)} records them"

    def _counts_line(self, data: dict[str, Any]) -> str:
        counts = data["counts"]
        text = (
            f"{counts['same']} same text, {counts['reworded']} other text with the same verdict, "
            f"{counts['flipped']} flipped, {counts['new']} new"
        )
        if counts["no_answer"]:
            text += f", {counts['no_answer']} without an answer (not compared)"
        unused = sum(file_data["unused"] or 0 for file_data in data["files"].values())
        if unused:
            text += f", {unused} unused (stored, and no case any more)"
        if self.update:
            return f"{text}; recorded in {FOLDER}/"
        if counts["new"] or counts["reworded"] or counts["flipped"]:
            text += "; --snapshot-update records them"
        return text


def _write_change(terminal: Any, change: dict[str, Any]) -> None:
    old, new = change["old"], change["new"]
    verdict = f"{old['verdict']} -> {new['verdict']}" if change["kind"] == "flipped" else "reworded"
    terminal.write_line(f"{verdict}  {printable(change['case_id'], 200)}", bold=True)
    if "text" not in old:
        return
    shown = excerpt(old["text"], new["text"], 600)
    parts = shorten(word_diff(shown.old, shown.new))
    terminal.write("  ")
    for part in parts:
        terminal.write(diff_line(part), **_COLORS[part[0]])
    terminal.line("")
