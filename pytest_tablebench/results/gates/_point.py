"""Stopping when the verdict on the planned cases themselves is sure (spec: statistics.md 10.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.gates._evaluation import EvaluatedGate, evaluate_gate, point_result
from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._result import State, tolerant_bound
from pytest_tablebench.results.gates._scopes import Scopes
from pytest_tablebench.results.gates._sides import Key, about, values_of
from pytest_tablebench.results.gates._stopping import StoppingRule
from pytest_tablebench.results.gates._wealth import decided_among
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import out_of

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats, Places


class PointRule(StoppingRule):
    """Tells early what the estimate's verdict will be after all planned cases (10.3).

    Cases come in a uniformly random order, without replacement; what is decided early is wrong
    in at most 5 % of gates. Cases without an answer leave the population: the evidence is then
    worked out anew for the rest. At the end the verdict is exact.
    """

    name = "point"
    last_note = "All planned cases were asked: exact."

    def __init__(self, *args: Any, **options: Any) -> None:
        """As `StoppingRule`."""
        super().__init__(*args, **options)
        self._queue: list[Key] = sorted(self.planned_cells.places, key=self.ranks.__getitem__)
        at: dict[str, list[tuple[int, int, int]]] = {name: [] for name in self.planned_cells.sides}
        for position, key in enumerate(self._queue):
            dataset, row, column = self.planned_cells.places[key]
            at[dataset].append((position, row, column))
        # By dataset: place in the order, row and column of every planned case.
        self._at: dict[str, Places] = {name: np.array(rows).T for name, rows in at.items()}
        self._next = 0
        self._check_at = 25

    def _advance(self, dataset: str, row: int, column: int) -> None:
        del dataset, row, column
        while self._next < len(self._queue) and self._is_asked(self._queue[self._next]):
            self._next += 1
            # Valid at any moment; looked at ever more rarely, to cost little.
            if self._next == self._check_at < len(self._queue):
                self._check_at += max(25, self._next // 20)
                self._decide()
        if self._next == len(self._queue):
            self._last_look()

    def _is_asked(self, key: Key) -> bool:
        dataset, row, column = self.planned_cells.places[key]
        return bool(self.planned_cells.sides[dataset].is_asked[row, column])

    def _decide(self) -> None:
        for place in self.open():
            gate = self.gates[place]
            if gate.measure == "robustness" or gate.at_end:
                continue
            side = self._evidence(gate)
            if side is None:
                continue
            state: State = "holds" if (side == "above") == gate.at_least else "fails"
            self.settle(
                place,
                replace(
                    evaluate_gate(
                        gate, self.scopes(self.planned_cells.seen(self._masks())), self.alpha / 2
                    ),
                    method="betting without replacement",
                    interval=None,
                    se=None,
                    df=None,
                    p=None,
                    notes=(),
                    state=state,
                    state_point=state,
                    reason=f"after all planned cases the estimate would be one that {state}",
                ),
                f"Decided early at 95 %, after {out_of(self._next, len(self._queue), 'case')}.",
            )

    def _masks(self) -> dict[str, Flags]:
        """Return which cells the order has reached."""
        masks = {}
        for name, side in self.planned_cells.sides.items():
            masks[name] = np.zeros(side.is_asked.shape, dtype=bool)
            position, row, column = self._at[name]
            reached = position < self._next
            masks[name][row[reached], column[reached]] = True
        return masks

    def _evidence(self, gate: Gate) -> str | None:
        """Return the side on which the planned cases' value lies, as far as the order was asked.

        Each case is weighted so that the mean over all cases is the gate's measure: the mean
        over datasets of the mean over examples of the mean over configurations.
        """
        weights: dict[str, Floats] = {}
        values: dict[str, Floats] = {}
        names = self.datasets(gate)
        if not names:
            return None
        masks = self._masks()
        total = 0
        for name in names:
            member, value = self._cells(gate, name, masks.get(name))
            if member is None or not member.any():
                return None
            of_example = member.sum(axis=1, keepdims=True)
            examples = int((of_example > 0).sum())
            weights[name] = member / np.maximum(of_example, 1) / (examples * len(names))
            values[name] = value
            total += int(member.sum())
        largest = max(float(weight.max()) for weight in weights.values())
        rows = np.full(self._next, np.nan)
        for name, weight in weights.items():
            position, row, column = self._at[name]
            reached = (position < self._next) & (weight[row, column] > 0)
            cells = row[reached], column[reached]
            rows[position[reached]] = weight[cells] / largest * values[name][cells]
        rows = rows[~np.isnan(rows)]
        bound = tolerant_bound(gate.bound, at_least=gate.at_least) / (largest * total)
        if gate.baseline:
            rows, bound = (rows + 1) / 2, (bound + 1) / 2
        decision = decided_among(rows, bound, total, self.alpha) if len(rows) else None
        return decision[0] if decision else None

    def _cells(self, gate: Gate, name: str, mask: Flags | None) -> tuple[Flags | None, Floats]:
        """Return which cells are in the population as far as is known, and their values."""
        if name not in self.planned_cells.sides or mask is None:
            return None, np.zeros(0)
        side = self.planned_cells.sides[name]
        columns = about(side, gate)
        member = self.planned_cells.planned[name] & columns
        value = values_of(side, gate)
        member &= ~(mask & side.is_asked & np.isnan(value))
        if gate.baseline:
            old = self._old.datasets.get(name) if self._old else None
            if old is None:
                return None, value
            before = values_of(old, gate)
            member &= ~np.isnan(before)
            value = value - before
        return member, np.nan_to_num(value)

    def _tail(self, gate: Gate) -> float:
        del gate
        return self.alpha / 2

    def look(
        self, places: Sequence[int], scopes: Scopes, tails: Sequence[float]
    ) -> list[EvaluatedGate]:
        """Return the estimates' own verdicts, which need no correction."""
        evaluated_gates = self.evaluated(places, scopes, tails)
        return [replace(gate, result=point_result(gate.result)) for gate in evaluated_gates]
