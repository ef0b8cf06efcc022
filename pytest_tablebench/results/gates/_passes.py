"""Stopping by passes over the examples (spec: statistics.md 10.1)."""

from __future__ import annotations

from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._stopping import StoppingRule

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

    @property
    def last_note(self) -> str:  # type: ignore[override]
        """What is said of gates that the last look decides."""
        return f"Decided after all {self.n_steps} passes."

    def _reach(self) -> None:
        if self.done not in LOOKS or self.done == self.n_steps:
            return
        places = [place for place in self.open() if _by_passes(self.gates[place])]
        tails = [EARLY * self.alpha / 2] * len(places)
        note = f"Decided after pass {self.done} of {self.n_steps}; the rest was not needed."
        self._settle_decided(places, self.scopes(self.planned_cells.seen(self.masks)), tails, note)

    def _tail(self, gate: Gate) -> float:
        spent = EARLY * sum(number < self.n_steps for number in LOOKS) if _by_passes(gate) else 0.0
        return (1 - spent) * self.alpha / 2


def _by_passes(gate: Gate) -> bool:
    """Whether early passes tell of it: ranges grow, and single columns are too thin."""
    return gate.measure != "robustness" and not gate.filters and not gate.at_end
