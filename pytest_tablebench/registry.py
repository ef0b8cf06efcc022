"""Everything with a name, as registered through the hooks; and our own registrations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError, TableBenchError, described
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.strategies import Strategy
    from pytest_tablebench.tables.perturbations import Perturbation

    ProviderMaker = Callable[[str, Settings], Provider | LiteLLMModel]

__all__ = ["Registry"]


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
