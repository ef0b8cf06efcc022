"""Benchmarks: what a folder of datasets is called. Costs nothing to import."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_tablebench.datasets._dataset import Dataset

_ROOM = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: the datasets whose `benchmark` is its name.

    Its figures are means over those datasets, each of which counts alike. A dataset may name one
    that nobody registers; a registered one has a marker of its name.
    """

    name: str


def _folders() -> Iterator[tuple[str, Benchmark]]:
    """Yield the packages of this room that declare a `BENCHMARK`, by their full names."""
    path = import_module(_ROOM).__path__
    for module in pkgutil.iter_modules(path, f"{_ROOM}."):
        if module.ispkg:
            benchmark = getattr(import_module(module.name), "BENCHMARK", None)
            if benchmark is not None:
                yield module.name, benchmark


def built_in_benchmarks() -> list[Benchmark]:
    """Return the benchmarks that come with the package; imports none of their datasets."""
    return [benchmark for _, benchmark in _folders()]


def built_in_datasets(data: Path | None = None) -> list[Dataset]:
    """Return what the modules of the benchmarks' folders export as `DATASETS`.

    With a data folder also what a module's function `datasets_in(data)` yields: datasets that the
    files there name. A module whose name begins with an underscore holds what others share.
    """
    datasets: list[Dataset] = []
    for name, _ in _folders():
        package = import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                exports = import_module(module.name)
                datasets += exports.DATASETS
                if data is not None and hasattr(exports, "datasets_in"):
                    datasets += exports.datasets_in(data)
    return datasets
