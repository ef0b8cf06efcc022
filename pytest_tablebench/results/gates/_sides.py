"""From records to arrays: scores and passes of one run, by dataset (spec: statistics.md 1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.results._record import Cell
from pytest_tablebench.results._repeats import fold_repeats
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_tablebench.results.gates._grammar import Gate

    Floats = NDArray[np.float64]

__all__ = ["Configuration", "Side", "Sides", "align", "getter", "read_side"]

Configuration = tuple[str, ...]
"""Serializer and perturbation; strategy and modality behind them where the dataset has several."""

Key = tuple[str, str, str, str]
"""Dataset, example, serializer, perturbation."""


@dataclass(frozen=True)
class Side:
    """The cases of one run and dataset, as arrays of the shape (examples, configurations).

    `scores` is NaN without an answer, `passed` 0 or 1 beside it, `asked` tells what has a
    record at all. `answers` holds the answer texts (or marks of them), None where unknown.

    A cell asked several times has the mean score of its answered repeats, the share of them
    that passed, and the tuple of the texts; `times` and `lost` then tell how often each cell
    was asked and how often without an answer. Both are None where every cell was asked once.
    `checks` holds, by test, 1 where it passed, 0 where it failed and NaN where nobody knows.
    """

    examples: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    scores: Floats
    passed: Floats
    asked: NDArray[np.bool_]
    answers: NDArray[np.object_] | None = None
    times: NDArray[np.intp] | None = None
    lost: NDArray[np.intp] | None = None
    checks: Mapping[str, Floats] = field(default_factory=dict)
    ways: frozenset[str] = frozenset()
    """Strategy and modality of all cases, where there is one of each."""

    def about(self, gate: Gate) -> NDArray[np.bool_]:
        """Return which configurations belong to a gate's scope."""
        import numpy as np

        wanted = [name for name in gate.filters if name not in self.ways]
        return np.array([all(name in cell for name in wanted) for cell in self.configurations])

    def values(self, gate: Gate) -> Floats:
        """Return what a gate on performance, robustness or a pass rate looks at."""
        import numpy as np

        if gate.check is not None:
            found = self.checks.get(gate.check)
            return np.full(self.asked.shape, np.nan) if found is None else found
        return self.passed if gate.measure == "pass_rate" else self.scores

    def counts(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return how many cases each cell stands for, and how many of them have no answer."""
        import numpy as np

        if self.times is not None and self.lost is not None:
            return self.times, self.lost
        return self.asked.astype(np.intp), (self.asked & np.isnan(self.scores)).astype(np.intp)


@dataclass(frozen=True)
class Sides:
    """All datasets of a run, and which benchmark each belongs to where the records say so."""

    datasets: Mapping[str, Side]
    benchmarks: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass
class _Rows:
    examples: dict[str, int] = field(default_factory=dict)
    configurations: dict[Configuration, int] = field(default_factory=dict)
    places: list[tuple[int, int]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    passed: list[float] = field(default_factory=list)
    answers: list[Hashable | None] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    checks: list[Mapping[str, Any]] = field(default_factory=list)


def read_side(records: Iterable[Any], answers: Mapping[Key, Hashable] | None = None) -> Sides:
    """Read the records of one run: objects such as `Record` and `Cell`, or mappings.

    `answers` gives the answer texts, or anything equal for equal texts, where the records
    carry none. Records with different `repeat` are one cell, see `Side`. Raises `DataError` for
    a case that occurs twice (records of several models: judge them one at a time) and for a
    score outside 0..1.
    """
    rows: dict[str, _Rows] = {}
    benchmarks: dict[str, dict[str, None]] = {}
    for record in records:
        get = getter(record)
        dataset, score = get("dataset"), get("score")
        if score is not None and not 0 <= score <= 1:
            raise DataError(f"{_case(get)} has the score {score}, not from 0 to 1")
        own = rows.get(dataset)
        if own is None:
            own = rows[dataset] = _Rows()
            if get("benchmark"):
                benchmarks.setdefault(get("benchmark"), {})[dataset] = None
        example = get("example_id")
        configuration = tuple(get(name) or "" for name in _AXES)
        own.places.append(
            (
                own.examples.setdefault(example, len(own.examples)),
                own.configurations.setdefault(configuration, len(own.configurations)),
            )
        )
        own.scores.append(float("nan") if score is None else score)
        own.passed.append(float("nan") if score is None else float(bool(get("passed"))))
        text = answers.get((dataset, example, *configuration[:2])) if answers else get("raw")
        own.answers.append(text)
        own.repeats.append(get("repeat") or 1)
        own.checks.append(get("checks") or {})
    return Sides(
        {name: _side(name, rows[name]) for name in sorted(rows)},
        {name: sorted(benchmarks[name]) for name in sorted(benchmarks)},
    )


_AXES = ("serializer", "perturbation", "strategy", "modality")


def getter(record: Any) -> Callable[[str], Any]:
    """Return what reads a field of an object or a mapping, None where there is none."""
    if isinstance(record, Mapping):
        return record.get
    return lambda name: getattr(record, name, None)


def _case(get: Any) -> str:
    names = ("dataset", "example_id", "serializer", "perturbation")
    return printable("case " + "/".join(str(get(name)) for name in names), 200)


def _side(dataset: str, rows: _Rows) -> Side:
    """Sort names by code point and lay the values out, so that order leaves no trace."""
    import numpy as np

    rows, ways = _plain(rows)
    folded = _fold(dataset, rows) if any(repeat > 1 for repeat in rows.repeats) else None
    if folded is not None:
        rows, asked, without = folded
    examples, configurations = sorted(rows.examples), sorted(rows.configurations)
    shape = (len(examples), len(configurations))
    row = _rank(rows.examples, examples)
    column = _rank(rows.configurations, configurations)
    places = np.array(rows.places)
    index = (row[places[:, 0]], column[places[:, 1]])
    counts = np.zeros(shape, dtype=int)
    np.add.at(counts, index, 1)
    if counts.max() > 1:
        at = np.unravel_index(int(counts.argmax()), shape)
        name = "/".join([dataset, examples[at[0]], *configurations[at[1]]])
        raise _twice(name, int(counts.max()))
    scores, passed = np.full(shape, np.nan), np.full(shape, np.nan)
    scores[index], passed[index] = rows.scores, rows.passed
    answers = None
    if any(text is not None for text in rows.answers):
        answers = np.full(shape, None, dtype=object)
        for place, text in zip(zip(*index, strict=True), rows.answers, strict=True):
            answers[place] = text
    checks = {}
    for name in sorted({name for found in rows.checks for name in found}):
        values = [found.get(name) for found in rows.checks]
        checks[name] = np.full(shape, np.nan)
        checks[name][index] = [nan if value is None else float(value) for value in values]
    side = Side(
        tuple(examples),
        tuple(configurations),
        scores,
        passed,
        counts == 1,
        answers,
        checks=checks,
        ways=ways,
    )
    if folded is None:
        return side
    times, lost = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
    times[index], lost[index] = asked, without
    return replace(side, times=times, lost=lost)


def _plain(rows: _Rows) -> tuple[_Rows, frozenset[str]]:
    """Return the rows without strategy and modality where there is one of each, and those."""
    ways = {configuration[2:] for configuration in rows.configurations}
    if len(ways) > 1:
        return rows, frozenset()
    plain: dict[Configuration, int] = {
        configuration[:2]: number for configuration, number in rows.configurations.items()
    }
    return replace(rows, configurations=plain), frozenset(name for way in ways for name in way)


def _twice(name: str, times: int) -> DataError:
    return DataError(
        f"case {printable(name, 200)} occurs {times} times; judge the records of one model at a "
        f"time"
    )


def _fold(dataset: str, rows: _Rows) -> tuple[_Rows, list[int], list[int]]:
    """Return the rows with one for each cell, and how often it was asked and had no answer."""
    groups: dict[tuple[int, int], dict[int, int]] = {}
    examples, configurations = list(rows.examples), list(rows.configurations)
    cells = []
    for number, (place, repeat) in enumerate(zip(rows.places, rows.repeats, strict=True)):
        example, configuration = examples[place[0]], configurations[place[1]]
        repeats = groups.setdefault(place, {})
        if repeat in repeats:
            raise _twice("/".join([dataset, example, *configuration, f"r{repeat}"]), 2)
        repeats[repeat] = number
        score = None if isnan(rows.scores[number]) else rows.scores[number]
        passed = None if score is None else bool(rows.passed[number])
        checks = rows.checks[number]
        form, change = configuration[:2]
        cell = Cell("", dataset, example, form, change, score, passed, None, repeat, checks)
        if len(configuration) > 2:
            cell = replace(cell, strategy=configuration[2], modality=configuration[3])
        cells.append(cell)
    folded = fold_repeats(cells)
    return (
        replace(
            rows,
            places=list(groups),
            scores=[nan if cell.score is None else cell.score for cell in folded],
            passed=[nan if cell.passed is None else cell.passed for cell in folded],
            answers=[_texts(rows, repeats) for repeats in groups.values()],
            repeats=[1] * len(folded),
            checks=[dict(cell.checks) for cell in folded],
        ),
        [cell.asked for cell in folded],
        [cell.asked - len(cell.scores) for cell in folded],
    )


def _texts(rows: _Rows, repeats: Mapping[int, int]) -> Hashable | None:
    """Return the texts of a cell's repeats as one value; None where one of them is unknown."""
    texts = [rows.answers[repeats[repeat]] for repeat in sorted(repeats)]
    return None if any(text is None for text in texts) else tuple(texts)


def _rank(places: Mapping[Any, int], names: Sequence[Any]) -> Any:
    import numpy as np

    ranks = np.empty(len(names), dtype=int)
    for rank, name in enumerate(names):
        ranks[places[name]] = rank
    return ranks


def align(side: Side, examples: Sequence[str], configurations: Sequence[Configuration]) -> Side:
    """Return the side with exactly these examples and configurations; what it lacks is unasked."""
    import numpy as np

    if (side.examples, side.configurations) == (tuple(examples), tuple(configurations)):
        return side
    rows = {name: place for place, name in enumerate(side.examples)}
    columns = {name: place for place, name in enumerate(side.configurations)}
    known = [(place, rows[name]) for place, name in enumerate(examples) if name in rows]
    kept = [(place, columns[name]) for place, name in enumerate(configurations) if name in columns]
    shape = (len(examples), len(configurations))
    to = np.ix_([place for place, _ in known], [place for place, _ in kept])
    of = np.ix_([place for _, place in known], [place for _, place in kept])

    def moved(values: Any, empty: Any, kind: Any) -> Any:
        result = np.full(shape, empty, dtype=kind)
        if known and kept:
            result[to] = values[of]
        return result

    return Side(
        tuple(examples),
        tuple(configurations),
        moved(side.scores, np.nan, float),
        moved(side.passed, np.nan, float),
        moved(side.asked, False, bool),
        None if side.answers is None else moved(side.answers, None, object),
        None if side.times is None else moved(side.times, 0, np.intp),
        None if side.lost is None else moved(side.lost, 0, np.intp),
        {name: moved(values, np.nan, float) for name, values in side.checks.items()},
        side.ways,
    )
