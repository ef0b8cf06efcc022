"""`tablebench stats NAME...`: questions, tables, sizes, structure and kinds of datasets."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import DataError, DataMissing, SettingsError
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted, unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.datasets.statistics import DatasetFacts


def count_datasets(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.datasets.statistics import joined_facts, statistics_of
    from pytest_tablebench.reports.data import (
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
    from pytest_tablebench.datasets import open_dataset
    from pytest_tablebench.datasets.statistics import read_facts

    source = open_dataset(dataset, folder, compat="fixed", settings={})
    return read_facts(source, dataset.benchmark, limit)


def _datasets(names: Sequence[str], data: Path | None) -> Iterator[tuple[Dataset, Path]]:
    """Yield the datasets of each name, once, with the folder of their files.

    Raises `SettingsError` for an unknown name, and `DataError` for a folder without a dataset.
    """
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets.folder import folder_datasets
    from pytest_tablebench.running.builtins import command_registry

    place = Settings(data=data).data_folder()
    registry = command_registry(place)
    by_benchmark: dict[str, list[str]] = {}
    for name, dataset in registry.datasets.items():
        by_benchmark.setdefault(dataset.benchmark, []).append(name)
    taken: set[tuple[str, Path]] = set()
    for name in names:
        if name in registry.datasets:
            chosen = [(registry.datasets[name], place)]
        elif name in by_benchmark:
            chosen = [(registry.datasets[member], place) for member in by_benchmark[name]]
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
