"""Correct the states of gates for their number (spec: statistics.md 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_tablebench.claims.estimate import (
    holm,
)
from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._result import (
    GateResult,
)


@dataclass(frozen=True)
class EvaluatedGate:
    """A gate's result before the correction for several gates."""

    gate: Gate
    result: GateResult
    tail: float


def correct(
    evaluated: Sequence[EvaluatedGate], tail: float, *, size: int | None = None
) -> list[EvaluatedGate]:
    """Apply Holm's correction: a gate that fails only without it becomes undecided.

    The p-value of a gate evaluated at an error other than `tail` is scaled to `tail`. `size` is
    the number of gates to correct for, by default those of `evaluated`.
    """
    family = [place for place, entry in enumerate(evaluated) if not entry.gate.counted]
    size = len(family) if size is None else size
    if size < 2:
        return list(evaluated)
    scaled = []
    for place in family:
        p = evaluated[place].result.p
        scaled.append(1.0 if p is None else min(1.0, p * tail / evaluated[place].tail))
    corrected = list(evaluated)
    for place, is_rejected in zip(family, holm(scaled, tail, size), strict=True):
        result = evaluated[place].result
        if result.state == "fails" and not is_rejected:
            text = f"fails alone, but not after the correction for {size} gates (Holm)"
            result = replace(result, state="undecided", holm_marked=True, reason=text)
        elif result.state == "fails":
            result = replace(result, needs="", n_needed=None)
        corrected[place] = replace(evaluated[place], result=result)
    return corrected
