"""The checked settings that a dataset declares; options override them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.config.axes import DIRECT
from pytest_tablebench.config.parameters import RESERVED
from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import shortened


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """The checked fields of the same names in `Dataset`; an axis is a tuple of names."""

    serializers: tuple[str, ...]
    perturbations: tuple[str, ...]
    strategy: tuple[str, ...]
    modality: tuple[str, ...]
    shots: int
    limit: int | None
    threshold: float
    judged_threshold: float | None
    params: Mapping[str, Any]
    part: str | None
    parts: tuple[str, ...] | None
    tables: bool


def defaults_of(dataset: Dataset | type[Dataset]) -> Defaults:
    """Return a dataset's declared settings. Raises `SettingsError` for an invalid value.

    The class `Dataset` itself has the defaults of all datasets.
    """
    name = dataset.name if isinstance(dataset, Dataset) else dataset.__name__
    if dataset.part is not None and not isinstance(dataset.part, str):
        raise _wrong(name, "part", dataset.part, "the name of a part of its metric")
    parts = None if dataset.parts is None else _names(name, "parts", dataset.parts)
    return Defaults(
        serializers=_names(name, "serializers", dataset.serializers),
        perturbations=_names(name, "perturbations", dataset.perturbations),
        strategy=_names(name, "strategy", dataset.strategy) or (DIRECT,),
        modality=_names(name, "modality", dataset.modality),
        shots=_number(name, "shots", dataset.shots, least=0),
        limit=None if dataset.limit is None else _number(name, "limit", dataset.limit, least=1),
        threshold=dataset.threshold,
        judged_threshold=dataset.judged_threshold,
        params=_params(name, dataset.params),
        part=dataset.part,
        parts=parts,
        tables=dataset.tables,
    )


def _names(dataset: str, field: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _wrong(dataset, field, value, "a name or a tuple of names")
    return tuple(dict.fromkeys(names))


def _number(dataset: str, field: str, value: Any, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(dataset, field, value, f"a whole number of at least {least}")
    return value


def _params(dataset: str, params: Any) -> Mapping[str, Any]:
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise _wrong(dataset, "params", params, "a mapping of names to values")
    for name in params:
        if name in RESERVED:
            raise SettingsError(
                f"dataset {dataset!r}: params must not contain {name!r}: "
                f"the run itself sets this parameter"
            )
    return dict(params)


def _wrong(dataset: str, field: str, value: object, expected: str) -> SettingsError:
    shown = shortened(repr(value), 60)
    return SettingsError(f"dataset {dataset!r}: {field} must be {expected}, not {shown}")
