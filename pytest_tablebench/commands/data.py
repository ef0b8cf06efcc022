"""`tablebench list`, `pull`, `new`, `check` and `stats`: datasets, and the state of their files."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import CommandAnswer, check_and_run, print_lines
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Dataset, Problem, open_dataset
from pytest_tablebench.datasets.described import SETTINGS_FILE
from pytest_tablebench.datasets.files import how_to_get
from pytest_tablebench.datasets.folder import (
    FolderCheck,
    FolderDataset,
    check_dataset,
    check_described,
    fix_dataset,
    folder_datasets,
    write_example,
)
from pytest_tablebench.errors import DataError, DataMissing, SettingsError, writing
from pytest_tablebench.running.builtins import command_registry
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted, shortened, unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets.statistics import DatasetFacts


def pull_datasets(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.datasets.pull import known_sources, pull

    folder = Settings(data=options.bench_data).data_folder()
    upstreams = known_sources(command_registry(folder).datasets.values())
    pull(options.names, folder, say=lambda line: print_lines([line]), upstreams=upstreams)
    return [], 0


def list_datasets(options: argparse.Namespace) -> tuple[list[str], int]:
    folder = Settings(data=options.bench_data).data_folder()
    registry = command_registry(folder)
    lines = [f"datasets (data folder {folder})"]
    names = max(map(len, registry.datasets))
    benchmarks = max(len(dataset.benchmark) for dataset in registry.datasets.values())
    for name, dataset in registry.datasets.items():
        state, why = data_state(dataset, folder)
        text = f"{state}; {why}" if why else state
        licence = shortened(dataset.licence_name.partition(" (")[0] or "-", 20)
        lines.append(f"  {name:<{names}} {dataset.benchmark:<{benchmarks}} {licence:<20} {text}")
    lines += ["serializers", f"  {' '.join(registry.serializers)}"]
    grid = registry.grid("starter").perturbations
    extra = [name for name in registry.perturbations if name not in grid]
    lines += ["perturbations", f"  {' '.join(grid)}", f"  outside the grid: {' '.join(extra)}"]
    models = "lexical", "smollm2", "scripted:FILE"
    names_shown = " ".join(f"tablebench/{name}" for name in models)
    return [*lines, "built-in models", f"  {names_shown} gguf:FILE"], 0


def data_state(dataset: Dataset, data: Path) -> tuple[str, str]:
    """Return `installed`, `missing` or `unusable`, and "", what to do or the reason."""
    folder = data / dataset.folder
    try:
        source = dataset.open(folder)
        if source.example_ids(1) or not source.problems:
            return "installed", ""
        return "unusable", str(source.problems[0])
    except DataMissing:
        return "missing", how_to_get(dataset.fetch, folder)
    except DataError as error:
        return "unusable", str(error)


def new_folder(options: argparse.Namespace) -> tuple[list[str], int]:
    folder: Path | None = options.folder
    if options.questions is not None:
        return _describe(options.questions, folder), 0
    if folder is None:
        raise SettingsError("name a new folder: tablebench new DIR")
    names = write_example(folder)
    return [f"{folder}: {', '.join(names)}", *check_and_run(folder)], 0


def _describe(questions: Path, folder: Path | None) -> list[str]:
    """Write a description of a file of questions; return the guesses and the next steps."""
    from pytest_tablebench.datasets.described import write_guess

    if not questions.is_file():
        raise DataError(f"{questions} does not exist")
    target = questions.parent if folder is None else folder
    if folder is not None and folder.resolve() != questions.resolve().parent:
        with writing(f"{folder} cannot be written"):
            folder.mkdir(parents=True)
            shutil.copyfile(questions, folder / questions.name)
    lines = write_guess(target, questions.name)
    return [f"{target / SETTINGS_FILE}:", *lines, *check_and_run(target)]


def check_folders(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.project import folder_report

    data: Path = options.folder.parent if options.folder.name == SETTINGS_FILE else options.folder
    datasets = list(folder_datasets(data))
    if not datasets:
        raise DataError(
            f"no dataset in {options.folder}: it needs questions.csv, .jsonl or .xlsx; "
            f"`tablebench new DIR` writes an example"
        )
    places = (data, *(data / dataset.folder for dataset in datasets))
    registry = command_registry(None, *places)
    names: dict[str, list[str]] = {
        "serializers": list(registry.serializers),
        "perturbations": list(registry.perturbations),
        "strategy": list(registry.strategies),
        "metric": list(registry.metrics),
        "chain": list(registry.postprocessors),
    }
    checks: list[tuple[str, FolderCheck, list[str]]] = []
    for dataset in datasets:
        path, repairs = data / dataset.folder, []
        if not isinstance(dataset, FolderDataset):
            checked = check_described(dataset, path, names)
        else:
            repairs = fix_dataset(dataset, path) if options.fix else []
            checked = check_dataset(dataset, path, names)
        problems = (*checked.problems, *_of_corrections(dataset, path))
        checks.append((dataset.name, replace(checked, problems=problems), repairs))
    return CommandAnswer(
        folder_report(checks),
        [
            {
                "dataset": name,
                "kinds": check.kinds,
                "problems": [asdict(problem) for problem in check.problems],
                "notes": check.notes,
                "fixed": repairs,
            }
            for name, check, repairs in checks
        ],
        int(any(check.problems for _, check, _ in checks)),
    )


def _of_corrections(dataset: Dataset, folder: Path) -> Iterator[Problem]:
    """Yield the mistakes in the file of corrections that a dataset folder names."""
    from pytest_tablebench.errors import TableBenchError
    from pytest_tablebench.running.correcting import correction_problems, folder_file

    try:
        file = folder_file(dataset, folder)
        if file is None:
            return
        corrections = file.read()
    except SettingsError as error:
        settings, _, message = str(error).partition(": ")
        yield Problem(settings, None, "", message)
        return
    try:
        source = dataset.open(folder)
        examples = {dataset.name: source.example_ids(None)}
    except TableBenchError:  # reported already
        return
    for _, message in correction_problems(corrections, examples, lambda _: source):
        yield Problem(file.name, None, "", message)


def count_datasets(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.datasets.statistics import joined_facts, statistics_of
    from pytest_tablebench.reports.statistics import (
        statistics_json,
        statistics_report,
        write_statistics,
    )

    facts: dict[str, DatasetFacts] = {}
    benchmarks: dict[str, str] = {}
    missing: list[str] = []
    for dataset, folder in _datasets(options.names, options.bench_data):
        try:
            part = _facts(dataset, folder, options.limit)
        except DataMissing as error:
            missing.append(str(error))
            continue
        if part.questions:
            facts[dataset.name], benchmarks[dataset.name] = part, dataset.benchmark
        else:
            why = f": {part.problem}" if part.problem else ""
            missing.append(f"{dataset.name} has no usable question{why}")
    if not facts:
        raise DataError("; ".join(missing[:3]))
    statistics = [statistics_of(name, benchmarks[name], part) for name, part in facts.items()]
    whole = statistics_of("all", "", joined_facts(facts)) if len(facts) > 1 else None
    lines = []
    if options.out is not None:
        files = write_statistics(statistics, whole, options.out, plots=not options.no_plots)
        lines = [f"{counted(len(files), 'file')}: {options.out}"]
    report = statistics_report(statistics, whole, missing)
    return CommandAnswer(report, statistics_json(statistics, whole), lines=lines)


def _facts(dataset: Dataset, folder: Path, limit: int | None) -> DatasetFacts:
    from pytest_tablebench.datasets.statistics import read_facts

    source = open_dataset(dataset, folder, compat="fixed", settings={})
    return read_facts(source, dataset.benchmark, limit)


def _datasets(names: Sequence[str], data: Path | None) -> Iterator[tuple[Dataset, Path]]:
    """Yield the datasets of each name, once, with the folder of their files.

    Raises `SettingsError` for an unknown name, and `DataError` for a folder without a dataset.
    """
    data_folder = Settings(data=data).data_folder()
    registry = command_registry(data_folder)
    by_benchmark: dict[str, list[str]] = {}
    for name, dataset in registry.datasets.items():
        by_benchmark.setdefault(dataset.benchmark, []).append(name)
    taken: set[tuple[str, Path]] = set()
    for name in names:
        if name in registry.datasets:
            chosen = [(registry.datasets[name], data_folder)]
        elif name in by_benchmark:
            chosen = [(registry.datasets[member], data_folder) for member in by_benchmark[name]]
        elif Path(name).is_dir():
            chosen = [(dataset, Path(name)) for dataset in folder_datasets(Path(name))]
            if not chosen:
                raise DataError(f"no dataset in {name}: it needs questions.csv, .jsonl or .xlsx")
        else:
            raise SettingsError(
                unknown_name("dataset", name, dict.fromkeys([*registry.datasets, *by_benchmark]))
            )
        for dataset, root in chosen:
            folder = root / dataset.folder
            if (dataset.name, real_path(folder)) not in taken:
                taken.add((dataset.name, real_path(folder)))
                yield dataset, folder
