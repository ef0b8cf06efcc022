"""How a dataset is run where no option says otherwise: what it declares, read in this one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.parameters import RESERVED
from pytest_tablebench.datasets.case import DIRECT
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.datasets._base import Dataset


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """What a dataset declares in attributes of these names; without one, what stands here holds.

    The four axes take a name or several. Options narrow or override all but `part`, `parts` and
    `tables`.

    Arguments:
        serializers, perturbations: the grid; empty: the usual one (see `Registry.grid`).
        strategy: how a model is asked.
        modality: how tables are shown; empty: what each serializer gives.
        shots: demonstrations in a prompt.
        limit: examples that are asked, the first ones; None: all.
        threshold: a score at least this high counts as right; `judged_threshold` where a judge
            is named, whose score counts then.
        params: of every request to the model under test, over temperature 0 and 512 tokens.
        part: the number of the metric that is the score; None: the metric's own choice.
        parts: the numbers that reports show beside it; None: all.
        tables: whether questions come with tables. Without any there is one configuration alone,
            whatever formats and perturbations options name.
    """

    serializers: tuple[str, ...] = ()
    perturbations: tuple[str, ...] = ()
    strategy: tuple[str, ...] = (DIRECT,)
    modality: tuple[str, ...] = ()
    shots: int = 0
    limit: int | None = None
    threshold: float = 1.0
    judged_threshold: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    part: str | None = None
    parts: tuple[str, ...] | None = None
    tables: bool = True


_NAMES = ("serializers", "perturbations", "strategy", "modality", "parts")


def defaults_of(dataset: Dataset) -> Defaults:
    """Return what a dataset declares. Raises `SettingsError` for what it cannot mean."""
    defaults = {}
    for option in fields(Defaults):
        value = getattr(dataset, option.name, None)
        if value is None or (option.name in _NAMES and option.name != "parts" and not value):
            continue
        defaults[option.name] = _read(dataset.name, option.name, value)
    return Defaults(**defaults)


def _read(dataset: str, name: str, value: Any) -> Any:
    if name in _NAMES:
        names = (value,) if isinstance(value, str) else value
        if isinstance(names, list | tuple) and all(isinstance(text, str) for text in names):
            return tuple(dict.fromkeys(names))
        raise _wrong(dataset, name, value, "a name, or several in a tuple")
    if name == "params":
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise _wrong(dataset, name, value, "names and values")
        for key in value:
            if key in RESERVED:
                raise _wrong(dataset, name, key, "no parameter that an option of ours sets")
        return dict(value)
    if name in {"shots", "limit"}:
        least = 0 if name == "shots" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _wrong(dataset, name, value, f"a whole number from {least}")
    elif name == "part" and not isinstance(value, str):
        raise _wrong(dataset, name, value, "the name of a number of its metric")
    return value


def _wrong(dataset: str, name: str, value: object, takes: str) -> SettingsError:
    shown = printable(repr(value), 60)
    return SettingsError(f"dataset {dataset!r}: {name} takes {takes}, not {shown}")
