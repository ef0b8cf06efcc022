"""Why a gate came out as it did, in one plain sentence."""

from __future__ import annotations

from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._result import GateResult
from pytest_tablebench.util.names import printable


def number(value: float) -> str:
    """Return a share or difference with as many digits as a reader needs."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def margin_note(gate: Gate) -> str:
    """Return what to do about a gate that asks for the baseline's own value."""
    sign = "-" if gate.at_least else "+"
    operator = ">=" if gate.at_least else "<="
    return (
        f"Without a margin equal models are undecided about 95 % of the time, however many "
        f"examples there are; write `{operator} baseline {sign} 0.05`."
    )


def reason(gate: Gate, result: GateResult) -> str:
    """Return why an interval decides, or does not."""
    if result.identical:
        return f"all paired cases have identical answers, so nothing differs ({result.state})"
    if result.interval is None:
        return "no interval can be told"
    low, high = result.interval
    subject_name = "the difference to the baseline" if gate.baseline else _name(gate)
    span = f"{number(low)} to {number(high)}"
    percent = number(100 * result.level)
    subject = f"the {percent} % interval of {subject_name}, {span},"
    bound = f"{'the margin' if gate.baseline else 'the bound'} {number(gate.bound)}"
    if result.state == "undecided":
        return f"{subject} has {bound} inside it"
    side = "above" if (result.state == "holds") == gate.at_least else "below"
    return f"{subject} lies {'at or ' if result.state == 'holds' else ''}{side} {bound}"


def _name(gate: Gate) -> str:
    return _NAMES[gate.measure] if gate.part is None else f"the mean {printable(gate.part, 80)}"


_NAMES = {
    "consistency": "consistency",
    "changed_meaning": "the mean score under changed meaning",
    "performance": "the mean score",
    "pass_rate": "the pass rate",
    "robustness": "robustness",
    "no_answer": "the share without an answer",
    "cut_off": "the share cut off before an answer",
    "truncated": "the share of truncated answers",
    "cost": "the cost",
}
