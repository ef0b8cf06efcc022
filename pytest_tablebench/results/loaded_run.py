"""A run as it stands in its folder, read once for all that look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_tablebench.results._aggregate import summarize
from pytest_tablebench.results._folder import read_records, read_run
from pytest_tablebench.results._record import Record
from pytest_tablebench.results.score_table import ScoreTable, raw_digest

__all__ = ["LoadedRun", "load_run"]


@dataclass(frozen=True)
class LoadedRun:
    """A run folder, finished or cut off; `run` is the content of its `run.json`.

    Records, table and summary are made when they are first asked for, and then kept. Records
    that cannot be read raise `SettingsError`, those that make no table `DataError`.
    """

    path: Path
    run: Mapping[str, Any]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All records, each case with its last one."""
        return tuple(read_records(self.path))

    @cached_property
    def table(self) -> ScoreTable:
        """The score table of the records, with digests of their replies."""
        return ScoreTable.from_records(self.records, answers=raw_digest)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`."""
        return summarize(self.table)


def load_run(run: Path | LoadedRun) -> LoadedRun:
    """Return a run by its folder. Raises `SettingsError` for a folder that is no run."""
    return run if isinstance(run, LoadedRun) else LoadedRun(run, read_run(run))
