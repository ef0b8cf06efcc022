"""Run folders of a report, and sentences on the differences between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.differences import Difference, differences_between
from pytest_tablebench.claims.summary import is_memory_test, summarize
from pytest_tablebench.documents.formats import memory_lines
from pytest_tablebench.results.folder import RUN, recorded_text, run_folders
from pytest_tablebench.results.run import Run, RunRow, load_run
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import out_of, shortened


def load_runs(paths: Sequence[Path]) -> list[Run]:
    """Read run folders; a folder of run folders means all of them, by name.

    Runs of one model are named by their folders. Raises `SettingsError` if a folder is not a run
    and contains none.
    """
    folders: dict[Path, Path] = {}
    for path in paths:
        for folder in run_folders(path):
            folders.setdefault(real_path(folder), folder)
    return with_distinct_labels([load_run(folder) for folder in folders.values()])


def paths_without_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the existing paths that are no run folders and contain none."""
    return [
        path
        for path in paths
        if path.exists() and not any((folder / RUN).exists() for folder in run_folders(path))
    ]


def with_distinct_labels(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with distinct labels.

    Runs of the same model are named by strategy and modality if these differ between all of them,
    else by the names of their folders.
    """
    by_model: dict[str, list[Run]] = {}
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
            named.append(_part(run, _mode_label(run.model, *_modes(run.rows)), run.rows))
        else:
            name = run.path.name
            named.append(_part(run, name if folders[name] == 1 else str(run.path), run.rows))
    return named


Mode = tuple[str, str]
"""A strategy and a modality."""


def _modes(rows: Iterable[RunRow]) -> set[Mode]:
    return {(row.strategy, row.modality) for row in rows}


def _mode_label(model: str, mode: Mode) -> str:
    strategy, modality = mode
    return f"{model} ({strategy}, {modality})"


def _part(run: Run, label: str, rows: Iterable[RunRow]) -> Run:
    """Return the run with some of its rows, perhaps under another label."""
    part = Run(run.path, run.facts, label=label)
    part.rows = tuple(row if label == run.label else replace(row, model=label) for row in rows)
    return part


def runs_by_mode(runs: Sequence[Run], benchmark: str) -> list[Run]:
    """Return the runs of a benchmark, with only its rows.

    If a model has several modes of one dataset, its runs are divided by mode and labelled with it.
    Datasets with a single mode each stay together.
    """
    modes: dict[tuple[str, str], set[Mode]] = {}
    rows = [[row for row in run.rows if row.benchmark == benchmark] for run in runs]
    for run, run_rows in zip(runs, rows, strict=True):
        for row in run_rows:
            modes.setdefault((run.model, row.dataset), set()).add((row.strategy, row.modality))
    divided = {model for (model, _), dataset_modes in modes.items() if len(dataset_modes) > 1}
    parts = []
    for run, run_rows in zip(runs, rows, strict=True):
        by_label: dict[str, list[RunRow]] = {}
        for row in run_rows:
            mode = (row.strategy, row.modality)
            label = _mode_label(run.model, mode) if run.model in divided else run.label
            by_label.setdefault(label, []).append(row)
        parts += [_part(run, label, part) for label, part in by_label.items()]
    return parts


# Remarks and differences


def run_remarks(run: Run) -> list[str]:
    """Return remarks on a single run: cut off, cases without an answer, memory tests."""
    remarks = []
    planned = run.facts.cases_planned
    if planned is None or len(run.rows) < planned:
        remarks.append(f"{run.model}: interrupted, {recorded_text(len(run.rows), planned)}")
    unanswered = sum(row.score is None for row in run.rows)
    if unanswered:
        remarks.append(
            f"{run.model}: {out_of(unanswered, len(run.rows), 'case')} without an answer: left "
            f"out of every mean, which makes robustness too high"
        )
    if any(is_memory_test(row.perturbation) for row in run.rows):
        for benchmark, scope in summarize(run.rows)["benchmarks"].items():
            remarks += memory_lines(f"{run.model}: {benchmark}", scope)
    return remarks


def shared_overlay(runs: Iterable[Run]) -> str | None:
    """Return the digest of the corrections that all runs have used; None unless it is the same."""
    digests = {run.facts.overlay for run in runs}
    return digests.pop() if len(digests) == 1 else None


def differences(runs: Sequence[Run]) -> list[str]:
    """Return one sentence for each difference between the runs, apart from their models."""
    listed = [*differences_between(*(run.facts for run in runs))]
    names = [", ".join(sorted({row.dataset for row in run.rows})) or "none" for run in runs]
    if len({*names}) > 1:
        listed.append(Difference("datasets", "selection", tuple(names), _MEANS))
    for dataset in sorted({row.dataset for run in runs for row in run.rows}):
        listed += _dataset_differences(dataset, runs)
    return [_sentence(item, runs) for item in listed if item.kind not in {"model", "server"}]


_MEANS = "means over datasets are not comparable, and those that need all are not computed"


def _dataset_differences(dataset: str, runs: Sequence[Run]) -> Iterator[Difference]:
    rows = [[row for row in run.rows if row.dataset == dataset] for run in runs]
    grids = [frozenset((row.serializer, row.perturbation) for row in part) for part in rows]
    examples = [frozenset(row.example_id for row in part) for part in rows]
    common = len(frozenset.intersection(*filter(None, examples)))
    facts = (
        (
            "configurations",
            grids,
            "robustness, win rates and spreads depend on them; compare only equal grids",
        ),
        ("examples", examples, f"{common} are common to all"),
    )
    for name, sets, meaning in facts:
        texts: dict[frozenset[Any], str] = {}
        for names in dict.fromkeys(filter(None, sets)):
            text = str(len(names))
            texts[names] = f"{text} others" if text in texts.values() else text
        if len(texts) > 1:
            values = tuple(map(texts.get, sets))
            yield Difference(f"{dataset}: {name}", "selection", values, meaning)


def _sentence(difference: Difference, runs: Sequence[Run]) -> str:
    """Return `name differ: value (models), value (models); meaning`."""
    models: dict[str, list[str]] = {}
    for run, value in zip(runs, difference.values, strict=True):
        if value is not None:
            models.setdefault(value, []).append(run.model)
    groups = [f"{shortened(value, 80)} ({', '.join(names)})" for value, names in models.items()]
    return f"{difference.name} differ: {', '.join(groups)}; {difference.meaning}"
