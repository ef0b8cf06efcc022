"""A loaded run: the content of its folder, read once and on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.results._aggregate import summarize
from pytest_tablebench.results.corrected import corrected_summary
from pytest_tablebench.results.corrections import overlay_of
from pytest_tablebench.results.folder import read_records, read_run_json
from pytest_tablebench.results.labels import LABELS, Label, read_labels
from pytest_tablebench.results.outliers import Outlier, outliers
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.score_table import ScoreTable, raw_digests
from pytest_tablebench.results.snapshots import read_changes
from pytest_tablebench.results.spending import add_spending
from pytest_tablebench.util.entries import mapping


@dataclass
class LoadedRun:
    """A run folder, of a finished or an interrupted run.

    Records, table and summary are loaded on first use. Raises `SettingsError` if the records
    cannot be read, `DataError` if they do not form a table.

    Args:
        path: the folder.
        run: the current content of `run.json`.
        written_table: the table of the process that wrote the run, without digests of replies.
    """

    path: Path
    run: Mapping[str, Any]
    written_table: ScoreTable | None = None

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
    def outliers(self) -> Sequence[Outlier]:
        """The parts of datasets that differ from the whole by more than chance."""
        return outliers(self.scores)

    @cached_property
    def changes(self) -> Mapping[str, Any] | None:
        """The content of `snapshots.json`; None if no answers were compared.

        Raises `SettingsError` for a damaged file.
        """
        return read_changes(self.path)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`."""
        summary = summary_of(self.run, self.scores)
        add_spending(summary, lambda: self.records)
        if (self.path / LABELS).exists():
            summary["judged"] = self.judged_figures
        return summary

    @cached_property
    def labels(self) -> Sequence[Label]:
        """The labels by people in the folder. Raises `SettingsError` for a damaged file."""
        return read_labels(self.path)

    @cached_property
    def judged_figures(self) -> Mapping[str, Any]:
        """The entry `judged` of the summary of a run with labels."""
        # Runs without labels need neither.
        from pytest_tablebench.results.calibration import summary_entry
        from pytest_tablebench.results.labelled_cases import labelled_cases

        return summary_entry(labelled_cases(self.records, self.labels))


def summary_of(run: Mapping[str, Any], records: ScoreTable | Iterable[Any]) -> dict[str, Any]:
    """Return the figures of a run's records, with the cases that do not apply, by reason.

    A dataset without other missing cases is not flagged as incomplete. `run` is the content of
    `run.json`. If it names corrections, the entry `corrected` has the figures by the corrected
    gold (see `corrected_summary`).
    """
    table = records if isinstance(records, ScoreTable) else ScoreTable.from_records(records)
    names = ((axis.name, f"{axis.name}_margin") for axis in SAME_QUESTION)
    margins = {axis: float(run[name]) for axis, name in names if run.get(name) is not None}
    summary = _with_inapplicable(run, summarize(table, margins=margins))
    if overlay_of(run) is not None:
        summary["corrected"] = _with_inapplicable(run, corrected_summary(table))
    return summary | {name: run[name] for name in THINKING if run.get(name)}


def _with_inapplicable(run: Mapping[str, Any], summary: dict[str, Any]) -> dict[str, Any]:
    is_complete = run.get("cases_recorded") == run.get("cases_planned")
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            counts = mapping(run, "by_dataset", name).get("does_not_apply")
            if counts:
                scope["does_not_apply"] = counts
                if is_complete and not scope["no_answer"]:
                    scope["flags"] = [flag for flag in scope["flags"] if flag != "incomplete"]
        if not any("incomplete" in scope["flags"] for scope in benchmark["datasets"].values()):
            benchmark["flags"] = [flag for flag in benchmark["flags"] if flag != "incomplete"]
    return summary


THINKING = ("thinking_tokens", "cases_extended")
"""The entries of `run.json` that `summary.json` repeats unless they are 0."""


def load_run(run: Path | LoadedRun) -> LoadedRun:
    """Return the run of a folder. Raises `SettingsError` for a folder that is no run."""
    return run if isinstance(run, LoadedRun) else LoadedRun(run, read_run_json(run))
