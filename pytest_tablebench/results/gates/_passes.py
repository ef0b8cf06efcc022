"""Stopping by passes over the examples (spec: statistics.md 10.1)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._stopping import StoppingRule
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Places

LOOKS = (1, 2, 4, 8, 16)
"""Passes after which is looked, before the last."""

EARLY = 0.04
"""Share of the whole error that each early look may spend: .002 of .05."""


class PassesRule(StoppingRule):
    """Looks after passes 1, 2, 4, 8, 16 and the last.

    Pass k asks every example its k-th configuration in an order of its own. Each early look
    spends .002 of a two-sided .05, the last what is left: .04 with more than 16
    configurations. Gates on robustness, on one serializer or perturbation, and those that nothing
    tells early (`Gate.at_end`), are looked at only at the end, at .05. Every look is corrected for
    the number of gates, so that all of them together let a true gate fail in at most 2.5 % of
    runs.
    """

    name = "passes"

    def __init__(self, *args: Any, **options: Any) -> None:
        """As `StoppingRule`."""
        super().__init__(*args, **options)
        self._pass: dict[str, Places] = {
            name: np.zeros(side.is_asked.shape, dtype=int)
            for name, side in self.planned_cells.sides.items()
        }
        self._left: Counter[int] = Counter()
        for key, (dataset, row, column) in self.planned_cells.places.items():
            number = self.ranks[key][0]
            self._pass[dataset][row, column] = number
            self._left[number] += 1
        self.last = max(self._left, default=0)
        self.last_note = f"Decided after all {self.last} passes."
        self._early = [number for number in LOOKS if number < self.last]
        self._done = 0

    def _advance(self, dataset: str, row: int, column: int) -> None:
        self._left[int(self._pass[dataset][row, column])] -= 1
        while self._done < self.last and self._left[self._done + 1] == 0:
            self._done += 1
            if self._done in self._early:
                self._look(self._done)
            elif self._done == self.last:
                self._last_look()

    def _look(self, number: int) -> None:
        places = [place for place in self.open() if _by_passes(self.gates[place])]
        masks = {name: passes <= number for name, passes in self._pass.items()}
        tails = [EARLY * self.alpha / 2] * len(places)
        note = f"Decided after pass {number} of {self.last}; the rest was not needed."
        self._settle_decided(places, self.scopes(self.planned_cells.seen(masks)), tails, note)

    def _tail(self, gate: Gate) -> float:
        spent = EARLY * len(self._early) if _by_passes(gate) else 0.0
        return (1 - spent) * self.alpha / 2


def _by_passes(gate: Gate) -> bool:
    """Whether early passes tell of it: ranges grow, and single columns are too thin."""
    return gate.measure != "robustness" and not gate.filters and not gate.at_end
