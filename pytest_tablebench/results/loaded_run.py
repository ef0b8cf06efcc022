"""A loaded run: the content of its folder, read once and on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pytest_tablebench.results.folder import read_records, read_run_json
from pytest_tablebench.results.labels import Label, read_labels
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.score_table import ScoreTable, raw_digests
from pytest_tablebench.results.snapshots import read_changes

T = TypeVar("T")


@dataclass
class LoadedRun:
    """A run folder, of a finished or an interrupted run.

    Records and table are loaded on first use. Raises `SettingsError` if the records
    cannot be read, `DataError` if they do not form a table.

    Args:
        path: the folder.
        run: the current content of `run.json`.
        written_table: the table of the process that wrote the run, without digests of replies.
    """

    path: Path
    run: Mapping[str, Any]
    written_table: ScoreTable | None = None
    _figures: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The last record of each case."""
        return tuple(read_records(self.path))

    @cached_property
    def table(self) -> ScoreTable:
        """The score table of the records, with digests of their replies."""
        return ScoreTable.from_records(self.records, answers=raw_digests)

    @property
    def scores(self) -> ScoreTable:
        """The table for figures that need no replies, preferably the one already in memory."""
        return self.table if self.written_table is None else self.written_table

    @cached_property
    def changes(self) -> Mapping[str, Any] | None:
        """The content of `snapshots.json`; None if no answers were compared.

        Raises `SettingsError` for a damaged file.
        """
        return read_changes(self.path)

    @cached_property
    def labels(self) -> Sequence[Label]:
        """The labels by people in the folder. Raises `SettingsError` for a damaged file."""
        return read_labels(self.path)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return a figure of the run by its name; `make` computes it at the first call."""
        if name not in self._figures:
            self._figures[name] = make()
        figure: T = self._figures[name]
        return figure


def load_run(run: Path | LoadedRun) -> LoadedRun:
    """Return the run of a folder. Raises `SettingsError` for a folder that is no run."""
    return run if isinstance(run, LoadedRun) else LoadedRun(run, read_run_json(run))
