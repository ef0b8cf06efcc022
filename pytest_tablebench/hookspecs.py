"""Hooks that add parts: datasets, serializers, metrics and others. The built-in parts use them too.

A package implements them in the module of its `pytest11` entry point, a project in a `conftest.py`.
A part can only be used by the name under which it is registered.
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
        """Registers a part of the grid; with `grid=False` it runs only if an option names it."""

        def __call__(self, name: str, part: Part_contra, *, grid: bool = True) -> None:
            """Register a part under a name. Raises `SettingsError` if the name is taken."""
            ...


hookspec = pluggy.HookspecMarker("pytest")


@hookspec
def pytest_tablebench_register_dataset(
    register: Callable[[Dataset], None], data: Path | None
) -> None:
    """Add datasets: call `register(dataset)` for each. Options use its `name`.

    `data` is the data folder of the session (`--bench-data`), for datasets that depend on its
    files, or None outside of a session. A function that does not need it leaves it out.

    A dataset is a `pytest_tablebench.extend.Dataset`. Its fields apply unless an option overrides
    them. Without `serializers` and `perturbations` its grid is ToRR's seven and five, followed by
    the parts that are registered

    - by the package that registers the dataset;
    - for a dataset of a `conftest.py`: by any package, by that file, and by the `conftest.py` files
      of the folders above it.

    So installing another package does not change the figures of a benchmark.
    """


@hookspec
def pytest_tablebench_register_benchmark(register: Callable[[Benchmark], None]) -> None:
    """Add benchmarks: `register(Benchmark(name))` adds the marker of that name.

    Datasets name their benchmark, and its figures are means over them. This hook is called in every
    session, even without any case, so do not import datasets for it.
    """


@hookspec
def pytest_tablebench_register_serializer(register: Register[Serializer]) -> None:
    """Add serializers: `register(name, function)`, where `function(table)` returns text.

    A serializer that shows pictures returns a tuple of texts and `Image`s. It joins the default
    grid of the package's own datasets and of the user's (see
    `pytest_tablebench_register_dataset`). With `register(name, function,
    grid=False)` it runs only if `--bench-serializer` names it.
    """


@hookspec
def pytest_tablebench_register_perturbation(
    register: Register[Perturbation],
) -> None:
    """Add perturbations: `register(name, function)`; `function(table, *, seed, **arguments)`.

    They join the grid as serializers do, unless registered with `grid=False`. If the attribute
    `preserves_meaning` of a function is False (see `tables.perturbations.changes_meaning`), its
    cases do not count in performance and robustness, and have a separate figure.
    """


@hookspec
def pytest_tablebench_register_metric(
    register: Callable[[str, Metric], None],
    register_postprocessor: Callable[[str, Postprocessor], None],
) -> None:
    """Add metrics, `function(prediction, references, *, compat, **context) -> Score`.

    A metric that asks a judge or runs programs is a generator function: it yields `Ask` and
    `Execute`, receives their outcomes, and returns the score (see
    `pytest_tablebench.metrics.Judgement`). Its attribute `params` contains the parameters of its
    questions, in addition to temperature 0 and 512 tokens. An expensive plain metric has the
    attribute `heavy = True`; `--bench-score-there` then runs it in another process, where the same
    version of its module must be installed. The second argument adds post-processors, for the
    `chain` of a dataset.
    """


@hookspec
def pytest_tablebench_register_strategy(register: Callable[[Strategy], None]) -> None:
    """Add strategies: `register(strategy)`. Options use its `name`.

    Strategies join no grid: a dataset uses its own strategy unless an option names others.
    """


@hookspec
def pytest_tablebench_register_provider(
    register: Callable[[str, Callable[[str, Settings], Provider | LiteLLMModel]], None],
) -> None:
    """Add model providers: `register(prefix, make)`.

    `make(model, settings)` is called for model names that start with `prefix` and a slash. The
    prefix "" matches all names that no other prefix matches. If `make` is a function or class of a
    module, the provider gets concurrent calls (see `pytest_tablebench.models.Provider`).
    """
