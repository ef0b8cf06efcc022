"""Register the package's own parts through the same hooks as extensions."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from pytest_tablebench import hookspecs
from pytest_tablebench.errors import SettingsError, described
from pytest_tablebench.registry import Registry
from pytest_tablebench.util.names import printable, shortened

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Benchmark, Dataset
    from pytest_tablebench.hookspecs import Register
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.registry import ProviderMaker
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.strategies import Strategy
    from pytest_tablebench.tables.perturbations import Perturbation
    from pytest_tablebench.tables.table import Table

hookimpl = pluggy.HookimplMarker("pytest")


class BuiltIns:
    """The hooks of the package's own parts.

    Imports are inside the methods, so that registering this object costs nothing.
    """

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_dataset(
        self, register: Callable[[Dataset], None], data: Path | None
    ) -> None:
        """Register the datasets in the benchmarks' folders, and those that their data name."""
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
        from pytest_tablebench.serializers import (
            PICTURES,
            SERIALIZERS,
            to_columns,
            to_frame,
            to_latex,
        )

        for name, serializer in SERIALIZERS.items():
            register(name, serializer)
        register("latex", to_latex, grid=False)
        for name, pictures in PICTURES.items():
            register(name, pictures, grid=False)
        register("frame", to_frame, grid=False)
        register("columns", to_columns, grid=False)
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

        for name, metric in METRICS.items():
            register(name, metric)
        for name, postprocessor in POSTPROCESSORS.items():
            register_postprocessor(name, postprocessor)

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
    """The hook of the user's datasets: folders in the data folder."""

    of_data = True
    """Marks its datasets as parts of the data folder and not of this package."""

    @hookimpl(trylast=True)
    def pytest_tablebench_register_dataset(
        self, register: Callable[[Dataset], None], data: Path | None
    ) -> None:
        """Register the folders, except names that a user's reader has already registered."""
        if data is None:
            return
        from pytest_tablebench.datasets import built_in_datasets
        from pytest_tablebench.datasets.folder import folder_datasets

        for dataset_of_folder in folder_datasets(
            data, taken={dataset.name for dataset in built_in_datasets()}
        ):
            with suppress(SettingsError):
                register(dataset_of_folder)


@lru_cache(maxsize=1)
def builtin_registry() -> Registry:
    """Return the registry of the built-in parts, for use outside a pytest session."""
    return registry_with(None)


def registry_with(data: Path | None, plugins: Sequence[str] = ()) -> Registry:
    """Return the registry of the built-in parts and of the datasets in a data folder.

    `plugins` are files (a conftest.py) and modules whose hooks register more, as in a session.
    Raises `SettingsError` if one cannot be loaded.
    """
    manager = _Manager("pytest")
    manager.add_hookspecs(hookspecs)
    manager.register(BuiltIns())
    manager.register(OwnFolders())
    for name in plugins:
        manager.register(_loaded(name))
    return Registry.from_hooks(manager.hook, data=data)


def command_registry(data: Path | None = None, *folders: Path) -> Registry:
    """Return the registry of a command, equal to a session's registry in the same folder.

    `folders` are further folders whose conftest.py a session over them would read.
    """
    return registry_with(data, command_plugins(folders=folders))


def command_plugins(named: Sequence[str] = (), *, folders: Sequence[Path] = ()) -> list[str]:
    """Return the plugins of a command: installed extensions, conftest.py files, `named`.

    The conftest.py files come from the current folder and from `folders`.

    An extension or conftest.py that cannot be loaded is a note on standard error.
    """
    modules = {str(Path(name).resolve()) if name.endswith(".py") else name for name in named}
    loadable = []
    conftests = (name for folder in (Path.cwd(), *folders) for name in _conftest(folder))
    for name in dict.fromkeys((*_installed_extensions(), *conftests)):
        if name in modules:
            continue
        try:
            _loaded(name)
        except SettingsError as error:
            text = str(error).removeprefix("--plugin ")
            sys.stderr.write(f"note: {printable(text, 400)}; its names are unknown here\n")
        else:
            loadable.append(name)
    return [*loadable, *named]


def _installed_extensions() -> list[str]:
    return [
        point.module
        for point in metadata.entry_points(group="pytest11")
        if point.dist is not None and any(map(_is_this_package, point.dist.requires or ()))
    ]


def _is_this_package(requirement: str) -> bool:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return name is not None and re.sub(r"[._-]+", "-", name[0]).lower() == "pytest-tablebench"


def _conftest(folder: Path) -> list[str]:
    """Return the conftest.py of a folder if it registers anything; it is not run otherwise."""
    path = folder / "conftest.py"
    try:
        registers = "pytest_tablebench_register_" in path.read_text("utf-8", "replace")
    except OSError:
        return []
    return [str(path.resolve())] if registers else []


class _Manager(pluggy.PluginManager):
    """Finds hooks by name, as pytest does, because a conftest.py does not mark them."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if isinstance(plugin, ModuleType) and not name.startswith("pytest_tablebench_register_"):
            return None
        options = super().parse_hookimpl_opts(plugin, name)
        return {} if options is None and isinstance(plugin, ModuleType) else options


def _loaded(name: str) -> ModuleType:
    path = Path(name)
    is_file = path.suffix == ".py"
    folder = str(path.resolve().parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as pytest does for a conftest.py
    try:
        return _of_file(path.resolve()) if is_file else importlib.import_module(name)
    except (Exception, SystemExit) as error:
        text = f"--plugin {name}: cannot be loaded: {described(error)}"
        raise SettingsError(shortened(text, 400)) from None


def _of_file(path: Path) -> ModuleType:
    name = f"{path.parent}.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
