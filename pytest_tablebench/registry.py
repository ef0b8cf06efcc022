"""Everything with a name, as registered through the hooks; and our own registrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pluggy

from pytest_tablebench import hookspecs
from pytest_tablebench.errors import SettingsError, TableBenchError, described
from pytest_tablebench.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.perturbations import Perturbation
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.settings import Settings
    from pytest_tablebench.strategies import Strategy

    ProviderMaker = Callable[[str, Settings], Provider | LiteLLMModel]

__all__ = ["BuiltIns", "Registry", "builtin_registry"]

hookimpl = pluggy.HookimplMarker("pytest")


@dataclass
class Registry:
    """Names of each kind, in order of registration."""

    datasets: dict[str, Dataset] = field(default_factory=dict)
    serializers: dict[str, Serializer] = field(default_factory=dict)
    perturbations: dict[str, Perturbation] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    postprocessors: dict[str, Postprocessor] = field(default_factory=dict)
    strategies: dict[str, Strategy] = field(default_factory=dict)
    providers: dict[str, Callable[[str, Settings], Provider | LiteLLMModel]] = field(
        default_factory=dict
    )

    @classmethod
    def from_hooks(cls, hook: Any) -> Registry:
        """Call the registration hooks. Raises `SettingsError` for a name taken twice."""
        registry = cls()
        hook.pytest_tablebench_register_dataset(
            register=lambda dataset: _add(registry.datasets, "dataset", dataset.name, dataset)
        )
        hook.pytest_tablebench_register_serializer(
            register=_adder(registry.serializers, "serializer")
        )
        hook.pytest_tablebench_register_perturbation(
            register=_adder(registry.perturbations, "perturbation")
        )
        hook.pytest_tablebench_register_metric(
            register=_adder(registry.metrics, "metric"),
            register_postprocessor=_adder(registry.postprocessors, "post-processor"),
        )
        hook.pytest_tablebench_register_strategy(
            register=lambda strategy: _add(registry.strategies, "strategy", strategy.name, strategy)
        )
        hook.pytest_tablebench_register_provider(register=_adder(registry.providers, "provider"))
        return registry

    def update(self, hook: Any) -> None:
        """Add what was registered since: pytest reads a deeper conftest.py when it gets there."""
        found = Registry.from_hooks(hook)
        for kind in fields(self):
            known: dict[str, Any] = getattr(self, kind.name)
            for name, value in getattr(found, kind.name).items():
                known.setdefault(name, value)

    def provider(self, model: str, settings: Settings) -> Provider | LiteLLMModel:
        """Return the provider of a model, the longest matching prefix first.

        Raises `SettingsError`, also where the function that makes it fails.
        """
        prefixes = [
            prefix
            for prefix in self.providers
            if not prefix or model == prefix or model.startswith(prefix + "/")
        ]
        try:
            return self.providers[max(prefixes, key=len)](model, settings)
        except TableBenchError:
            raise
        except Exception as error:
            raise SettingsError(
                f"--bench-model: {printable(f'{model}: {described(error)}', 400)}"
            ) from None


def _add(names: dict[str, Any], kind: str, name: str, value: Any) -> None:
    if name in names:
        raise SettingsError(f"{kind} {name!r} is registered twice; rename one of them")
    names[name] = value


def _adder(names: dict[str, Any], kind: str) -> Callable[[str, Any], None]:
    return lambda name, value: _add(names, kind, name, value)


class BuiltIns:
    """The parts that come with the package, registered through the hooks like any other.

    Imports stand inside the methods, so that registering this object costs nothing.
    """

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_dataset(self, register: Callable[[Dataset], None]) -> None:
        """Register the embedded dataset and ToRR's."""
        from pytest_tablebench.datasets.starter import Starter
        from pytest_tablebench.datasets.torr.finqa import FinQA
        from pytest_tablebench.datasets.torr.numericnlg import NumericNLG
        from pytest_tablebench.datasets.torr.qtsumm import QTSumm
        from pytest_tablebench.datasets.torr.scigen import SciGen
        from pytest_tablebench.datasets.torr.tabfact import TabFact
        from pytest_tablebench.datasets.torr.tablebench import TABLEBENCH
        from pytest_tablebench.datasets.torr.turl_cta import TurlCTA
        from pytest_tablebench.datasets.torr.wikitq import WikiTQ

        for dataset in (
            Starter(),
            FinQA(),
            FinQA(whole=True),
            WikiTQ(),
            TabFact(),
            NumericNLG(),
            SciGen(),
            QTSumm(),
            TurlCTA(),
            *TABLEBENCH,
        ):
            register(dataset)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_serializer(
        self, register: Callable[[str, Serializer], None]
    ) -> None:
        """Register ToRR's seven formats."""
        from pytest_tablebench.serializers import SERIALIZERS

        _each(SERIALIZERS, register)

    @hookimpl(tryfirst=True)
    def pytest_tablebench_register_perturbation(
        self, register: Callable[[str, Perturbation], None]
    ) -> None:
        """Register ToRR's perturbations and the reference's other augmentors."""
        from pytest_tablebench.perturbations import PERTURBATIONS

        _each(PERTURBATIONS, register)

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
        from pytest_tablebench.strategies import Direct

        register(Direct())

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


def _each(names: Mapping[str, Any], register: Callable[[str, Any], None]) -> None:
    for name, value in names.items():
        register(name, value)


@lru_cache(maxsize=1)
def builtin_registry() -> Registry:
    """Return the registry of the built-in parts, for use outside a pytest session."""
    manager = pluggy.PluginManager("pytest")
    manager.add_hookspecs(hookspecs)
    manager.register(BuiltIns())
    return Registry.from_hooks(manager.hook)
