"""Results of gates, their correction for several gates, verdict line and exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from pytest_tablebench.claims._claim import State, decide
from pytest_tablebench.claims.estimate import Estimate, holm, span
from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED

_RECORDED = {"value": "estimate", "examples": "n_examples", "clusters": "n_clusters"}
"""The fields that have another name in `run.json`."""


@dataclass(frozen=True, kw_only=True)
class GateResult(Estimate):
    """The result of one gate.

    With a baseline, the estimate is the difference (new minus old) and `bound` is the margin.
    Otherwise it is the measure itself. All are shares of 1, or dollars. Values that cannot be
    computed are None.

    Args:
        n_left_out: examples that were asked but are not usable.
        n_not_asked: examples that only the baseline asked.
        n_not_asked_baseline: examples that only the run asked.
        state_point: the verdict of the estimate alone.
        p: the one-sided p-value of "fails".
        holm_marked: whether the gate fails alone, but not after the correction for several gates.
        identical: whether every paired case has the same answer text.
        worst_case: the bounds of robustness if missing cells had any value in 0..1.
        no_answer: the share of the scope's cases without an answer.
        n_cases: the cases of a no-answer gate.
        clopper_pearson: the exact interval of a count, with cases as independent.
        effective_interval: the interval of a count, with examples or tables as independent.
        notes: further sentences for the reader.
        needs: the number of examples or tables that would decide an undecided gate, as a sentence;
            "" if the gate is decided or more examples are not the remedy.
        n_needed: the number of all examples in that sentence; None if it names none.
    """

    gate: str
    bound: float
    se: float | None = None
    df: float | None = None
    n_left_out: int = 0
    state: State = "undecided"
    state_point: State = "undecided"
    reason: str = ""
    p: float | None = None
    holm_marked: bool = False
    identical: bool = False
    worst_case: tuple[float, float] | None = None
    no_answer: float | None = None
    baseline_no_answer: float | None = None
    n_left_out_baseline: int | None = None
    n_not_asked: int = 0
    n_not_asked_baseline: int = 0
    n_cases: int | None = None
    n_no_answer: int | None = None
    clopper_pearson: tuple[float, float] | None = None
    effective_interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    needs: str = ""
    n_needed: int | None = None

    @property
    def further(self) -> int | None:
        """The number of examples that would decide the gate, without those that it has."""
        return None if self.n_needed is None else self.n_needed - self.examples

    def entry(self) -> dict[str, Any]:
        """Return the result as in `run.json`."""
        facts = {_RECORDED.get(name, name): value for name, value in vars(self).items()}
        for name in ("low", "high", "note"):
            del facts[name]
        return {"gate": self.gate, **facts, "interval": self.interval}

    def judged(
        self, gate: Gate, value: float | None, low: float, high: float, **facts: Any
    ) -> GateResult:
        """Return the result with an interval and further facts, decided by the interval."""
        point = "undecided" if value is None else decide(value, value, gate)
        facts |= {"state": decide(low, high, gate), "state_point": point}
        return replace(self, value=value, low=low, high=high, **facts)

    def undecided(self, reason: str) -> GateResult:
        """Return the result as undecided for a reason that more examples do not remedy."""
        return replace(self, state="undecided", p=None, reason=reason, needs="", n_needed=None)


def stored_results(entries: Iterable[Any]) -> list[GateResult]:
    """Return the gate results in a `run.json`; gates without a result are left out."""
    results = []
    names = {_RECORDED.get(item.name, item.name): item.name for item in fields(GateResult)}
    for entry in entries:
        if not isinstance(entry, str):
            values: dict[str, Any] = {
                names[name]: tuple(value) if isinstance(value, list) else value
                for name, value in entry.items()
                if name in names
            }
            low, high = entry.get("interval") or (None, None)
            results.append(GateResult(**values | {"low": low, "high": high}))
    return results


def exit_code(results: Iterable[GateResult]) -> int:
    """Return 0 when all gates hold, 10 when one fails, 11 when one is undecided."""
    states = {result.state for result in results}
    return FAILS if "fails" in states else UNDECIDED if "undecided" in states else HOLDS


def verdict_line(results: Sequence[GateResult]) -> str:
    """Return the verdict on all gates as one sentence."""
    total = len(results)
    failed, unsure = (
        sum(result.state == state for result in results) for state in ("fails", "undecided")
    )
    if not total:
        return "The run has no gates."
    if not failed and not unsure:
        return "The gate holds." if total == 1 else f"All {total} gates hold."
    if total == 1:
        return "The gate fails." if failed else "The gate is undecided."
    if failed:
        rest = f"; {unsure} {'is' if unsure == 1 else 'are'} undecided" if unsure else ""
        return f"{failed} of {total} gates {'fails' if failed == 1 else 'fail'}{rest}."
    return f"{unsure} of {total} gates {'is' if unsure == 1 else 'are'} undecided; none fails."


def number(value: float) -> str:
    """Format a number with at most four decimals."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def margin_note(gate: Gate) -> str:
    """Return the advice for a gate against the baseline without a margin."""
    sign = "-" if gate.at_least else "+"
    operator = ">=" if gate.at_least else "<="
    return (
        f"Without a margin a gate on two equally good models is undecided about 95 % of the time, "
        f"with any number of examples; write `{operator} baseline {sign} 0.05`."
    )


def reason(gate: Gate, result: GateResult) -> str:
    """Return the sentence that explains the verdict of an interval."""
    if result.interval is None:
        return "no interval can be computed"
    subject_name = _NAMES.get(gate.measure) or f"the mean {gate.measure}"
    if gate.baseline:
        subject_name = "the difference to the baseline"
    ends, percent = span(result.interval, number), number(100 * result.level)
    subject = f"the {percent} % interval of {subject_name}, {ends},"
    if result.identical:
        subject = f"all paired cases have identical answers; {subject}"
    bound = f"{'the margin' if gate.baseline else 'the bound'} {number(gate.bound)}"
    if result.state == "undecided":
        return f"{subject} contains {bound}"
    side = "above" if (result.state == "holds") == gate.at_least else "below"
    return f"{subject} is {'at or ' if result.state == 'holds' else ''}{side} {bound}"


_NAMES = {
    "consistency": "consistency",
    "changed_meaning": "the mean score under changed meaning",
    "performance": "the mean score",
    "pass_rate": "the pass rate",
    "robustness": "robustness",
}


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
    family = [index for index, entry in enumerate(evaluated) if not entry.gate.counted]
    size = len(family) if size is None else size
    if size < 2:
        return list(evaluated)
    scaled = []
    for index in family:
        p = evaluated[index].result.p
        scaled.append(1.0 if p is None else min(1.0, p * tail / evaluated[index].tail))
    corrected = list(evaluated)
    for index, is_rejected in zip(family, holm(scaled, tail, size), strict=True):
        result = evaluated[index].result
        if result.state == "fails" and not is_rejected:
            text = f"fails alone, but not after the correction for {size} gates (Holm)"
            result = replace(result, state="undecided", holm_marked=True, reason=text)
        elif result.state == "fails":
            result = replace(result, needs="", n_needed=None)
        corrected[index] = replace(evaluated[index], result=result)
    return corrected
