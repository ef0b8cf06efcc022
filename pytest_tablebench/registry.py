"""The registry of all named parts, filled through the hooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.errors import SettingsError, TableBenchError, described
from pytest_tablebench.util.names import shortened
from pytest_tablebench.util.signatures import Call, call_problem, method_problem, source_of

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Benchmark, Dataset
    from pytest_tablebench.metrics import Metric, Postprocessor
    from pytest_tablebench.models import LiteLLMModel, Provider
    from pytest_tablebench.serializers import Serializer
    from pytest_tablebench.strategies import Strategy
    from pytest_tablebench.tables.perturbations import Perturbation

    ProviderMaker = Callable[[str, Settings], Provider | LiteLLMModel]

BUILT_IN = __name__.partition(".")[0]
"""The owner of the built-in parts."""

KINDS = ("benchmark", "dataset", "serializer", "perturbation", "metric", "strategy", "provider")
"""The kinds of parts; each is registered through its own hook."""

_CALLS = {
    "metric": Call(
        "(prediction, references, *, compat, **context)", 2, {"compat": "fixed"}, "a Score"
    ),
    "post-processor": Call("(text)", 1),
    "serializer": Call("(table)", 1),
    "perturbation": Call("(table, *, seed, **arguments)", 1, {"seed": 0}),
    "provider": Call("(model, settings)", 2),
}
_CONVERSE = Call("(task)", 1)

_NAMES = {"strategy": "strategies", "post-processor": "postprocessors"}


class UsualGrid(NamedTuple):
    """The serializers and perturbations of a dataset's run."""

    serializers: tuple[str, ...]
    perturbations: tuple[str, ...]


class _PartOrigin(NamedTuple):
    """The owner of a part, and whether the part joins the default grid.

    `owner` is the name of the registering package, or the folder of its conftest.py.
    """

    owner: str | Path
    grid: bool

    def joins(self, home: str | Path) -> bool:
        """Return whether the part is in the grid of a dataset that `home` registered."""
        if not self.grid or self.owner in (BUILT_IN, home):
            return self.grid
        if isinstance(home, str):  # a package's grid contains only its own parts
            return False
        return isinstance(self.owner, str) or home.is_relative_to(self.owner)


@dataclass
class Registry:
    """Names of each kind, in order of registration."""

    datasets: dict[str, Dataset] = field(default_factory=dict)
    benchmarks: dict[str, Benchmark] = field(default_factory=dict)
    serializers: dict[str, Serializer] = field(default_factory=dict)
    perturbations: dict[str, Perturbation] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    postprocessors: dict[str, Postprocessor] = field(default_factory=dict)
    strategies: dict[str, Strategy] = field(default_factory=dict)
    providers: dict[str, ProviderMaker] = field(default_factory=dict)
    data: Path | None = field(default=None, kw_only=True)
    """The data folder of the session; its folders may be datasets. None outside of a session."""
    _origins: dict[tuple[str, str], _PartOrigin] = field(default_factory=dict)

    @classmethod
    def from_hooks(
        cls, hook: Any, kinds: Iterable[str] = KINDS, *, data: Path | None = None
    ) -> Registry:
        """Call the registration hooks. Raises `SettingsError` for a name that is used twice.

        `data` is the data folder; its folders may be datasets.
        """
        registry = cls(data=data)
        for kind in kinds:
            caller = getattr(hook, f"pytest_tablebench_register_{kind}")
            # One by one, in pluggy's order, because the owner decides which grids a part joins.
            for implementation in reversed(caller.get_hookimpls()):
                of_data = data is not None and getattr(implementation.plugin, "of_data", False)
                owner = data if data is not None and of_data else _owner(implementation.plugin)
                arguments: dict[str, Any] = {
                    "data": data,
                    "register": partial(registry._add, kind, owner),
                    "register_postprocessor": partial(registry._add, "post-processor", owner),
                }
                implementation.function(*(arguments[name] for name in implementation.argnames))
        return registry

    def _add(self, kind: str, owner: str | Path, *part: Any, grid: bool = True) -> None:
        """Add a part under a name, or under its own name."""
        name, value = part if len(part) > 1 else (_name_of(kind, part[0]), part[0])
        if owner != BUILT_IN:
            _require_usable(kind, name, value)
        names: dict[str, Any] = getattr(self, _NAMES.get(kind, f"{kind}s"))
        if name in names:
            raise SettingsError(f"{kind} {name!r} is registered twice; rename one of them")
        names[name] = value
        self._origins[kind, name] = _PartOrigin(owner, grid)

    def update(self, hook: Any) -> None:
        """Add the parts of conftest.py files that pytest has loaded since."""
        registered = Registry.from_hooks(hook, data=self.data)
        for kind in fields(self):
            parts = getattr(self, kind.name)
            if not isinstance(parts, dict):
                continue
            for name, value in getattr(registered, kind.name).items():
                parts.setdefault(name, value)

    def is_built_in(self, kind: str, name: str) -> bool:
        """Return whether a part is built in."""
        origin = self._origins.get((kind, name))
        return origin is not None and origin.owner == BUILT_IN

    def grid(self, dataset: str) -> UsualGrid:
        """Return the default grid of a dataset, used if neither the dataset nor an option sets one.

        It is the built-in grid, followed by the parts of the dataset's own package or conftest.py
        files (see `hookspecs`).
        """
        home = self._origins.get(("dataset", dataset), _PartOrigin(BUILT_IN, True)).owner
        return UsualGrid(self._joining("serializer", home), self._joining("perturbation", home))

    def _joining(self, kind: str, home: str | Path) -> tuple[str, ...]:
        """Return the parts that join a grid, in a fixed order.

        The built-in parts come first, then packages by name, then conftest.py files from the top.
        """
        matches = [
            (origin.owner != BUILT_IN, isinstance(origin.owner, Path), str(origin.owner), name)
            for (own_kind, name), origin in self._origins.items()
            if own_kind == kind and origin.joins(home)
        ]
        return tuple(name for *_, name in sorted(matches, key=lambda match: match[:3]))

    def members(self) -> dict[str, list[str]]:
        """Return the datasets of each benchmark; its figures are means over them."""
        members: dict[str, list[str]] = {name: [] for name in self.benchmarks}
        for name, dataset in self.datasets.items():
            members.setdefault(dataset.benchmark, []).append(name)
        return members

    def provider_maker(self, model: str) -> ProviderMaker:
        """Return the factory of a model's provider: the one with the longest matching prefix."""
        prefixes = [
            prefix
            for prefix in self.providers
            if not prefix or model == prefix or model.startswith(prefix + "/")
        ]
        return self.providers[max(prefixes, key=len)]

    def provider(self, model: str, settings: Settings) -> Provider | LiteLLMModel:
        """Return the provider of a model. Raises `SettingsError`, also if its factory fails."""
        try:
            return self.provider_maker(model)(model, settings)
        except TableBenchError:
            raise
        except Exception as error:
            raise SettingsError(
                f"--bench-model: {model}: {shortened(described(error), 400)}"
            ) from None


def _name_of(kind: str, part: object) -> str:
    name = getattr(part, "name", None)
    if not isinstance(name, str):
        raise SettingsError(f"a {kind}{source_of(part)} has no name: give it a text as `name`")
    return name


def _require_usable(kind: str, name: str, part: object) -> None:
    """Raise `SettingsError` for a part that its kind cannot use."""
    problem = None
    if kind == "dataset":
        from pytest_tablebench.datasets import Dataset

        if not isinstance(part, Dataset):
            problem = "is not a pytest_tablebench.extend.Dataset; derive its class from it"
    elif kind == "strategy":
        problem = method_problem(part, "converse", _CONVERSE)
    elif kind in _CALLS:
        problem = call_problem(part, _CALLS[kind])
    if problem is not None:
        raise SettingsError(f"{kind} {name!r}{source_of(part)}: {problem}")


def _owner(plugin: Any) -> str | Path:
    """Return the package of a plugin, or the folder of a conftest.py."""
    name = plugin.__name__ if isinstance(plugin, ModuleType) else plugin.__module__
    module = sys.modules.get(name)
    if name.rpartition(".")[2] == "conftest" and module is not None and module.__file__:
        return Path(module.__file__).parent
    return str(name.partition(".")[0])
