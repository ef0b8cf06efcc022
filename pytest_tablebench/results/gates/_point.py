"""The stopping rule `point`: predict the verdict on all planned cases (statistics.md 10.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.results.gates._evaluation import EvaluatedGate
from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._result import State, tolerant_bound
from pytest_tablebench.results.gates._scopes import Scopes
from pytest_tablebench.results.gates._sides import about, values_of
from pytest_tablebench.results.gates._stopping import StoppingRule
from pytest_tablebench.results.gates._wealth import Decision, Wealth
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import out_of

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats


class PointRule(StoppingRule):
    """Decide a gate once the point estimate's verdict after all planned cases is predictable.

    Cases run in a uniformly random order, without replacement. An early decision is wrong in at
    most 5 % of gates; after all planned cases the verdict is exact. A case without an answer
    leaves the population, and the evidence is computed again from the other cases.
    """

    name = "point"
    last_note = "All planned cases were asked, so the verdict is exact."

    _check_at = 25

    def _finish_step(self) -> None:
        # The test is valid at any moment. Longer intervals between checks save time.
        if self.done != self._check_at or self.done == self.n_steps:
            return
        self._check_at += max(25, self.done // 20)
        note = f"Decided early at 95 %, after {out_of(self.done, self.n_steps, 'case')}."
        for place in self.open():
            gate = self.gates[place]
            if gate.measure == "robustness" or gate.at_end:
                continue
            side = self._evidence(gate)
            if side is not None:
                state: State = "holds" if (side == "above") == gate.at_least else "fails"
                reason = f"after all planned cases the estimate would decide that the gate {state}"
                self.settle_by_betting(
                    place,
                    self.alpha / 2,
                    note,
                    method="betting without replacement",
                    interval=None,
                    state=state,
                    state_point=state,
                    reason=reason,
                )

    def _evidence(self, gate: Gate) -> Decision | None:
        """Return on which side of the bound the value of all planned cases is; None if unsure.

        Each case is weighted so that the mean over all cases is the gate's measure: the mean
        over datasets of the mean over examples of the mean over configurations.
        """
        weights: dict[str, Floats] = {}
        values: dict[str, Floats] = {}
        names = self.datasets(gate)
        total = 0
        for name in names:
            member, value = self._cells(gate, name)
            if member is None or not member.any():
                return None
            of_example = member.sum(axis=1, keepdims=True)
            examples = int((of_example > 0).sum())
            weights[name] = member / np.maximum(of_example, 1) / (examples * len(names))
            values[name] = value
            total += int(member.sum())
        if not names:
            return None
        largest = max(float(weight.max()) for weight in weights.values())
        rows = np.full(self.done, np.nan)
        for name, weight in weights.items():
            reached = (weight > 0) & (self.steps[name] <= self.done)
            rows[self.steps[name][reached] - 1] = (weight / largest * values[name])[reached]
        rows = rows[~np.isnan(rows)]
        bound = tolerant_bound(gate.bound, at_least=gate.at_least) / (largest * total)
        if gate.baseline:
            rows, bound = (rows + 1) / 2, (bound + 1) / 2
        wealth = Wealth(bound, alpha=self.alpha, population=total)
        wealth.feed(*rows.tolist())
        return wealth.decision

    def _cells(self, gate: Gate, name: str) -> tuple[Flags | None, Floats]:
        """Return which cells are in the population so far, and their values."""
        if name not in self.planned_cells.sides:
            return None, np.zeros(0)
        side = self.planned_cells.sides[name]
        value = values_of(side, gate)
        is_lost = (self.steps[name] <= self.done) & side.is_asked & np.isnan(value)
        member = self.planned_cells.planned[name] & about(side, gate) & ~is_lost
        if gate.baseline:
            old = self._old.datasets.get(name) if self._old else None
            if old is None:
                return None, value
            before = values_of(old, gate)
            member &= ~np.isnan(before)
            value = value - before
        return member, np.nan_to_num(value)

    def look(
        self, places: Sequence[int], scopes: Scopes, tails: Sequence[float]
    ) -> list[EvaluatedGate]:
        """Judge some gates by their point estimates, which need no correction."""
        return self.evaluated(places, scopes, tails)
