"""The stopping rule `anytime`: bet on example after example (spec: statistics.md 10.2)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.results._intervals import holm
from pytest_tablebench.results.figures import example_values
from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._result import State, tolerant_bound
from pytest_tablebench.results.gates._sides import about, values_of
from pytest_tablebench.results.gates._stopping import StoppingRule
from pytest_tablebench.results.gates._values import collect
from pytest_tablebench.results.gates._wealth import Wealth, betting_interval
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import out_of

DURING = 0.2
"""The share of the total error for betting: .01 of .05. The final t interval spends the rest."""


@dataclass
class _Stream:
    """The example values that a gate has received, by dataset, and the wealth of their rounds."""

    wealth: Wealth
    values: dict[str, list[float]]
    rounds: list[float] = field(default_factory=list)
    tables: set[Hashable] = field(default_factory=set)
    next_check: int = 0
    """The step at which a gate is judged again that missing answers left open."""

    @property
    def has_shared_tables(self) -> bool:
        """Whether examples share tables; if all share one, they are independent questions on it."""
        return 1 < len(self.tables) < sum(map(len, self.values.values()))


class AnytimeRule(StoppingRule):
    """Bet on each completed example, in a fixed random order.

    During the run the wealth may decide with a two-sided .01; at the end the ordinary interval
    decides with .04. Over several datasets one observation (a round) is the mean of one new
    example of each, until the smallest dataset is used up. "Fails" is corrected for the number
    of gates.
    """

    name = "anytime"
    step_width = 2
    last_note = "Decided after all examples."

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take the arguments of `StoppingRule`."""
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
                values: dict[str, list[float]] = {name: [] for name in self.datasets(gate)}
                self._streams[place] = _Stream(Wealth(bound, alpha=None), values)

    def _finish_step(self) -> None:
        """Feed the next example in order to the wealth of every open gate."""
        dataset, row = self._example_of[self.done]
        for place in self.open():
            gate, stream = self.gates[place], self._streams[place]
            if gate.at_end or dataset not in stream.values:
                continue
            value = self._value(gate, dataset, row)
            if value is not None:
                stream.values[dataset].append(value)
                stream.tables.add(self._table(dataset, row))
                _feed_round(gate, stream)
        self._decide()

    def _table(self, dataset: str, row: int) -> Hashable:
        """Return the cluster of an example; an example of unknown cluster is its own."""
        side, clusters = self.planned_cells.sides[dataset], (self._clusters or {}).get(dataset, {})
        example = side.examples[row]
        if example in clusters:
            return dataset, clusters[example]
        return (side.clusters[row] if side.clusters else "") or (dataset, None, example)

    def _value(self, gate: Gate, dataset: str, row: int) -> float | None:
        """Return one example's value, computed as for the final verdict; None if left out."""
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
        """Decide by wealth: "holds" for each gate alone, "fails" with Holm's correction."""
        places, tail = self.open(), DURING * self.alpha / 2
        peaks = [_peaks(self.gates[place], self._streams[place]) for place in places]
        failing = holm([math.exp(-min(700.0, bad)) for _, bad in peaks], tail, self.family())
        for place, (good, _), fails in zip(places, peaks, failing, strict=True):
            state: State | None = None
            if fails or good >= -math.log(tail):
                state = "fails" if fails else "holds"
            if state and not self._must_wait(place):
                self._settle_now(place, state)

    def _must_wait(self, place: int) -> bool:
        """Return whether only the final interval may decide.

        It alone decides before the next check, after fewer than two rounds, for robustness with too
        many incomplete examples, and once examples share a table: betting takes examples as
        independent.
        """
        return (
            self.done < self._streams[place].next_check
            or self._streams[place].has_shared_tables
            or len(self._streams[place].rounds) < 2
            or (self.gates[place].measure == "robustness" and self._has_problem(place))
        )

    def _has_problem(self, place: int) -> bool:
        scopes = self.scopes(self.planned_cells.seen(self.masks))
        return bool(collect(self.gates[place], scopes).problem)

    def _settle_now(self, place: int, state: State) -> None:
        gate, stream = self.gates[place], self._streams[place]
        low, high = betting_interval(np.array(stream.rounds), DURING * self.alpha)
        if gate.baseline:
            low, high = 2 * low - 1, 2 * high - 1
        stream.next_check = self.done + max(25, self.done // 20)
        progress = out_of(self.done, self.n_steps, "example")
        self.settle_by_betting(
            place,
            DURING * self.alpha / 2,
            f"Decided after {progress}; the others were not needed.",
            interval=(low, high),
            method="betting",
            state=state,
            reason=f"betting on one example after another decided that the gate {state}",
        )

    def _tail(self, gate: Gate) -> float:
        del gate
        return (1 - DURING) * self.alpha / 2


def _feed_round(gate: Gate, stream: _Stream) -> None:
    """Feed the next round to the wealth once every dataset has an example for it."""
    number = len(stream.rounds)
    rows = list(stream.values.values())
    if min(len(row) for row in rows) <= number:
        return
    value = math.fsum(row[number] for row in rows) / len(rows)
    stream.rounds.append((value + 1) / 2 if gate.baseline else value)
    stream.wealth.feed(stream.rounds[-1])


def _peaks(gate: Gate, stream: _Stream) -> tuple[float, float]:
    """Return the largest logarithms of wealth so far, for "holds" and for "fails"."""
    pair = stream.wealth.peak_above, stream.wealth.peak_below
    return pair if gate.at_least else pair[::-1]
