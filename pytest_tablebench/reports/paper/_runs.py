"""Run folders of a report, and sentences on the differences between them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import is_memory_test, summarize
from pytest_tablebench.config.options import OPTIONS, Option
from pytest_tablebench.reports.further_text import memory_lines
from pytest_tablebench.results import ScoreRow, read_records, read_run_json
from pytest_tablebench.results.corrections import overlay_of
from pytest_tablebench.results.folder import RUN, recorded_text, run_folders
from pytest_tablebench.results.record import row_values
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import out_of, printable


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(ScoreRow):
    """A `ScoreRow` with its case id, model and cost, for aggregates and analyses."""

    case_id: str
    model: str
    cost_usd: float | None = None


@dataclass(frozen=True)
class RunData:
    """One run folder: `run` is its run.json, `rows` its records."""

    path: Path
    model: str
    run: Mapping[str, Any]
    rows: tuple[RunRow, ...]

    @property
    def planned(self) -> int | None:
        """The planned number of cases; None if the run ended before it was known."""
        count = self.run.get("cases_planned")
        return count if isinstance(count, int) else None


def load_runs(paths: Sequence[Path]) -> list[RunData]:
    """Read run folders; a folder of run folders means all of them, by name.

    Runs of one model are named by their folders. Raises `SettingsError` if a folder is not a run
    and contains none.
    """
    folders: dict[Path, Path] = {}
    for path in paths:
        for folder in run_folders(path):
            folders.setdefault(real_path(folder), folder)
    return with_distinct_labels([_load(folder) for folder in folders.values()])


def paths_without_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the existing paths that are no run folders and contain none."""
    return [
        path
        for path in paths
        if path.exists() and not any((folder / RUN).exists() for folder in run_folders(path))
    ]


def _load(path: Path) -> RunData:
    run = read_run_json(path)
    model = str(run.get("model"))
    rows = [
        RunRow(*row_values(record), case_id=record.case_id, model=model, cost_usd=record.cost_usd)
        for record in read_records(path)
    ]
    return RunData(path, model, run, tuple(rows))


def with_distinct_labels(runs: Sequence[RunData]) -> list[RunData]:
    """Return the runs with distinct labels.

    Runs of the same model are named by strategy and modality if these differ between all of them,
    else by the names of their folders.
    """
    by_model: dict[str, list[RunData]] = {}
    for run in runs:
        by_model.setdefault(run.model, []).append(run)
    folders = Counter(run.path.name for run in runs)
    named = []
    for run in runs:
        same = by_model[run.model]
        modes = [_modes(other.rows) for other in same]
        if len(same) == 1:
            named.append(run)
        elif all(len(run_modes) == 1 for run_modes in modes) and len(set().union(*modes)) == len(
            same
        ):
            named.append(_labelled(run, _mode_label(run.model, *_modes(run.rows))))
        else:
            name = run.path.name
            named.append(_labelled(run, name if folders[name] == 1 else str(run.path)))
    return named


Mode = tuple[str, str]
"""A strategy and a modality."""


def _modes(rows: Iterable[RunRow]) -> set[Mode]:
    return {(row.strategy, row.modality) for row in rows}


def _mode_label(model: str, mode: Mode) -> str:
    strategy, modality = mode
    return f"{model} ({strategy}, {modality})"


def _labelled(run: RunData, label: str, rows: Iterable[RunRow] | None = None) -> RunData:
    """Return the run under another label, with all or some of its rows."""
    used_rows = run.rows if rows is None else rows
    return replace(run, model=label, rows=tuple(replace(row, model=label) for row in used_rows))


def runs_by_mode(runs: Sequence[RunData], benchmark: str) -> list[RunData]:
    """Return the runs of a benchmark, with only its rows.

    If a model has several modes of one dataset, its runs are divided by mode and labelled with it.
    Datasets with a single mode each stay together.
    """
    rows = {id(run): [row for row in run.rows if row.benchmark == benchmark] for run in runs}
    modes: dict[tuple[str, str], set[Mode]] = {}
    for run in runs:
        for row in rows[id(run)]:
            modes.setdefault((run.model, row.dataset), set()).add((row.strategy, row.modality))
    divided = {model for (model, _), dataset_modes in modes.items() if len(dataset_modes) > 1}
    parts = []
    for run in runs:
        run_rows = rows[id(run)]
        if run.model in divided:
            for mode in dict.fromkeys((row.strategy, row.modality) for row in run_rows):
                mode_rows = (row for row in run_rows if (row.strategy, row.modality) == mode)
                parts.append(_labelled(run, _mode_label(run.model, mode), mode_rows))
        elif run_rows:
            parts.append(replace(run, rows=tuple(run_rows)))
    return parts


# Remarks and differences


def run_remarks(run: RunData) -> list[str]:
    """Return remarks on a single run: cut off, cases without an answer, memory tests."""
    name = printable(run.model, 80)
    remarks = []
    if run.planned is None or len(run.rows) < run.planned:
        remarks.append(f"{name}: interrupted, {recorded_text(len(run.rows), run.planned)}")
    unanswered = sum(row.score is None for row in run.rows)
    if unanswered:
        remarks.append(
            f"{name}: {out_of(unanswered, len(run.rows), 'case')} without an answer: left out of "
            f"every mean, which makes robustness too high"
        )
    if any(is_memory_test(row.perturbation) for row in run.rows):
        for benchmark, scope in summarize(run.rows)["benchmarks"].items():
            remarks += memory_lines(f"{name}: {printable(benchmark, 60)}", scope)
    return remarks


def shared_overlay(runs: Iterable[RunData]) -> str | None:
    """Return the digest of the corrections that all runs have used; None unless it is the same."""
    digests = {overlay_of(run.run) for run in runs}
    return digests.pop() if len(digests) == 1 else None


_VERSIONS = ("pytest-tablebench", "spacy")


def differences(runs: Sequence[RunData]) -> list[str]:
    """Return one sentence for each difference between the runs; none for one run."""
    if len(runs) < 2:
        return []
    sentences: list[str | None] = []
    for option in OPTIONS:
        if option.recorded is not None and option.differs.values:
            differs, read = option.differs, _reader_by_dataset(option, runs)
            read = read or partial(_setting, option.recorded, differs.unset)
            sentences.append(_differ(f"{differs.values} differ", runs, read, differs.effect))
    sentences += [
        _differ(
            f"versions of {package} differ",
            runs,
            _version(package),
            "this alone can change scores",
        )
        for package in _VERSIONS
    ]
    sentences.append(
        _differ(
            "corrections of the gold differ",
            runs,
            lambda run: overlay_of(run.run) or "none",
            "all figures and ranks are by the published gold",
        )
    )
    sentences.append(
        _differ(
            "datasets differ",
            runs,
            lambda run: ", ".join(sorted({row.dataset for row in run.rows})) or "none",
            "means over datasets are not comparable, and those that need all are not computed",
        )
    )
    for dataset in sorted({row.dataset for run in runs for row in run.rows}):
        sentences += _dataset_differences(dataset, runs)
    return [sentence for sentence in sentences if sentence]


def _dataset_differences(dataset: str, runs: Sequence[RunData]) -> list[str | None]:
    having = [run for run in runs if any(row.dataset == dataset for row in run.rows)]
    name = printable(dataset, 80)
    examples_of = {
        id(run): frozenset(row.example_id for row in _of(run, dataset)) for run in having
    }
    return [
        _differ(
            f"{name}: files differ",
            having,
            lambda run: _digest(run, dataset),
            "they may have different examples",
            show=False,
        ),
        _differ(
            f"{name}: configurations differ",
            having,
            lambda run: frozenset((r.serializer, r.perturbation) for r in _of(run, dataset)),
            "robustness, win rates and spreads depend on them; compare only equal grids",
            label=lambda grid: str(len(grid)),
        ),
        _differ(
            f"{name}: examples differ",
            having,
            lambda run: examples_of[id(run)],
            f"{len(frozenset.intersection(*examples_of.values()))} are common to all",
            label=lambda examples: str(len(examples)),
        ),
    ]


def _of(run: RunData, dataset: str) -> list[RunRow]:
    return [row for row in run.rows if row.dataset == dataset]


def _digest(run: RunData, dataset: str) -> str:
    files = _mapping(_mapping(run.run, "datasets"), dataset).get("files")
    return json.dumps(files, sort_keys=True, default=str)


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _setting(key: str, default: str, run: RunData) -> str:
    return _text(run.run.get(key), default)


def _text(value: Any, default: str) -> str:
    if value is None:
        return default
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _reader_by_dataset(option: Option, runs: Sequence[RunData]) -> Callable[[RunData], str] | None:
    """Return a function that reads an option by dataset; None unless all runs record it so."""
    recorded = [_mapping(run.run, "by_dataset") for run in runs]
    common = sorted(set[str].intersection(*(set(map(str, entries)) for entries in recorded)))
    is_recorded = all(
        option.entry in _mapping(entries, name) for entries in recorded for name in common
    )
    if not (option.by_dataset and common and is_recorded):
        return None

    def read(run: RunData) -> str:
        entries = _mapping(run.run, "by_dataset")
        values = {name: _text(entries[name][option.entry], option.differs.unset) for name in common}
        first_value, *further_values = dict.fromkeys(values.values())
        return (
            first_value
            if not further_values
            else ", ".join(f"{name} {value}" for name, value in values.items())
        )

    return read


def _version(package: str) -> Callable[[RunData], str]:
    return lambda run: str(_mapping(run.run, "versions").get(package) or "none")


def _differ(
    subject: str,
    runs: Sequence[RunData],
    read: Callable[[RunData], Any],
    meaning: str,
    *,
    label: Callable[[Any], str] = str,
    show: bool = True,
) -> str | None:
    """Return the sentence `what: value (models), value (models); meaning`, or None if equal."""
    models: dict[Hashable, list[str]] = {}
    for run in runs:
        models.setdefault(read(run), []).append(printable(run.model, 60))
    if len(models) < 2:
        return None
    if show:
        groups = [f"{printable(label(v), 200)} ({', '.join(names)})" for v, names in models.items()]
    else:
        groups = [" and ".join(names) for names in models.values()]
    return f"{subject}: {', '.join(groups) if show else ' against '.join(groups)}; {meaning}"
