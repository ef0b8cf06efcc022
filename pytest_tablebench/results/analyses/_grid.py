"""From records to arrays: one grid of scores per dataset."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.intp]

__all__ = ["TOLERANCE", "Grid", "Scores", "examples_mean", "mean", "read_scores"]

TOLERANCE = 1e-9
"""Scores closer than this are equal: sums in another order must not break a tie."""

_FIELDS = ("model", "dataset", "example_id", "serializer", "perturbation", "score")


@dataclass(frozen=True)
class Grid:
    """All scores of one dataset; names in the order of code points.

    `scores` has the shape (models, examples, serializers, perturbations); a cell that was not
    asked or not answered is NaN, one answered several times has the mean of its repeats. The
    models are those of the whole analysis, so that a model without a record here is there too,
    with nothing but NaN.
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
        """How many configurations are answered, by model and example."""
        import numpy as np

        answered: Integers = np.isfinite(self.cells).sum(axis=2)
        return answered

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Whether every configuration is answered, by model and example."""
        complete: NDArray[np.bool_] = self.answered == self.cells.shape[2]
        return complete

    @cached_property
    def example_means(self) -> Floats:
        """Mean over the answered configurations, by model and example; NaN without any."""
        return mean(self.cells, axis=2)

    @cached_property
    def means(self) -> Floats:
        """Performance of each model (torr_analyses.md section 1); NaN without an answer."""
        return mean(self.example_means, axis=1)


@dataclass(frozen=True)
class Scores:
    """The scores of all records: models and grids in the order of code points."""

    models: tuple[str, ...]
    grids: tuple[Grid, ...]


def mean(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return the mean over what is not NaN, NaN where nothing is left."""
    import numpy as np

    known = np.isfinite(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    means: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def examples_mean(values: Floats) -> Floats:
    """Return the mean over examples of the mean over their cells.

    The shape (models, examples, ...) becomes (models,); examples without a cell are left out.
    """
    return mean(mean(values.reshape(*values.shape[:2], -1), axis=2), axis=1)


def read_scores(records: Iterable[Any]) -> Scores:
    """Read records, mappings or objects with the same names, in one pass.

    The answered repeats of a cell (records with another `repeat`, 1 where there is none) are
    averaged before anything else. Raises `DataError` for a record without one of the fields, a
    score that is no number from 0 to 1, and a cell that occurs twice with the same repeat (the
    answers of two runs or strategies cannot be told apart here).
    """
    columns = _Columns()
    columns.read(records)
    return columns.scores()


class _Columns:
    """What one pass over the records leaves: 52 bytes per record."""

    def __init__(self) -> None:
        self.models: dict[str, int] = {}
        self.datasets: dict[str, int] = {}
        self.examples: dict[tuple[str, str], int] = {}
        self.serializers: dict[str, int] = {}
        self.perturbations: dict[str, int] = {}
        self.codes = tuple(array("q") for _ in range(5))
        self.values = array("d")
        self.repeats = array("i")

    def read(self, records: Iterable[Any]) -> None:
        """Append every record; names become numbers in the order of first occurrence."""
        models, datasets, examples = self.models, self.datasets, self.examples
        serializers, perturbations = self.serializers, self.perturbations
        add_model, add_dataset, add_example, add_serializer, add_perturbation = (
            column.append for column in self.codes
        )
        add_value, add_repeat = self.values.append, self.repeats.append
        getters: dict[type, tuple[Callable[[Any], tuple[Any, ...]], Callable[[Any], Any]]] = {}
        for number, record in enumerate(records, 1):
            try:
                known = getters.get(type(record))
                if known is None:
                    if isinstance(record, Mapping):
                        known = itemgetter(*_FIELDS), _repeat_item
                    else:
                        known = attrgetter(*_FIELDS), _repeat_attribute
                    getters[type(record)] = known
                getter, get_repeat = known
                model, dataset, example, serializer, perturbation, score = getter(record)
                if score is None:
                    score = nan
                elif not -TOLERANCE <= score <= 1 + TOLERANCE:
                    raise ValueError(f"score is {score!r}")
                add_model(models.setdefault(model, len(models)))
                add_dataset(datasets.setdefault(dataset, len(datasets)))
                add_example(examples.setdefault((dataset, example), len(examples)))
                add_serializer(serializers.setdefault(serializer, len(serializers)))
                add_perturbation(perturbations.setdefault(perturbation, len(perturbations)))
                add_value(score)
                add_repeat(get_repeat(record))
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
                raise DataError(
                    f"record {number}: {printable(str(error), 200)}; a record has "
                    f"{', '.join(_FIELDS)}, the names as text and the score as a number from 0 "
                    f"to 1, or null; where it has a repeat, that is a whole number"
                ) from None

    def scores(self) -> Scores:
        """Return the grids: names sorted, every record's score in its cell."""
        import numpy as np

        names = [self.models, self.datasets, self.serializers, self.perturbations]
        for name in [name for known in names for name in known] + [e for _, e in self.examples]:
            if not isinstance(name, str):
                raise DataError(f"{name!r} stands where a record has a name; names are text")
        model, dataset, example, serializer, perturbation = (
            np.frombuffer(column, dtype=np.int64) for column in self.codes
        )
        values = np.frombuffer(self.values, dtype=np.float64)
        repeat = np.frombuffer(self.repeats, dtype=np.intc)
        models = tuple(sorted(self.models))
        model = _ranks(self.models)[model]
        by_dataset: dict[str, list[str]] = {name: [] for name in sorted(self.datasets)}
        # Numbers of examples run over all datasets; inside its dataset each has its rank.
        rank = np.zeros(len(self.examples), dtype=np.intp)
        for owner, name in sorted(self.examples):
            rank[self.examples[owner, name]] = len(by_dataset[owner])
            by_dataset[owner].append(name)
        example = rank[example]
        grids = []
        for name, examples in by_dataset.items():
            own = np.flatnonzero(dataset == self.datasets[name])
            serializers, own_serializer = _present(self.serializers, serializer[own])
            perturbations, own_perturbation = _present(self.perturbations, perturbation[own])
            grid = Grid(
                name,
                tuple(examples),
                serializers,
                perturbations,
                np.full((len(models), len(examples), len(serializers), len(perturbations)), nan),
            )
            cell = np.ravel_multi_index(
                (model[own], example[own], own_serializer, own_perturbation), grid.scores.shape
            )
            _fill(grid, models, cell, repeat[own], values[own])
            grids.append(grid)
        return Scores(models, tuple(grids))


def _ranks(numbers: Mapping[str, int]) -> Integers:
    """Return, for each number given in the order of occurrence, its name's rank."""
    import numpy as np

    ranks = np.empty(len(numbers), dtype=np.intp)
    for rank, name in enumerate(sorted(numbers)):
        ranks[numbers[name]] = rank
    return ranks


def _present(
    numbers: Mapping[str, int], codes: NDArray[np.int64]
) -> tuple[tuple[str, ...], Integers]:
    """Return the sorted names that occur among the codes, and each code's place there."""
    import numpy as np

    ranks, places = np.unique(_ranks(numbers)[codes], return_inverse=True)
    names = sorted(numbers)
    return tuple(names[rank] for rank in ranks), places


def _repeat_item(record: Mapping[str, Any]) -> Any:
    return record.get("repeat", 1)


def _repeat_attribute(record: Any) -> Any:
    return getattr(record, "repeat", 1)


def _fill(
    grid: Grid,
    models: tuple[str, ...],
    cells: Integers,
    repeats: NDArray[np.intc],
    values: Floats,
) -> None:
    """Put each cell's score into the grid, the mean where several repeats of it are answered."""
    import numpy as np

    scores = grid.scores.reshape(-1)
    if np.bincount(cells, minlength=1).max() <= 1:
        scores[cells] = values
        return
    order = np.lexsort((repeats, cells))
    cells, repeats, values = cells[order], repeats[order], values[order]
    same = (np.diff(cells) == 0) & (np.diff(repeats) == 0)
    if same.any():
        where = np.unravel_index(int(cells[int(same.argmax())]), grid.scores.shape)
        axes = (models, grid.examples, grid.serializers, grid.perturbations)
        names = "/".join(axis[int(place)] for axis, place in zip(axes, where, strict=True))
        raise DataError(
            f"dataset {printable(grid.dataset)}: {printable(names)} occurs more than once; "
            f"analyse the records of one run, strategy and modality at a time"
        )
    answered = np.isfinite(values)
    cells, values = cells[answered], values[answered]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    if starts.size:
        counts = np.diff(starts, append=cells.size)
        means = np.add.reduceat(values, starts) / counts
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        # Rounding must not move the mean of equal scores off them.
        scores[cells[starts]] = np.clip(means, low, high)
