"""Draw the random samples of the analyses, unless `params` contains them.

The draws of a dataset depend only on its name, its examples and its configurations. They use
numpy's legacy generator, whose stream is the same in every numpy version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.papers.analyses.grid import ScoreGrid
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import shortened, unknown_name
from pytest_tablebench.util.seeds import seeded_random

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats, Integers

RESAMPLES = 1000
"""The default number of bootstrap resamples."""

REPEATS = 100
"""The default number of repeats of the disjoint sets of configurations."""

PARAMS = ("example_order", "resamples", "resamples_pooled", "growth", "points", "families")


@dataclass(frozen=True)
class Raters:
    """Raters of one dataset: the configurations and examples on which each scores the models.

    `configurations` (raters, configurations) and `examples` (raters, examples) count how often a
    rater uses each; without `examples` every rater uses all. `repeat` is the number of each
    rater's repeat, below `repeats`.
    """

    configurations: Floats
    examples: Floats | None
    repeat: Integers
    repeats: int


class Draws:
    """The draws for some grids.

    `params` is the argument of `analyse`; missing entries are drawn. Raises `SettingsError` for an
    unknown name or index.
    """

    def __init__(self, grids: Sequence[ScoreGrid], params: Mapping[str, Any] | None = None) -> None:
        self.grids = grids
        self.params = {} if params is None else params
        for name in self.params:
            if name not in PARAMS:
                raise SettingsError(f"params: {unknown_name('entry', name, PARAMS)}")

    def resamples(self, grid: ScoreGrid) -> Floats:
        """Return how often each resample contains each example: (resamples, examples)."""
        rows = self.params.get("resamples", {}).get(grid.dataset)
        return self._resamples(f"resamples[{grid.dataset}]", rows, [grid])

    def resamples_pooled(self) -> Floats:
        """Return the resamples over the examples of all datasets, in the order of the grids."""
        return self._resamples("resamples_pooled", self.params.get("resamples_pooled"), self.grids)

    def _resamples(self, where: str, rows: Any, grids: Sequence[ScoreGrid]) -> Floats:
        places, start = [], 0
        for grid in grids:
            order = self.params.get("example_order", {}).get(grid.dataset, grid.examples)
            places_of = {name: start + index for index, name in enumerate(grid.examples)}
            places += _places(f"example_order[{grid.dataset}]", order, places_of)
            start += len(grid.examples)
        if rows is None:
            generator = _generator("resamples", *_content(grids))
            rows = generator.randint(0, len(places), size=(RESAMPLES, len(places)))
        counts = np.zeros((len(rows), start))
        for row, drawn in zip(counts, rows, strict=True):
            chosen = np.asarray(drawn, dtype=np.intp)
            if not chosen.size or chosen.min() < 0 or chosen.max() >= len(places):
                raise SettingsError(
                    f"params: {where} needs indices from 0 to {len(places) - 1}, at least one in "
                    f"each resample"
                )
            np.add.at(row, np.asarray(places)[chosen], 1.0)
        if not len(counts):
            raise SettingsError(
                f"params: {where} is empty; leave it out to draw {RESAMPLES} resamples"
            )
        return counts

    def growth(self, grid: ScoreGrid) -> Iterator[tuple[str, Raters]]:
        """Yield the raters of q = 1, 2, ... configurations, while there are at least two."""
        by_count = self.params.get("growth", {}).get(grid.dataset)
        if by_count is None:
            for q in range(1, len(grid.configurations) // 2 + 1):
                yield str(q), disjoint_sets([grid], q)
            return
        for q, repeats in by_count.items():
            where = f"growth[{grid.dataset}][{q}]"
            sets = [[{"configurations": chosen} for chosen in repeat] for repeat in repeats]
            yield str(q), _raters_of(where, grid, sets)

    def points(self) -> Iterator[tuple[int, int, Iterator[tuple[ScoreGrid, Raters]]]]:
        """Yield q configurations and e examples with the raters of each dataset, drawn on demand.

        A point has the datasets with so many configurations and examples.
        """
        points = self.params.get("points")
        if points is not None:
            for number, point in enumerate(points):
                yield point["q"], point["e"], self._raters_of_draws(number, point["draws"])
            return
        sizes = [(len(grid.configurations) // 2, len(grid.examples)) for grid in self.grids]
        for q in sorted({q for most_q, _ in sizes for q in _series(most_q)}):
            for e in sorted({e for _, most_e in sizes for e in _series(most_e)}):
                grids = [
                    grid
                    for grid, (most_q, most_e) in zip(self.grids, sizes, strict=True)
                    if q <= most_q and e <= most_e
                ]
                if grids:
                    yield q, e, ((grid, disjoint_sets([grid], q, e)) for grid in grids)

    def _raters_of_draws(
        self, number: int, draws: Mapping[str, Any]
    ) -> Iterator[tuple[ScoreGrid, Raters]]:
        for grid in self.grids:
            if grid.dataset in draws:
                where = f"points[{number}].draws[{grid.dataset}]"
                yield grid, _raters_of(where, grid, draws[grid.dataset])


def _places(where: str, names: Sequence[str], places: Mapping[str, int]) -> list[int]:
    try:
        return [places[name] for name in names]
    except KeyError as error:
        raise SettingsError(
            f"params: {where} has {shortened(repr(error.args[0]), 80)}, which no record has"
        ) from None


def _raters_of(
    where: str, grid: ScoreGrid, repeats: Sequence[Sequence[Mapping[str, Any]]]
) -> Raters:
    """Return the raters in repeats of `{"configurations": names, "examples": names}`."""
    drawn = [rater for repeat in repeats for rater in repeat]
    owners = [number for number, repeat in enumerate(repeats) for _ in repeat]
    configurations = _counts(
        where, [rater["configurations"] for rater in drawn], grid.configurations
    )
    examples = None
    if any("examples" in rater for rater in drawn):
        examples = _counts(where, [rater["examples"] for rater in drawn], grid.examples)
    return Raters(configurations, examples, np.array(owners, dtype=np.intp), len(repeats))


def _counts(where: str, drawn: Sequence[Sequence[str]], names: Sequence[str]) -> Floats:
    places = {name: index for index, name in enumerate(names)}
    counts = np.zeros((len(drawn), len(names)))
    for row, chosen in zip(counts, drawn, strict=True):
        np.add.at(row, _places(where, chosen, places), 1.0)
    return counts


def disjoint_sets(grids: Sequence[ScoreGrid], q: int, e: int | None = None) -> Raters:
    """Return repeats of as many disjoint sets of q configurations as possible.

    They are the same for all grids, which must have the same configurations. With `e` each set
    has its own e examples of the first grid, drawn without replacement.
    """
    grid = grids[0]
    size = len(grid.configurations)
    sets = size // q
    generator = _generator("sets", q, e, *_content(grids))
    order = generator.random_sample((REPEATS, size)).argsort(axis=1)
    chosen = order[:, : sets * q].reshape(REPEATS * sets, q)
    configurations = np.zeros((REPEATS * sets, size))
    np.put_along_axis(configurations, chosen, 1.0, axis=1)
    examples = None
    if e is not None and e < len(grid.examples):
        keys = generator.random_sample((REPEATS * sets, len(grid.examples)))
        examples = np.zeros(keys.shape)
        drawn = keys.argsort(axis=1)[:, :e]
        np.put_along_axis(examples, drawn, 1.0, axis=1)
    return Raters(configurations, examples, np.repeat(np.arange(REPEATS), sets), REPEATS)


def _series(most: int) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50, ... below `most`, and `most` itself."""
    steps = [step * 10**power for power in range(len(str(most))) for step in (1, 2, 5)]
    return [step for step in steps if step < most] + ([most] if most > 0 else [])


def _content(grids: Sequence[ScoreGrid]) -> list[Any]:
    return [(grid.dataset, grid.examples, grid.configurations) for grid in grids]


def _generator(*content: object) -> np.random.RandomState:
    """Return a generator seeded with some values, which need a stable `repr`."""
    source = seeded_random(f"analyses/{content!r}")
    return np.random.RandomState([source.getrandbits(32) for _ in range(8)])
