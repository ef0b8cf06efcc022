"""Stopping at any moment by betting on examples (spec: statistics.md 10.2)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.results.figures import example_values
from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._result import State, holm, tolerant_bound
from pytest_tablebench.results.gates._sides import about, values_of
from pytest_tablebench.results.gates._stopping import StoppingRule
from pytest_tablebench.results.gates._values import GateValues, collect
from pytest_tablebench.results.gates._wealth import Wealth, betting_interval
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import out_of

DURING = 0.2
"""Share of the whole error that betting may spend: .01 of .05. The t at the end has the rest."""


@dataclass
class _Stream:
    """What one gate has seen: example values by dataset, and the wealth of their rounds."""

    wealth: Wealth
    values: dict[str, list[float]]
    rounds: list[float] = field(default_factory=list)
    tables: set[Hashable] = field(default_factory=set)
    has_twice: bool = False
    """Whether two of the examples so far share a table."""

    def add_table(self, table: Hashable) -> None:
        """Take the table of the next example."""
        self.has_twice = self.has_twice or table in self.tables
        self.tables.add(table)

    @property
    def is_shared(self) -> bool:
        """Whether some of the examples so far share a table, and others have another one.

        Examples that are all over one table are independent: the gate is about this table.
        """
        return self.has_twice and len(self.tables) > 1


class AnytimeRule(StoppingRule):
    """Bets on each example as it is complete, in a fixed random order.

    Wealth may decide with a two-sided .01 while the run goes on, the ordinary interval with
    .04 at its end. Over several datasets one observation is the mean of one new example of
    each, until the smallest is used up. "Fails" is corrected for the number of gates.
    """

    name = "anytime"
    step_width = 2
    last_note = "Decided after all examples."

    def __init__(self, *args: Any, **options: Any) -> None:
        """As `StoppingRule`."""
        super().__init__(*args, **options)
        self._example_of = {
            int(self.steps[dataset][row, column]): (dataset, row)
            for dataset, row, column in self.planned_cells.places.values()
        }
        self._streams: dict[int, _Stream] = {}
        for place, gate in enumerate(self.gates):
            if not gate.counted:
                bound = tolerant_bound(gate.bound, at_least=gate.at_least)
                bound = (bound + 1) / 2 if gate.baseline else bound
                names = self.datasets(gate)
                self._streams[place] = _Stream(
                    Wealth(bound, alpha=None), {name: [] for name in names}
                )

    def _reach(self) -> None:
        """Take the next example of the order into every open gate's wealth."""
        dataset, row = self._example_of[self.done]
        for place in self.open():
            gate, stream = self.gates[place], self._streams[place]
            if gate.at_end or dataset not in stream.values:
                continue
            value = self._value(gate, dataset, row)
            if value is not None:
                stream.values[dataset].append(value)
                stream.add_table(self._table(dataset, row))
                _round(gate, stream)
        self._decide()

    def _table(self, dataset: str, row: int) -> Hashable:
        """Return the cluster of an example; one without a name is its own cluster."""
        side, clusters = self.planned_cells.sides[dataset], (self._clusters or {}).get(dataset, {})
        example = side.examples[row]
        if example in clusters:
            return dataset, clusters[example]
        return (side.clusters[row] if side.clusters else "") or (dataset, None, example)

    def _value(self, gate: Gate, dataset: str, row: int) -> float | None:
        """Return one example's value, by the very rules of the gate; None where left out."""
        side = self.planned_cells.sides[dataset]
        old = self._old.datasets.get(dataset) if self._old else None
        columns = (about(side, gate) & self.planned_cells.planned[dataset][row]).nonzero()[0]
        if not len(columns):
            return None
        scores = values_of(side, gate)[row, columns]
        before = None
        if gate.baseline:
            if old is None:
                return None
            before = values_of(old, gate)[row, columns]
        value = float(example_values(gate.measure, scores, before))
        return None if math.isnan(value) else value

    def _decide(self) -> None:
        """Let wealth decide: "holds" for each gate alone, "fails" with Holm over all."""
        places, tail = self.open(), DURING * self.alpha / 2
        peaks = [_peaks(self.gates[place], self._streams[place]) for place in places]
        failing = holm([math.exp(-min(700.0, bad)) for _, bad in peaks], tail, self.family())
        for place, (good, _), fails in zip(places, peaks, failing, strict=True):
            state: State | None = None
            if fails or good >= -math.log(tail):
                state = "fails" if fails else "holds"
            if state and not self._held_back(place):
                self._settle(place, state)

    def _held_back(self, place: int) -> bool:
        """Whether only the end may decide: too few, too many left out, or shared tables.

        Betting takes examples as independent. They are until a table comes a second time; from
        then on only the final interval may decide.
        """
        return (
            self._streams[place].is_shared
            or len(self._streams[place].rounds) < 2
            or (self.gates[place].measure == "robustness" and bool(self._sample(place).problem))
        )

    def _sample(self, place: int) -> GateValues:
        return collect(self.gates[place], self.scopes(self.planned_cells.seen(self.masks)))

    def _settle(self, place: int, state: State) -> None:
        gate, stream = self.gates[place], self._streams[place]
        low, high = betting_interval(np.array(stream.rounds), DURING * self.alpha)
        if gate.baseline:
            low, high = 2 * low - 1, 2 * high - 1
        progress = out_of(self.done, self.n_steps, "example")
        self.settle_by_betting(
            place,
            DURING * self.alpha / 2,
            f"Decided after {progress}; the rest was not needed.",
            interval=(low, high),
            method="betting",
            state=state,
            reason=f"betting on example after example decided that the gate {state}",
        )

    def _tail(self, gate: Gate) -> float:
        del gate
        return (1 - DURING) * self.alpha / 2


def _round(gate: Gate, stream: _Stream) -> None:
    """Feed the wealth with the next round, once every dataset has an example for it."""
    number = len(stream.rounds)
    rows = list(stream.values.values())
    if min(len(row) for row in rows) <= number:
        return
    value = math.fsum(row[number] for row in rows) / len(rows)
    stream.rounds.append((value + 1) / 2 if gate.baseline else value)
    stream.wealth.feed(stream.rounds[-1])


def _peaks(gate: Gate, stream: _Stream) -> tuple[float, float]:
    """Return the largest logarithms of wealth so far: for "holds" and for "fails"."""
    wealth = stream.wealth
    pair = wealth.peak_above, wealth.peak_below
    return pair if gate.at_least else pair[::-1]
