"""The axes of a run (serializers, perturbations, strategies, modalities) and other defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from pytest_tablebench.config.axes import DIRECT, MODES, TEXT
from pytest_tablebench.config.options import MODALITIES, OPTIONS, Option
from pytest_tablebench.config.papers import FLAG
from pytest_tablebench.config.reading import Shots
from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.config.settings import USUAL_PARAMS, Settings
from pytest_tablebench.datasets import Dataset, Defaults, defaults_of
from pytest_tablebench.datasets.case import IMAGE, IMAGE_TEXT, NO_TABLE
from pytest_tablebench.errors import SettingsError, UnknownNameError, errors_of
from pytest_tablebench.registry import Registry
from pytest_tablebench.serializers import PICTURES, Serializer
from pytest_tablebench.serializers.content import has_content, images_of
from pytest_tablebench.strategies import named_strategy
from pytest_tablebench.tables.perturbations import apply_perturbation, parse_perturbation
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import unknown_name

DECLARED = "declared"
"""The origin of a value that the dataset declares and no option sets."""

_PROBE = Table(("a", "b"), (("1", "2"), ("3", "4")))
"""Serializers and perturbations are tried with it."""


class Axes:
    """The axes of one run, from options, datasets and defaults."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self._settings = settings
        self._registry = registry
        self._known: dict[str, Defaults] = {}
        self._given: dict[str, str] = {}

    def defaults(self, dataset: str) -> Defaults:
        """Return the settings of a dataset: the options', else its own, else the defaults.

        Raises `SettingsError` for an invalid declaration.
        """
        if dataset not in self._known:
            declared, options = self._declared(dataset), self._asked(dataset)
            usual = self._registry.grid(dataset)
            defaults = replace(
                declared,
                serializers=options.serializers or declared.serializers or usual.serializers,
                perturbations=options.perturbations
                or declared.perturbations
                or usual.perturbations,
                strategy=options.strategies or declared.strategy,
                modality=options.modalities or declared.modality,
                shots=_shots(options.shots, dataset, declared.shots),
                limit=declared.limit if options.limit is None else _number(options.limit),
                threshold=options.thresholds.get(dataset, declared.threshold),
                params=options.request_params(declared.params),
            )
            self._known[dataset] = (
                self._narrowed(defaults, options) if defaults.tables else _bare(defaults)
            )
        return self._known[dataset]

    def _asked(self, dataset: str) -> Settings:
        return self._settings.for_benchmark(self._registry.datasets[dataset].benchmark)

    def _declared(self, dataset: str) -> Defaults:
        declared = defaults_of(self._registry.datasets[dataset])
        if self._settings.judge is None or declared.judged_threshold is None:
            return declared
        return replace(declared, threshold=declared.judged_threshold)

    def _narrowed(self, defaults: Defaults, options: Settings) -> Defaults:
        """Leave out serializers and modalities that do not fit, unless options name them."""
        defaults = replace(
            defaults, serializers=self._shown_serializers(defaults.serializers, defaults.modality)
        )
        shown = self._usable_modalities(defaults.serializers, defaults.modality)
        serializers = tuple(name for name, usable in shown.items() if usable)
        seen = {modality for usable in shown.values() for modality in usable}
        modalities = tuple(name for name in defaults.modality if name in seen)
        if not serializers:  # `check` reports it
            return defaults
        return replace(
            defaults,
            serializers=defaults.serializers if options.serializers else serializers,
            modality=defaults.modality if options.modalities else modalities,
        )

    def recorded_settings(self, dataset: str, threshold: float | None = None) -> dict[str, Any]:
        """Return the settings of a dataset for `run.json`; `from` contains their origins.

        `threshold` is the threshold of its cases, which the marker of a test may set.
        """
        defaults, declared = self.defaults(dataset), self._declared(dataset)
        threshold = defaults.threshold if threshold is None else threshold
        usual, origins = defaults_of(Dataset), dict[str, str]()
        paper = self._settings.paper_setting(self._registry.datasets[dataset].benchmark)
        for option in OPTIONS:
            if not option.by_dataset or option.entry == "params":
                continue
            if self._is_given(option, dataset):
                origins[option.entry] = option.flag
            elif paper is not None and self._is_from_paper(option, dataset):
                origins[option.entry] = f"{FLAG}={self._settings.setting}"
            elif getattr(declared, option.entry) != getattr(usual, option.entry):
                origins[option.entry] = DECLARED
        for name, value in defaults.params.items():
            if name in self._settings.params:
                origins[f"params.{name}"] = "--bench-param"
            elif paper is not None and name in paper.params and value != USUAL_PARAMS.get(name):
                origins[f"params.{name}"] = f"{FLAG}={self._settings.setting}"
            elif name in declared.params and value != USUAL_PARAMS.get(name):
                origins[f"params.{name}"] = DECLARED
        if dataset in self._settings.thresholds:
            origins["threshold"] = "--bench-threshold"
        elif threshold != usual.threshold:
            origins["threshold"] = DECLARED if threshold == declared.threshold else "its test"
        origins |= {
            name: DECLARED for name in ("part", "parts") if getattr(declared, name) is not None
        }
        return {
            "serializers": list(defaults.serializers),
            "perturbations": list(defaults.perturbations),
            "strategy": list(defaults.strategy),
            "modality": list(self.modalities(dataset)),
            "shots": defaults.shots,
            "limit": "all" if defaults.limit is None else defaults.limit,
            "threshold": threshold,
            "params": without_secrets(defaults.params),
            "part": defaults.part,
            "parts": None if defaults.parts is None else list(defaults.parts),
            "from": origins,
        }

    def _is_given(self, option: Option, dataset: str) -> bool:
        value = getattr(self._settings, option.setting)
        return value.of(dataset) is not None if isinstance(value, Shots) else value is not None

    def _is_from_paper(self, option: Option, dataset: str) -> bool:
        value = getattr(self._asked(dataset), option.setting)
        if not isinstance(value, tuple):
            return value is not None
        declared, grid = self._declared(dataset), self._registry.grid(dataset)
        usual = getattr(declared, option.entry) or getattr(grid, option.entry, (TEXT,))
        return value != tuple(usual)

    def params(self, dataset: str) -> Mapping[str, Any]:
        """Return the parameters of requests to the model under test."""
        return self.defaults(dataset).params

    def shots(self, dataset: str) -> int:
        """Return the number of demonstrations in a prompt."""
        return self.defaults(dataset).shots

    def _shown_serializers(
        self, named: Sequence[str], modalities: Sequence[str]
    ) -> tuple[str, ...]:
        """Return the serializers that fit the modalities; all of them without a modality.

        A table that is only a picture has no text serializer: the axis is then `image`, or the
        named serializers that return pictures.
        """
        if not modalities:
            return tuple(named)
        pictures = [name for name in named if self._gives(name) == IMAGE]
        texts = [name for name in named if name not in pictures]
        shown = texts if {TEXT, IMAGE_TEXT}.intersection(modalities) else []
        return (*shown, *(pictures or ([IMAGE] if IMAGE in modalities else [])))

    def _all_defaults(self, datasets: Iterable[str] = ()) -> list[Defaults]:
        registered = self._registry.datasets
        names = datasets or self._settings.datasets or registered
        return [self.defaults(name) for name in names if name in registered]

    def modalities(self, *datasets: str) -> tuple[str, ...]:
        """Return the modalities of datasets, in order."""
        return tuple(
            _unique(
                self.defaults(name).modality
                or chain.from_iterable(self.modalities_by_serializer(name).values())
                for name in datasets
            )
        )

    def serializers(self, dataset: str) -> dict[str, tuple[str, ...]]:
        """Return the serializers of each strategy of a dataset."""
        defaults, by_strategy = self.defaults(dataset), dict[str, tuple[str, ...]]()
        for name in defaults.strategy:
            strategy, _ = named_strategy(name, self._registry.strategies)
            fixed: str | None = getattr(strategy, "serializer", None)
            free = fixed is None or defaults.serializers == (NO_TABLE,)
            by_strategy[name] = defaults.serializers if free else (str(fixed),)
        return by_strategy

    def modalities_by_serializer(self, dataset: str) -> dict[str, tuple[str, ...]]:
        """Return the modalities of each serializer of a dataset."""
        serializers = _unique(self.serializers(dataset).values())
        return self._usable_modalities(serializers, self.defaults(dataset).modality)

    def _usable_modalities(
        self, serializers: Iterable[str], modalities: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the modalities of each serializer.

        A text can be shown alone or together with a picture; a picture only as such.
        """
        usable = {}
        for name in serializers:
            gives = self._gives(name)
            can = (TEXT, IMAGE_TEXT) if gives == TEXT else (gives,)
            usable[name] = tuple(m for m in modalities if m in can) if modalities else (gives,)
        return usable

    def _gives(self, name: str) -> str:
        if name not in self._given:
            serializer = self._registry.serializers.get(name)
            is_built_in = self._registry.is_built_in("serializer", name)
            if serializer is None or is_built_in:  # no need to try it
                self._given[name] = IMAGE if name in PICTURES else TEXT
            else:
                self._given[name] = _modality(serializer)
        return self._given[name]

    def preserves_meaning(self, perturbation: str) -> bool:
        """Return whether questions keep their meaning after a perturbation."""
        function = self._registry.perturbations.get(parse_perturbation(perturbation)[0])
        return bool(getattr(function, "preserves_meaning", True))

    def grid(self, datasets: Iterable[str]) -> dict[str, list[str]]:
        """Return the names on each axis, for `run.json`."""
        datasets, options = list(datasets), self._settings
        all_defaults = self._all_defaults(datasets)
        strategies = [defaults.strategy for defaults in all_defaults]
        shown = [names for dataset in datasets for names in self.serializers(dataset).values()]
        if not datasets:
            strategies = [options.strategies or (DIRECT,)]
            shown = [defaults.serializers for defaults in all_defaults]
        grid = {
            "serializers": _unique(shown),
            "perturbations": _unique(defaults.perturbations for defaults in all_defaults),
            "strategies": _unique(strategies),
            "modalities": list(self.modalities(*datasets) or options.modalities or (TEXT,)),
        }
        further = {axis.plural: list(options.names_on(axis)) for axis in MODES}
        return grid | {name: names for name, names in further.items() if name not in grid and names}

    def modes(self, dataset: str) -> dict[str, Sequence[str]]:
        """Return the names on the axes that are in no grid, by plural; only those with names."""
        defaults = self.defaults(dataset)
        names = {axis.plural: self._settings.names_on(axis) for axis in MODES}
        names |= {"strategies": defaults.strategy, "modalities": defaults.modality or (TEXT,)}
        return {plural: values for plural, values in names.items() if values}

    def check(self) -> None:
        """Raise `SettingsError` for unknown names and impossible combinations in the options."""
        registry, settings = self._registry, self._settings
        grids = [
            len(defaults.serializers) * len(defaults.perturbations)
            for defaults in self._all_defaults()
        ]
        configurations = max(grids, default=1)
        if grids and (settings.configs_per_example or 1) > configurations:
            raise SettingsError(
                f"--bench-configs-per-example={settings.configs_per_example}: the grid has only "
                f"{configurations} configurations"
            )
        if isinstance(settings.shots, Shots):
            named = tuple(name for name, _ in settings.shots.by_dataset)
            check_names("dataset", named, registry.datasets, "--bench-shots")
        check_names("serializer", settings.serializers, registry.serializers, "--bench-serializer")
        for text in settings.strategies or ():
            with errors_of("--bench-strategy"):
                named_strategy(text, registry.strategies)
        self._check_modalities()
        for text in settings.perturbations or ():
            with errors_of("--bench-perturbation", TypeError):
                self._check_perturbation(text)

    def check_declared(self, name: str) -> None:
        """Raise `SettingsError` if a dataset cannot be run with its settings."""
        defaults, registry = self.defaults(name), self._registry
        with errors_of(f"dataset {name!r}", TypeError):
            check_names("serializer", defaults.serializers, registry.serializers)
            for strategy in defaults.strategy:
                named_strategy(strategy, registry.strategies)
            check_names("modality", defaults.modality, MODALITIES)
            for perturbation in defaults.perturbations:
                self._check_perturbation(perturbation)
            self._check_shown(defaults)

    def _check_shown(self, defaults: Defaults) -> None:
        usable_by_serializer = self._usable_modalities(defaults.serializers, defaults.modality)
        names = ", ".join(defaults.serializers)
        for modality in defaults.modality:
            if not any(modality in usable for usable in usable_by_serializer.values()):
                raise SettingsError(
                    f"it is shown as {modality}, which none of its serializers gives ({names}); "
                    f"name others: --bench-serializer or --bench-modality"
                )
        for name, usable in usable_by_serializer.items():
            if not usable:
                raise SettingsError(
                    f"it is shown as {', '.join(defaults.modality)}, and {name!r} "
                    f"gives only {self._gives(name)}; leave it out of --bench-serializer"
                )

    def _check_modalities(self) -> None:
        modalities = self._settings.modalities or ()
        for name in self._settings.serializers or () if modalities else ():
            gives = self._gives(name)
            if gives not in (TEXT, *modalities):
                raise SettingsError(
                    f"--bench-modality {','.join(modalities)}: {name!r} gives only "
                    f"{gives}; leave it out of --bench-serializer"
                )

    def _check_perturbation(self, text: str) -> None:
        name, arguments = parse_perturbation(text)
        registered = self._registry.perturbations
        check_names("perturbation", [name], registered)
        try:
            apply_perturbation(registered[name], _PROBE, name, seed=0, arguments=arguments)
        except (SettingsError, TypeError):
            raise
        except Exception:  # noqa: S110 - the small table may lack the named rows or columns
            pass


def _unique(names: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(names)))


def _shots(option: Shots | int | None, dataset: str, declared: int) -> int:
    number = option.of(dataset) if isinstance(option, Shots) else option
    return declared if number is None else number


def _number(limit: int | str) -> int | None:
    return limit if isinstance(limit, int) else None


def _bare(defaults: Defaults) -> Defaults:
    return replace(defaults, serializers=(NO_TABLE,), perturbations=("none",), modality=(TEXT,))


def _modality(serializer: Serializer) -> str:
    try:
        content = serializer(_PROBE)
    except Exception:  # it may need a larger table; its cases report real errors
        return TEXT
    if not has_content(content) or not images_of(content):
        return TEXT
    texts = [part for part in content if isinstance(part, str) and part.strip()]
    return IMAGE_TEXT if texts else IMAGE


def check_names(
    kind: str, names: Iterable[str] | None, choices: Iterable[str], source: str = ""
) -> None:
    """Raise `UnknownNameError` for the first name that is not among the choices.

    The message starts with `source`: the option or the dataset that contains the names.
    """
    choices = dict.fromkeys(choices)
    for name in names or ():
        if name not in choices:
            message = unknown_name(kind, name, choices)
            raise UnknownNameError(f"{source}: {message}" if source else message)
