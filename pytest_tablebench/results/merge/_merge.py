"""From the folders of several runs to one: records, texts, pictures, and what was paid."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.results.figures import sum_of_known
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.gates import recorded_gates
from pytest_tablebench.results.loaded_run import THINKING, LoadedRun
from pytest_tablebench.results.media import merge_media
from pytest_tablebench.results.merge._parts import MERGED, RunParts, read_parts
from pytest_tablebench.results.merge._records import MergedRecords
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.results.snapshots import (
    FILE,
    merged_changes,
    read_changes,
    write_changes,
)
from pytest_tablebench.results.texts import TEXTS, merge_texts
from pytest_tablebench.util.entries import listing, mapping
from pytest_tablebench.util.names import counted, printable


@dataclass(frozen=True)
class Merge:
    """A run that can be put together; nothing is written yet.

    `run` is the content of its `run.json`, `table` its score table, `runs` of how many it is made;
    `notes` say what a reader must know, and `ended` why it is not whole, None where it is.
    """

    run: Mapping[str, Any]
    table: ScoreTable
    runs: int
    notes: tuple[str, ...]
    ended: str | None
    _folders: Sequence[Path]
    _records: MergedRecords
    _changes: Mapping[str, Any] | None
    """The content of `snapshots.json`; None where answers were not compared with stored ones."""

    def write(self, out: Path) -> LoadedRun:
        """Write the run folder, which is there when it is whole, or not at all.

        Raises `SettingsError` where `out` is there already, or texts or pictures are broken.
        """
        with _new_folder(out) as new_path:
            folder = RunFolder(new_path)
            for line in self._records.lines():
                folder.append(line)
            folder.close()
            merge_texts([path / TEXTS for path in self._folders], new_path / TEXTS)
            merge_media(self._folders, new_path)
            run = folder.write_run(self.run)
            folder.write_summary(LoadedRun(new_path, run, self.table).summary)
            if self._changes is not None:
                write_changes(new_path, self._changes)
        return LoadedRun(out, run, self.table)


def read_merge(paths: Sequence[Path]) -> Merge:
    """Read the run that some run folders are parts of.

    Records and summary are those of a run that was never split, whatever the order of `paths`,
    but for time and cost. Raises `SettingsError` for runs that are no parts of one, for cases
    that two of them recorded and not alike, and for what is broken or no run.
    """
    parts = read_parts(paths)
    folders = [part.path for part in parts.parts]
    records = MergedRecords(folders)
    if not len(records):
        raise SettingsError("no case is recorded in any of the runs: there is nothing to merge")
    table = ScoreTable.from_records(records.rows())
    ended = parts.unfinished
    if ended is None and "budget" in table.names["reason"]:
        ended = "the budget was spent"
    run = {**_run_data(parts, len(records)), "ended": ended}
    changes, left_out = _changes(folders, records)
    notes = (*_notes(parts, records), *left_out)
    return Merge(run, table, len(parts.source_runs), notes, ended, folders, records, changes)


def _changes(
    folders: Sequence[Path], records: MergedRecords
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return how answers compare with stored ones; where that cannot be told, a note of why."""
    snapshots = [data for folder in folders if (data := read_changes(folder)) is not None]
    if not snapshots:
        return None, []
    if len(snapshots) < len(folders):
        return None, [f"{FILE} is left out: {len(folders) - len(snapshots)} of the runs have none"]
    if records.overlapping:
        return None, [f"{FILE} is left out: it does not tell which cases two runs have in common"]
    return merged_changes(snapshots), []


def _notes(parts: RunParts, records: MergedRecords) -> tuple[str, ...]:
    notes = list(parts.notes)
    if records.overlapping:
        notes.append(f"{counted(records.overlapping, 'record')} of cases that another run has too")
    if records.unanswered:
        notes.append(
            f"{counted(records.unanswered, 'case')} without an answer in one run: another run's "
            f"record counts"
        )
    return tuple(notes)


@contextlib.contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Make a folder that takes its name when all is in it. Raises `SettingsError`."""
    new_path = out.with_name(f".{out.name}.{os.getpid()}.new")
    with writing(f"--out: cannot write {printable(str(out))}", "; choose another folder"):
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise SettingsError(
                f"--out: {printable(str(out))} is there already; choose another folder (nothing "
                f"in it was touched)"
            )
        new_path.mkdir(parents=True)
        try:
            yield new_path
            if out.exists():
                out.rmdir()
            new_path.rename(out)
        finally:
            shutil.rmtree(new_path, ignore_errors=True)


def _run_data(parts: RunParts, recorded: int) -> dict[str, Any]:
    """Return `run.json` of the whole: what all say alike, and sums of what each came to."""
    base = {name: value for name, value in parts.parts[0].run.items() if name != "schema"}
    source_runs, runs = parts.source_runs, [part.run for part in parts.parts]
    facts = [source_run.facts for source_run in source_runs]
    ends = [fact.get("end") for fact in facts]
    numbers = sorted(
        {source_run.number for source_run in source_runs if source_run.number is not None}
    )
    partial = parts.split is not None and bool(parts.missing)
    planned = _planned(parts, recorded)
    return {
        **base,
        "status": "complete" if parts.unfinished is None else "incomplete",
        "exit_code": None,
        "params_sent": next((run["params_sent"] for run in runs if run.get("params_sent")), None),
        "grid": _grids([run.get("grid") for run in runs]),
        "by_dataset": _by_dataset(parts),
        "datasets": _datasets(runs),
        "missing": {k: v for run in reversed(runs) for k, v in mapping(run, "missing").items()},
        "selected_by": _union(run.get("selected_by") for run in runs),
        "gates": _gates(runs),
        "cases_planned": planned,
        "cases_recorded": recorded,
        "start": min((str(fact.get("start")) for fact in facts), default=None),
        "end": None if None in ends else max(map(str, ends)),
        **_spent(facts),
        "store_hits": sum(source_run.count("store_hits") for source_run in source_runs),
        "shard": f"{','.join(map(str, numbers))}/{parts.split}" if partial else None,
        MERGED: facts,
    }


def _planned(parts: RunParts, recorded: int) -> int | None:
    """Return how many cases the whole has; None where a part that is missing knows."""
    if parts.missing:
        return None
    if parts.split is None:
        lacking = [
            source_run.count("cases_planned") - source_run.count("cases_recorded")
            for source_run in parts.source_runs
        ]
        return recorded + max(0, *lacking)
    return sum(
        max(source_run.count("cases_planned") for source_run in source_runs)
        for source_runs in parts.groups().values()
    )


def _spent(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was paid together: None where a part that was paid for is unknown."""
    paid = [fact for fact in facts if fact.get("calls_paid")]
    names = ("prompt_tokens", "completion_tokens", "cost_usd")
    return {
        "calls_paid": sum(fact["calls_paid"] for fact in paid),
        "calls_repeated": _sum([fact.get("calls_repeated") for fact in facts]),
        **{name: _sum([fact.get(name) for fact in paid]) for name in names},
        **{name: sum_of_known(fact.get(name) for fact in facts) for name in THINKING},
    }


def _sum(values: Sequence[Any]) -> Any:
    if not values or not all(isinstance(value, int | float) for value in values):
        return None
    return sum(values)


def _grids(grids: Iterable[Any]) -> dict[str, list[Any]]:
    axes: dict[str, dict[Any, None]] = {}
    for grid in grids:
        for axis, names in mapping(grid).items():
            axes.setdefault(axis, {}).update(dict.fromkeys(listing(names)))
    return {axis: list(names) for axis, names in axes.items()}


def _by_dataset(parts: RunParts) -> dict[str, Any]:
    """Return how each dataset was run; what did not apply is summed up over the parts."""
    by_dataset: dict[str, dict[str, Any]] = {}
    for part in parts.parts:
        for name, entry in mapping(part.run, "by_dataset").items():
            by_dataset.setdefault(name, dict(mapping(entry)))
    counts: dict[str, Counter[str]] = {name: Counter() for name in by_dataset}
    for source_runs in parts.groups().values():
        for name, counter in mapping(source_runs[0].facts, "does_not_apply").items():
            if name in counts:
                numbers = {k: v for k, v in mapping(counter).items() if isinstance(v, int)}
                counts[name].update(numbers)
    for name, counter in counts.items():
        ordered = sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))
        by_dataset[name]["does_not_apply"] = dict(ordered)
    return {name: by_dataset[name] for name in sorted(by_dataset)}


def _datasets(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is known of the data; of unusable rows the longest list."""

    def problems(facts: Any) -> int:
        return len(listing(mapping(facts).get("problems")))

    datasets: dict[str, Any] = {}
    for run in runs:
        for name, facts in mapping(run, "datasets").items():
            if name not in datasets or problems(facts) > problems(datasets[name]):
                datasets[name] = facts
    return {name: datasets[name] for name in sorted(datasets)}


def _gates(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    return _union(map(recorded_gates, runs))


def _union(lists: Iterable[Any]) -> list[str]:
    return list(
        dict.fromkeys(name for names in lists for name in listing(names) if isinstance(name, str))
    )
