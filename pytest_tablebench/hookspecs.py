"""Hooks by which other packages add to the benchmark; the built-in parts use the same ones.

A package implements them in the module that its entry point in the group `pytest11` names, one's
own project in a `conftest.py`. Every name is looked up among what was registered, nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Benchmark, Dataset
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.strategies import Strategy
    from pytest_tablebench.tables.perturbations import Perturbation

    Part_contra = TypeVar("Part_contra", contravariant=True)

    class Register(Protocol[Part_contra]):
        """Takes a part of the grid; without `grid` it is run only where an option names it."""

        def __call__(self, name: str, part: Part_contra, *, grid: bool = True) -> None:
            """Register a part under a name. Raises `SettingsError` for one that is taken."""
            ...


hookspec = pluggy.HookspecMarker("pytest")


@hookspec
def pytest_tablebench_register_dataset(
    register: Callable[[Dataset], None], data: Path | None
) -> None:
    """Add datasets: call `register(dataset)` for each; its `name` is used in options.

    `data` is the data folder of the session (`--bench-data`), for datasets that depend on what
    lies there; None outside of a session. A function that has no use for it leaves it out.

    A dataset is a `pytest_tablebench.extend.Dataset`, whose fields say how it is run where no
    option does. Without `serializers` and `perturbations` it is run in ToRR's seven and five, and
    behind these in what was registered

    - by the package that registers the dataset;
    - for a dataset of a `conftest.py`: by any package, by that file, and by those of the folders
      above it.

    So the figures of a benchmark do not change by what else is installed.
    """


@hookspec
def pytest_tablebench_register_benchmark(register: Callable[[Benchmark], None]) -> None:
    """Add benchmarks: `register(Benchmark(name))`, for the marker of that name.

    The datasets of a benchmark name it as theirs; its figures are means over them. This hook alone
    is called in every session, also in those that run no case: import no dataset for it.
    """


@hookspec
def pytest_tablebench_register_serializer(register: Register[Serializer]) -> None:
    """Add serializers: `register(name, function)`, where `function(table)` returns text.

    One that shows pictures returns a tuple of texts and `Image`s. `--bench-serializer` knows the
    name; where no option names one, datasets of the same package or of the user's own are
    run in it too (see `pytest_tablebench_register_dataset`). `register(name, function,
    grid=False)` leaves it to the option.
    """


@hookspec
def pytest_tablebench_register_perturbation(
    register: Register[Perturbation],
) -> None:
    """Add perturbations: `register(name, function)`; `function(table, *, seed, **arguments)`.

    They join the grid as serializers do, unless registered with `grid=False`. One that has an
    attribute `preserves_meaning` that is False (see `tables.perturbations.changes_meaning`) stays
    out of performance and robustness: its cases have a figure of their own.
    """


@hookspec
def pytest_tablebench_register_metric(
    register: Callable[[str, Metric], None],
    register_postprocessor: Callable[[str, Postprocessor], None],
) -> None:
    """Add metrics, `function(prediction, references, *, compat, **context) -> Score`.

    One that asks a judge or has programs run is a generator function: it yields `Ask`, `Execute`,
    is sent what came of each, and returns the score (see `pytest_tablebench.metrics.Judgement`).
    Its attribute `params` names parameters of its questions, over temperature 0 and 512 tokens.
    A plain one that takes long has an attribute `heavy` that is True: `--bench-score-there` has it
    score in another process, where its module has to be installed in the same version.
    Post-processors a dataset's chain names are added with the second argument.
    """


@hookspec
def pytest_tablebench_register_strategy(register: Callable[[Strategy], None]) -> None:
    """Add strategies: `register(strategy)`; its `name` is used in options.

    None joins a grid: a dataset is asked by its own strategy, unless an option names others.
    """


@hookspec
def pytest_tablebench_register_provider(
    register: Callable[[str, Callable[[str, Settings], Provider | LiteLLMModel]], None],
) -> None:
    """Add model providers: `register(prefix, make)`.

    `make(model, settings)` is called for model names that start with `prefix` and a slash;
    the prefix "" takes all names no other provider does. Where `make` is a function or class of a
    module, the provider is asked many at a time (see `pytest_tablebench.models.Provider`).
    """
