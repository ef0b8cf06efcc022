"""Hooks by which other packages add to the benchmark; the built-in parts use the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.strategies import Strategy
    from pytest_tablebench.tables.perturbations import Perturbation

hookspec = pluggy.HookspecMarker("pytest")


@hookspec
def pytest_tablebench_register_dataset(register: Callable[[Dataset], None]) -> None:
    """Add datasets: call `register(dataset)` for each; its `name` is used in options."""


@hookspec
def pytest_tablebench_register_serializer(register: Callable[[str, Serializer], None]) -> None:
    """Add table formats: `register(name, function)`, where `function(table)` returns text.

    One that shows pictures returns a tuple of texts and `Image`s.
    """


@hookspec
def pytest_tablebench_register_perturbation(
    register: Callable[[str, Perturbation], None],
) -> None:
    """Add perturbations: `register(name, function)`; `function(table, *, seed, **arguments)`."""


@hookspec
def pytest_tablebench_register_metric(
    register: Callable[[str, Metric], None],
    register_postprocessor: Callable[[str, Postprocessor], None],
) -> None:
    """Add metrics, `function(prediction, references, *, compat, **context) -> Score`.

    Post-processors a dataset's chain names are added with the second argument.
    """


@hookspec
def pytest_tablebench_register_strategy(register: Callable[[Strategy], None]) -> None:
    """Add strategies: `register(strategy)`; its `name` is used in options."""


@hookspec
def pytest_tablebench_register_provider(
    register: Callable[[str, Callable[[str, Settings], Provider | LiteLLMModel]], None],
) -> None:
    """Add model providers: `register(prefix, make)`.

    `make(model, settings)` is called for model names that start with `prefix` and a slash;
    the prefix "" takes all names no other provider does.
    """
