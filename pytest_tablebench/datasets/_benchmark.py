"""Benchmarks, and the discovery of built-in ones. This module is cheap to import."""

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
    """A benchmark: all datasets whose `benchmark` is its name.

    Its figures are unweighted means over these datasets. A registered benchmark has a marker of its
    name; a dataset may also name a benchmark that is not registered.
    """

    name: str


def _benchmark_packages() -> Iterator[tuple[str, Benchmark]]:
    path = import_module(_ROOM).__path__
    for module in pkgutil.iter_modules(path, f"{_ROOM}."):
        if module.ispkg:
            benchmark = getattr(import_module(module.name), "BENCHMARK", None)
            if benchmark is not None:
                yield module.name, benchmark


def built_in_benchmarks() -> list[Benchmark]:
    """Return the built-in benchmarks, without importing their datasets."""
    return [benchmark for _, benchmark in _benchmark_packages()]


def built_in_datasets(data: Path | None = None) -> list[Dataset]:
    """Return the `DATASETS` of all public modules of the benchmark packages.

    With a data folder, also return the datasets that a module's function `datasets_in(data)` finds
    in its files.
    """
    datasets: list[Dataset] = []
    for name, _ in _benchmark_packages():
        package = import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                exports = import_module(module.name)
                datasets += exports.DATASETS
                if data is not None and hasattr(exports, "datasets_in"):
                    datasets += exports.datasets_in(data)
    return datasets
