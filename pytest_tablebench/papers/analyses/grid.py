"""Arrange the scores of records in one grid per dataset, and make figures of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import GRID, MODES
from pytest_tablebench.errors import DataError
from pytest_tablebench.results.figures import mean, means
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats, Integers, Places

_AXES = ("model", "example", *(axis.name for axis in GRID))


@dataclass(frozen=True)
class ScoreGrid:
    """All scores of one dataset; names are sorted by code point.

    `scores` has the shape (models, examples, serializers, perturbations). A cell without an answer
    is NaN, a cell with several has the mean of its repeats. Every grid has all models of the
    analysis; a model without a record in it has only NaN.
    """

    dataset: str
    examples: tuple[str, ...]
    serializers: tuple[str, ...]
    perturbations: tuple[str, ...]
    scores: Floats

    @cached_property
    def cells(self) -> Floats:
        """The scores with serializers and perturbations as one axis, in `configurations`."""
        return self.scores.reshape(*self.scores.shape[:2], -1)

    @cached_property
    def configurations(self) -> tuple[str, ...]:
        """The names `serializer|perturbation`, perturbations varying fastest."""
        return tuple(
            f"{serializer}|{perturbation}"
            for serializer in self.serializers
            for perturbation in self.perturbations
        )

    @cached_property
    def answered(self) -> Integers:
        """The number of answered configurations, by model and example."""
        answered: Integers = np.isfinite(self.cells).sum(axis=2, dtype=np.int64)
        return answered

    @cached_property
    def complete(self) -> Flags:
        """Whether every configuration is answered, by model and example."""
        complete: Flags = self.answered == self.cells.shape[2]
        return complete

    @cached_property
    def example_means(self) -> Floats:
        """Mean over the answered configurations, by model and example; NaN without any."""
        return means(self.cells)

    @cached_property
    def means(self) -> Floats:
        """Performance of each model (torr_analyses.md section 1); NaN without an answer."""
        return means(self.example_means)


@dataclass(frozen=True)
class Scores:
    """The scores of all records; models and grids are sorted by code point."""

    models: tuple[str, ...]
    grids: tuple[ScoreGrid, ...]


def _places(codes: Places) -> tuple[Integers, Integers]:
    """Return the sorted codes that occur, and the index of each row's code among them."""
    occurs = np.bincount(codes) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def read_scores(records: ScoreTable | Iterable[Any]) -> Scores:
    """Return the grids of records (mappings or objects), or of their table, in one pass.

    The answered repeats of a cell are averaged first. Perturbations that change the meaning of a
    table are left out, unless a dataset has no others. Raises `DataError` for a record without one
    of the fields, a score that is not a number from 0 to 1, and a cell that occurs twice with the
    same repeat, as in the records of two runs or strategies.
    """
    table = records
    if not isinstance(table, ScoreTable):
        table = ScoreTable.from_records(table, models=True)
    cells, names = table.cells, table.names
    doubled = table.doubled(("dataset", *_AXES))
    if doubled is not None:
        *modes, last = (axis.name for axis in MODES)
        dataset, case = (table.case(doubled[0], *axes) for axes in (["dataset"], _AXES))
        raise DataError(
            f"dataset {dataset}: {case} occurs more than once; "
            f"analyse the records of one run, {', '.join(modes)} and {last} at a time"
        )
    altered = [index for index, name in enumerate(names["perturbation"]) if name in table.altered]
    grids = []
    codes = {axis: cells.codes(axis) for axis in ("dataset", *_AXES)}
    for code, dataset in enumerate(names["dataset"]):
        rows = np.flatnonzero(codes["dataset"] == code)
        if altered:
            plain = rows[~np.isin(codes["perturbation"][rows], altered)]
            rows = plain if len(plain) else rows
        axis_places = [_places(codes[axis][rows]) for axis in _AXES[1:]]
        examples, serializers, perturbations = (
            tuple(names[axis][index] for index in present)
            for axis, (present, _) in zip(_AXES[1:], axis_places, strict=True)
        )
        shape = len(names["model"]), len(examples), len(serializers), len(perturbations)
        scores = np.full(shape, np.nan)
        model = codes["model"][rows].astype(np.intp)
        scores[model, *(places for _, places in axis_places)] = cells.score[rows]
        grids.append(ScoreGrid(dataset, examples, serializers, perturbations, scores))
    return Scores(names["model"], tuple(grids))


# Figures: a value, or None with the reason

Figure = dict[str, Any]
"""`{"value": number or None, "reason": text if None, ...counts}`."""


def figure(value: float | None, reason: str, **facts: Any) -> Figure:
    """Return a figure; a value of None or NaN becomes None with the reason."""
    if value is None or math.isnan(value):
        return {"value": None, "reason": reason, **facts}
    return {"value": float(value), **facts}


def plain_mean(figures: Mapping[str, Figure]) -> Figure:
    """Return the plain mean of figures; undefined if one of them is.

    Values that are mappings, such as win rates, are averaged name by name.
    """
    missing = [name for name, entry in figures.items() if entry["value"] is None]
    if missing:
        return {"value": None, "reason": f"no value in: {', '.join(missing)}"}
    values = [entry["value"] for entry in figures.values()]
    if not values:
        return {"value": None, "reason": "no figure to average"}
    if isinstance(values[0], Mapping):
        return {"value": {name: mean(value[name] for value in values) for name in values[0]}}
    return {"value": mean(values)}


def each(
    names: Iterable[str], values: Iterable[float], reason: str, **facts: Iterable[Any]
) -> dict[str, Figure]:
    """Return one figure per name; each of `facts` has one integer per name."""
    columns = {fact: [int(entry) for entry in column] for fact, column in facts.items()}
    return {
        name: figure(value, reason, **{fact: column[index] for fact, column in columns.items()})
        for index, (name, value) in enumerate(zip(names, values, strict=True))
    }


def mean_of_known(entries: Iterable[Any]) -> Figure:
    """Return the mean of the figures with a value; `n` is their number."""
    values = [entry["value"] for entry in entries if entry and entry.get("value") is not None]
    return figure(mean(values) if values else None, "no model with a value", n=len(values))
