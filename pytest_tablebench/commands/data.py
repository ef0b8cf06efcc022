"""`tablebench list` and `tablebench pull`: datasets, and the state of their files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import print_lines
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset


def pull_datasets(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.datasets.pull import known_sources, pull
    from pytest_tablebench.running.builtins import command_registry

    folder = Settings(data=options.bench_data).data_folder()
    upstreams = known_sources(command_registry(folder).datasets.values())
    pull(options.names, folder, say=lambda line: print_lines([line]), upstreams=upstreams)
    return [], 0


def list_datasets(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.running.builtins import command_registry

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
    models = "lexical", "ocr", "smollm2", "scripted:FILE"
    names_shown = " ".join(f"tablebench/{name}" for name in models)
    return [*lines, "built-in models", f"  {names_shown} gguf:FILE"], 0


def data_state(dataset: Dataset, data: Path) -> tuple[str, str]:
    """Return `installed`, `missing` or `unusable`, and "", what to do or the reason."""
    from pytest_tablebench.datasets.files import how_to_get

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
