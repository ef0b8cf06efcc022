"""The result of a gate, and the verdict and exit code of several results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.util.names import printable

State = Literal["holds", "fails", "undecided"]

TOLERANCE = 1e-9
"""A value this close to a bound keeps it: float noise decides nothing."""


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """The result of one gate.

    Against a baseline, `estimate` and `interval` are of the difference (new minus old) and
    `bound` is the margin; otherwise all three are of the measure itself, as shares of 1 or
    dollars. `interval` is of the confidence `level`; it, `se`, `df` and `method` are None
    where they cannot be told. `n_examples` are used, `n_left_out` asked but not usable;
    `n_left_out_baseline` the same of the baseline, `n_not_asked` its examples that the run
    never asked, `n_not_asked_baseline` those that only the run asked. `state_point` compares
    the estimate alone.

    `p` is the one-sided p of "fails", `holm_marked` that a gate would fail alone but not
    beside the others. `identical` tells that every paired case has the same answer text.
    `worst_case` are the bounds of robustness with missing cells anywhere in 0..1.
    `no_answer` and `baseline_no_answer` are the shares of the scope's cases without an answer.
    Of a no-answer gate: `n_cases`, `n_no_answer`, the exact interval that takes every case
    for independent, and the one that takes examples. `notes` are further plain sentences.
    `n_clusters` is the number of tables (documents, paraphrase groups) of the used examples, which
    the interval takes as independent; None where the records do not name them.
    """

    gate: str
    estimate: float | None = None
    bound: float
    interval: tuple[float, float] | None = None
    se: float | None = None
    df: float | None = None
    method: str | None = None
    n_examples: int = 0
    n_left_out: int = 0
    state: State = "undecided"
    state_point: State = "undecided"
    reason: str = ""
    level: float = 0.95
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
    n_clusters: int | None = None


def stored_results(entries: Any) -> list[GateResult]:
    """Return the gate results in a `run.json`, without entries that are none."""
    names = {item.name for item in fields(GateResult)}
    results = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and {"gate", "state", "bound"} <= entry.keys():
            values = {name: value for name, value in entry.items() if name in names}
            lists = {name: tuple(v) for name, v in values.items() if isinstance(v, list)}
            results.append(GateResult(**(values | lists)))
    return results


def decide(low: float, high: float, bound: float, *, at_least: bool) -> State:
    """Return what an interval says of a bound; an interval without width is never undecided."""
    limit = tolerant_bound(bound, at_least=at_least)
    if not at_least:
        low, high, limit = -high, -low, -limit
    if low >= limit:
        return "holds"
    return "fails" if high < limit else "undecided"


def tolerant_bound(bound: float, *, at_least: bool) -> float:
    """Return the value from which on (down to which) a bound counts as kept.

    Whatever foretells a verdict must begin here too, or rounding alone could fail a run early
    that keeps its bound in the end.
    """
    return bound - TOLERANCE if at_least else bound + TOLERANCE


def holm(tails: Sequence[float], alpha: float = 0.025, size: int | None = None) -> list[bool]:
    """Return which of several one-sided p-values reject together (Holm; section 8).

    The r-th smallest must be below alpha / (size - r); the first that is not stops all
    further ones. `size` is the number of gates in the family, where some have results already.
    """
    rejected = [False] * len(tails)
    left = len(tails) if size is None else size
    for place in sorted(range(len(tails)), key=tails.__getitem__):
        if not tails[place] < alpha / left:
            break
        rejected[place] = True
        left -= 1
    return rejected


def exit_code(results: Iterable[GateResult]) -> int:
    """Return 0 when all gates hold, 10 when one fails, 11 when one is undecided."""
    states = {result.state for result in results}
    return FAILS if "fails" in states else UNDECIDED if "undecided" in states else HOLDS


def verdict_line(results: Sequence[GateResult]) -> str:
    """Return the verdict on all gates as one plain sentence."""
    total = len(results)
    counts = {
        state: sum(result.state == state for result in results)
        for state in ("fails", "undecided", "holds")
    }
    if not total:
        return "No gate was asked for."
    if counts["holds"] == total:
        return "The gate holds." if total == 1 else f"All {total} gates hold."
    if total == 1:
        return "The gate fails." if counts["fails"] else "The gate is undecided."
    failed, unsure = counts["fails"], counts["undecided"]
    if failed:
        rest = f"; {unsure} {'is' if unsure == 1 else 'are'} undecided" if unsure else ""
        return f"{failed} of {total} gates {'fails' if failed == 1 else 'fail'}{rest}."
    return f"{unsure} of {total} gates {'is' if unsure == 1 else 'are'} undecided; none fails."


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
