"""The parts that come with the package, registered through the hooks like those of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from pytest_tablebench import hookspecs
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.registry import Registry

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Benchmark, Dataset
    from pytest_tablebench.hookspecs import Register
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.strategies import Strategy
    from pytest_tablebench.tables.perturbations import Perturbation
    from pytest_tablebench.tables.table import Table

    ProviderMaker = Callable[[str, Settings], Provider | LiteLLMModel]

__all__ = ["BuiltIns", "OwnFolders", "builtin_registry", "registry_with"]

hookimpl = pluggy.HookimplMarker("pytest")


class BuiltIns:
    """The parts that come with the package, registered through the hooks like any other.

    Imports stand inside the methods, so that registering this object costs nothing.
    """

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_dataset(
        self, register: Callable[[Dataset], None], data: Path | None
    ) -> None:
        """Register every dataset that lies in the folder of a benchmark, or that its data name."""
        from pytest_tablebench.datasets import built_in_datasets

        for dataset in built_in_datasets(data):
            register(dataset)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_benchmark(self, register: Callable[[Benchmark], None]) -> None:
        """Register every benchmark that has a folder."""
        from pytest_tablebench.datasets import built_in_benchmarks

        for benchmark in built_in_benchmarks():
            register(benchmark)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_serializer(self, register: Register[Serializer]) -> None:
        """Register ToRR's seven formats and, outside the grid, LaTeX and others."""
        from pytest_tablebench.datasets.case import NO_TABLE
        from pytest_tablebench.serializers import PICTURES, SERIALIZERS, to_frame, to_latex

        _each(SERIALIZERS, register)
        register("latex", to_latex, grid=False)
        for name, pictures in PICTURES.items():
            register(name, pictures, grid=False)
        register("frame", to_frame, grid=False)
        register(NO_TABLE, _shows_nothing, grid=False)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_perturbation(self, register: Register[Perturbation]) -> None:
        """Register ToRR's perturbations and, outside the grid, the reference's other augmentors."""
        from pytest_tablebench.tables.perturbations import GRID, PERTURBATIONS

        for name, perturbation in PERTURBATIONS.items():
            register(name, perturbation, grid=name in GRID)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_metric(
        self,
        register: Callable[[str, Metric], None],
        register_postprocessor: Callable[[str, Postprocessor], None],
    ) -> None:
        """Register all metrics and post-processors."""
        from pytest_tablebench.metrics import METRICS, POSTPROCESSORS

        _each(METRICS, register)
        _each(POSTPROCESSORS, register_postprocessor)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_strategy(self, register: Callable[[Strategy], None]) -> None:
        """Register the strategies."""
        from pytest_tablebench.strategies import STRATEGIES

        for strategy in STRATEGIES:
            register(strategy)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_provider(
        self, register: Callable[[str, ProviderMaker], None]
    ) -> None:
        """Register the built-in models, and litellm for every other name."""

        def make(model: str, settings: Settings) -> Provider | LiteLLMModel:
            from pytest_tablebench.models import make_provider

            return make_provider(
                model,
                api_base=settings.api_base,
                timeout=settings.timeout,
                max_reply=settings.max_reply,
            )

        register("tablebench", make)
        register("", make)


def _shows_nothing(table: Table) -> str:  # noqa: ARG001 - whatever it is
    return ""


class OwnFolders:
    """The folders of the data folder that are datasets: the user's own, as a conftest.py's are."""

    of_data = True
    """What it registers is of the data folder, and not of this package."""

    @hookimpl(trylast=True)
    def pytest_tablebench_register_dataset(
        self, register: Callable[[Dataset], None], data: Path | None
    ) -> None:
        """Register them, but those whose name somebody has already given to a reader of his."""
        if data is None:
            return
        from pytest_tablebench.datasets import built_in_datasets
        from pytest_tablebench.datasets.folder import folder_datasets

        for own in folder_datasets(data, taken={dataset.name for dataset in built_in_datasets()}):
            with suppress(SettingsError):
                register(own)


def _each(names: Mapping[str, Any], register: Callable[[str, Any], None]) -> None:
    for name, value in names.items():
        register(name, value)


@lru_cache(maxsize=1)
def builtin_registry() -> Registry:
    """Return the registry of the built-in parts, for use outside a pytest session."""
    return registry_with(None)


def registry_with(data: Path | None) -> Registry:
    """Return the registry of the built-in parts and of the datasets in a data folder."""
    manager = pluggy.PluginManager("pytest")
    manager.add_hookspecs(hookspecs)
    manager.register(BuiltIns())
    manager.register(OwnFolders())
    return Registry.from_hooks(manager.hook, data=data)
