"""Merge several run folders into one: records, texts, images and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.gates import recorded_gates
from pytest_tablebench.claims.merge._parts import RunParts, number_of, read_parts
from pytest_tablebench.claims.merge._records import MergedRecords, merge_labels
from pytest_tablebench.claims.summary import THINKING, summary_of
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.corrected import corrected_cases, corrections_entry
from pytest_tablebench.results.figures import newest, sum_of_all, sum_of_known
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.labels import Label, LabelSample, write_labels, write_sample
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.results.snapshots import FILE, merged_changes, read_changes, write_changes
from pytest_tablebench.results.texts import TEXTS, merge_media, merge_texts
from pytest_tablebench.util.entries import listing
from pytest_tablebench.util.names import counted


@dataclass(frozen=True)
class Merge:
    """A merged run that is not written yet.

    `facts` is the content of its `run.json`, `table` its score table, `runs` the number of its
    source runs. `notes` are remarks for the user. `ended` is why it is incomplete, None if it is
    complete.
    """

    facts: RunFacts
    table: ScoreTable
    runs: int
    notes: tuple[str, ...]
    ended: str | None
    _folders: Sequence[Path]
    _records: MergedRecords
    _labels: Sequence[Label]
    _sample: LabelSample
    _changes: Mapping[str, Any] | None
    """The content of `snapshots.json`; None if answers were not compared with stored ones."""

    def write(self, out: Path) -> Run:
        """Write the run folder.

        Raises `SettingsError` if `out` contains a run, or if texts or images are damaged.
        """
        folder = RunFolder(out)
        for line in self._records.lines():
            folder.append(line)
        folder.close()
        merge_texts([path / TEXTS for path in self._folders], out / TEXTS)
        merge_media(self._folders, out)
        if self._labels:
            write_labels(out, self._labels)
        if self._sample:
            write_sample(out, self._sample)
        facts = {name: value for name, value in self.facts.entries.items() if name != "schema"}
        loaded = Run(out, folder.write_run(facts), self.table)
        folder.write_summary(summary_of(loaded))
        if self._changes is not None:
            write_changes(out, self._changes)
        return loaded


def read_merge(paths: Sequence[Path]) -> Merge:
    """Return the run that some run folders are parts of.

    Apart from times and costs, its records and summary are the same as of a run that was never
    split, in any order of `paths`. Raises `SettingsError` for runs that are not parts of one run,
    for cases with different records in two runs, for a person's different labels of an answer, and
    for damaged folders.
    """
    parts = read_parts(paths)
    folders = [part.path for part in parts.parts]
    records = MergedRecords(folders)
    if not len(records):
        raise SettingsError("the runs have no recorded case, so there is nothing to merge")
    table = ScoreTable.from_records(records.rows())
    ended = parts.unfinished
    if ended is None and "budget" in table.names["reason"]:
        ended = "the budget was spent"
    run = {**_run_data(parts, len(records)), "ended": ended}
    first = parts.parts[0].facts
    if (digest := first.overlay) is not None:
        file = str(first.corrections.get("file"))
        run["corrections"] = corrections_entry(file, digest, corrected_cases(records.rows()))
    changes, left_out = _changes(folders, records)
    notes = (*_notes(parts, records), *left_out)
    facts, count = RunFacts.from_json(run), len(parts.source_runs)
    labels = merge_labels(folders)
    return Merge(facts, table, count, notes, ended, folders, records, *labels, changes)


def _changes(
    folders: Sequence[Path], records: MergedRecords
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the merged `snapshots.json`, or None with notes of why it is left out."""
    snapshots = [data for folder in folders if (data := read_changes(folder)) is not None]
    if not snapshots:
        return None, []
    if len(snapshots) < len(folders):
        return None, [f"{FILE} is left out: {len(folders) - len(snapshots)} of the runs lack it"]
    if records.overlapping:
        return None, [f"{FILE} is left out: two runs have cases in common, which it cannot merge"]
    return merged_changes(snapshots), []


def _notes(parts: RunParts, records: MergedRecords) -> tuple[str, ...]:
    notes = list(parts.notes)
    if records.overlapping:
        notes.append(f"{counted(records.overlapping, 'record')} of cases that another run also has")
    if records.unanswered:
        notes.append(
            f"{counted(records.unanswered, 'case')} without an answer in one run: the record of "
            f"another run counts"
        )
    return tuple(notes)


def _run_data(parts: RunParts, recorded: int) -> dict[str, Any]:
    """Return the merged `run.json`: the settings of the runs and the sums of their counts."""
    runs, sources = [part.facts for part in parts.parts], parts.source_runs
    base = {name: value for name, value in runs[0].entries.items() if name != "schema"}
    ends = [source.end for source in sources]
    numbers = sorted({n for source in sources if (n := number_of(source)) is not None})
    partial = parts.split is not None and bool(parts.missing)
    return {
        **base,
        "status": "complete" if parts.unfinished is None else "incomplete",
        "exit_code": None,
        "params_sent": next((run.params_sent for run in runs if run.params_sent), None),
        "grid": _grids(run.grid for run in runs),
        "by_dataset": _by_dataset(parts),
        "datasets": _datasets(runs),
        "missing": {name: why for run in reversed(runs) for name, why in run.missing.items()},
        "selected_by": _union(run.selected_by for run in runs),
        "gates": _union(map(recorded_gates, runs)),
        "cases_planned": _planned(parts, recorded),
        "cases_recorded": recorded,
        "start": min((str(source.start) for source in sources), default=None),
        "end": None if None in ends else max(map(str, ends)),
        **_spent(sources),
        "store_hits": sum(source.store_hits for source in sources),
        "newest_stored": newest(source.newest_stored for source in sources),
        "server_check": _server_check(sources),
        "shard": f"{','.join(map(str, numbers))}/{parts.split}" if partial else None,
        "merged_from": [source.entries for source in sources],
    }


def _server_check(sources: Sequence[RunFacts]) -> Mapping[str, Any] | None:
    """Return the check of the server that decides: a difference, else the first one."""
    checks = [source.server_check for source in sources if source.server_check]
    return next((check for check in checks if check.get("same") is False), next(iter(checks), None))


def _planned(parts: RunParts, recorded: int) -> int | None:
    """Return the number of planned cases; None if a part is missing."""
    if parts.missing:
        return None
    if parts.split is None:
        lacking = [
            (source.cases_planned or 0) - (source.cases_recorded or 0)
            for source in parts.source_runs
        ]
        return recorded + max(0, *lacking)
    return sum(
        max(source.cases_planned or 0 for source in sources) for sources in parts.groups().values()
    )


def _spent(sources: Sequence[RunFacts]) -> dict[str, Any]:
    paid = [source for source in sources if source.calls_paid]
    served = sum((Counter(source.served) for source in sources), Counter[str]())
    return {
        "calls_paid": sum(source.calls_paid or 0 for source in paid),
        "calls_repeated": sum_of_all(source.calls_repeated for source in sources),
        "prompt_tokens": sum_of_all(source.prompt_tokens for source in paid),
        "completion_tokens": sum_of_all(source.completion_tokens for source in paid),
        "cost_usd": sum_of_all(source.cost_usd for source in paid),
        **{name: sum_of_known(getattr(source, name) for source in sources) for name in THINKING},
        **({"served": dict(served.most_common())} if served else {}),
    }


def _grids(grids: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    axes: dict[str, dict[Any, None]] = {}
    for grid in grids:
        for axis, names in grid.items():
            axes.setdefault(axis, {}).update(dict.fromkeys(listing(names)))
    return {axis: list(names) for axis, names in axes.items()}


def _by_dataset(parts: RunParts) -> dict[str, Any]:
    """Return the settings of each dataset, with the sums of cases that do not apply."""
    by_dataset: dict[str, dict[str, Any]] = {}
    for part in parts.parts:
        for name, entry in part.facts.by_dataset.items():
            by_dataset.setdefault(name, dict(entry))
    counts: dict[str, Counter[str]] = {name: Counter() for name in by_dataset}
    for sources in parts.groups().values():
        for name, counter in sources[0].does_not_apply.items():
            if name in counts:
                counts[name].update(counter)
    for name, counter in counts.items():
        ordered = sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))
        by_dataset[name]["does_not_apply"] = dict(ordered)
    return {name: by_dataset[name] for name in sorted(by_dataset)}


def _datasets(runs: Sequence[RunFacts]) -> dict[str, Any]:
    """Return the facts about each dataset from the run that reports most problems of it."""
    datasets: dict[str, RunFacts] = {}
    for run in runs:
        for name, problems in run.problems.items():
            if name not in datasets or len(problems) > len(datasets[name].problems[name]):
                datasets[name] = run
    return {name: datasets[name].datasets[name] for name in sorted(datasets)}


def _union(lists: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(lists)))
