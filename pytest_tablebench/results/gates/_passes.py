"""The stopping rule `passes`: judge after whole passes over the examples (statistics.md 10.1)."""

from __future__ import annotations

from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._stopping import StoppingRule

LOOKS = (1, 2, 4, 8, 16)
"""The passes after which the gates are judged, before the last pass."""

EARLY = 0.04
"""The share of the total error that each early look may spend: .002 of .05."""


class PassesRule(StoppingRule):
    """Judge gates after passes 1, 2, 4, 8, 16 and the last.

    Pass k asks every example in its k-th configuration; each example has its own order. An
    early look spends .002 of a two-sided .05 and the last look spends the rest: .04 with more
    than 16 configurations. Gates on robustness, with filters, or with `Gate.at_end` are judged
    only at the end, at .05. Every look is corrected for the number of gates, so that a true gate
    fails in at most 2.5 % of runs over all looks.
    """

    name = "passes"

    @property
    def last_note(self) -> str:  # type: ignore[override]
        """The note for gates that the last look decides."""
        return f"Decided after all {self.n_steps} passes."

    def _finish_step(self) -> None:
        if self.done not in LOOKS or self.done == self.n_steps:
            return
        places = [place for place in self.open() if _may_be_early(self.gates[place])]
        tails = [EARLY * self.alpha / 2] * len(places)
        note = f"Decided after pass {self.done} of {self.n_steps}; the others were not needed."
        self._settle_decided(places, self.scopes(self.planned_cells.seen(self.masks)), tails, note)

    def _tail(self, gate: Gate) -> float:
        looks = sum(number < self.n_steps for number in LOOKS) if _may_be_early(gate) else 0
        return (1 - EARLY * looks) * self.alpha / 2


def _may_be_early(gate: Gate) -> bool:
    """Return whether early passes may decide a gate.

    A range grows with each pass, and an early pass has few cases of a single configuration.
    """
    return gate.measure != "robustness" and not gate.filters and not gate.at_end
