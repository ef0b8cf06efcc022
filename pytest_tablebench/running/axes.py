"""What a run varies beside the question: format, perturbation, strategy, modality."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.config.settings import check_names
from pytest_tablebench.datasets.case import DIRECT, TEXT
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.registry import Grid
from pytest_tablebench.serializers.content import has_content, images_of
from pytest_tablebench.strategies import named_strategy
from pytest_tablebench.tables.perturbations import apply_perturbation, parse_perturbation
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import printable, unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.serializers import Serializer

__all__ = ["Axes"]


def _probe() -> Table:
    """Return a table that shows at once what a part of somebody's own does with one."""
    return Table(("a", "b"), (("1", "2"), ("3", "4")))


class Axes:
    """The axes of one run: what the options name, and what holds where they name nothing."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self._settings = settings
        self._registry = registry
        self._shown: dict[str, tuple[str, ...]] = {}

    def of(self, dataset: str) -> Grid:
        """Return the grid of a dataset: what the options name, else its own."""
        own = self._registry.grid(dataset)
        return Grid(
            self._settings.serializers or own.serializers,
            self._settings.perturbations or own.perturbations,
        )

    def _grids(self, datasets: Iterable[str] = ()) -> list[Grid]:
        """Return the grids of some datasets; without any, of all that the run may be over."""
        known = self._registry.datasets
        asked = datasets or self._settings.datasets or known
        return [self.of(name) for name in asked if name in known]

    def _all_of(self, datasets: Iterable[str] = ()) -> Grid:
        """Return the serializers and perturbations of those grids, each once."""
        grids = self._grids(datasets)
        return Grid(
            tuple(dict.fromkeys(name for grid in grids for name in grid.serializers)),
            tuple(dict.fromkeys(name for grid in grids for name in grid.perturbations)),
        )

    def strategies(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the strategies by which a dataset is asked: those of the option, or its own."""
        return self._settings.strategies or (getattr(dataset, "strategy", None) or DIRECT,)

    def modalities(self, serializers: Iterable[str]) -> tuple[str, ...]:
        """Return the modalities of a run in these serializers, in order."""
        found = (name for own in self.shown(serializers).values() for name in own)
        return self._settings.modalities or tuple(dict.fromkeys(found))

    def shown(self, serializers: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the modalities in which each serializer is shown."""
        asked = self._settings.modalities
        found = {}
        for name in serializers:
            can = self._can_show(name)
            found[name] = can[:1] if asked is None else tuple(m for m in asked if m in can)
        return found

    def _can_show(self, name: str) -> tuple[str, ...]:
        if name not in self._shown:
            found = self._registry.serializers.get(name)
            plain = self._registry.is_built_in("serializer", name)
            self._shown[name] = (TEXT,) if found is None or plain else _modalities(found)
        return self._shown[name]

    def preserves_meaning(self, perturbation: str) -> bool:
        """Whether questions mean the same over a table that is perturbed so."""
        name, _ = parse_perturbation(perturbation)
        function = self._registry.perturbations.get(name)
        return bool(getattr(function, "preserves_meaning", True))

    def grid(self, datasets: Iterable[str]) -> dict[str, list[str]]:
        """Return the names on each axis, for what the run records of itself."""
        datasets = list(datasets)
        own = [
            name for d in datasets for name in self.strategies(self._registry.datasets[d])
        ] or list(self._settings.strategies or (DIRECT,))
        serializers, perturbations = self._all_of(datasets)
        return {
            "serializers": list(serializers),
            "perturbations": list(perturbations),
            "strategies": list(dict.fromkeys(own)),
            "modalities": list(self.modalities(serializers)),
        }

    def check(self) -> None:
        """Raise `SettingsError` for what the options name and nobody can do."""
        registry, settings = self._registry, self._settings
        grids = self._grids()
        configurations = max((len(one) * len(other) for one, other in grids), default=1)
        if grids and (settings.configs_per_example or 1) > configurations:
            raise SettingsError(
                f"--bench-configs-per-example {settings.configs_per_example}: the grid has only "
                f"{configurations} configurations"
            )
        check_names("serializer", settings.serializers, registry.serializers)
        for text in settings.strategies or ():
            try:
                named_strategy(text, registry.strategies)
            except SettingsError as error:
                raise type(error)(f"--bench-strategy: {error}") from None
        self._check_modalities()
        for text in settings.perturbations or ():
            try:
                self._check_perturbation(text)
            except UnknownNameError as error:
                raise UnknownNameError(f"--bench-perturbation: {error}") from None
            except (SettingsError, TypeError) as error:
                raise SettingsError(f"--bench-perturbation: {error}") from None

    def check_declared(self, name: str) -> None:
        """Raise `SettingsError` where a dataset declares a grid that cannot be."""
        serializers, perturbations = self.of(name)
        try:
            for written in serializers:
                if written not in self._registry.serializers:
                    known = self._registry.serializers
                    raise SettingsError(unknown_name("serializer", written, known))
            for perturbation in perturbations:
                self._check_perturbation(perturbation)
        except (SettingsError, TypeError) as error:
            raise SettingsError(f"dataset {name!r}: {error}") from None

    def check_strategy(self, name: str, dataset: Dataset) -> None:
        """Raise `SettingsError` where a dataset names a strategy that cannot be."""
        for strategy in self.strategies(dataset):
            try:
                named_strategy(strategy, self._registry.strategies)
            except SettingsError as error:
                raise SettingsError(f"dataset {name!r}: {error}") from None

    def _check_modalities(self) -> None:
        asked = self._settings.modalities or ()
        shown = self.shown(self._all_of().serializers)
        for modality in asked:
            if any(modality in own for own in shown.values()):
                continue
            what = "text" if modality == TEXT else "pictures"
            about = f"--bench-modality {modality} needs a serializer that gives {what}"
            able = [name for name in self._registry.serializers if modality in self._can_show(name)]
            if not able:  # one may still be registered by a deeper conftest.py
                raise UnknownNameError(f"{about}; none that is registered does")
            names = ", ".join(printable(name, 40) for name in able)
            raise SettingsError(f"{about}; name one: --bench-serializer with {names}")
        for name, own in shown.items():
            if not own:
                raise SettingsError(
                    f"--bench-modality {','.join(asked)}: {printable(name, 40)!r} gives only "
                    f"{' or '.join(self._can_show(name))}; leave it out of --bench-serializer"
                )

    def _check_perturbation(self, text: str) -> None:
        name, arguments = parse_perturbation(text)
        known = self._registry.perturbations
        if name not in known:
            raise UnknownNameError(unknown_name("perturbation", name, known))
        try:
            apply_perturbation(known[name], _probe(), name, seed=0, arguments=arguments)
        except (SettingsError, TypeError):
            raise
        except Exception:  # noqa: S110 - this small table may lack what they name
            pass


def _modalities(serializer: Serializer) -> tuple[str, ...]:
    """Return the modalities that a serializer can serve, the most fitting one first."""
    try:
        content = serializer(_probe())
    except Exception:  # it needs more than this small table; its cases say what is wrong
        return (TEXT,)
    if not has_content(content) or not images_of(content):
        return (TEXT,)
    texts: Sequence[object] = [part for part in content if isinstance(part, str) and part.strip()]
    return ("image_text", "image") if texts else ("image",)
