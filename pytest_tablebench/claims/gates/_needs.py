"""Say how many examples decide a gate, before and after a run (spec: statistics.md 2, 3, 9)."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isfinite

from pytest_tablebench.claims._claim import POWER, Claim, examples_needed
from pytest_tablebench.claims.estimate import Moments
from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._result import GateResult, number
from pytest_tablebench.util.names import are, counted

HINT = "rows of your own tables that are independent of each other can each have a `group`"


def _claim(gate: Gate, tail: float, family: int = 1) -> Claim:
    return Claim(gate.bound, gate.at_least, gate.baseline, tail, max(1, family))


def with_needs(
    gate: Gate, result: GateResult, stats: Moments, tail: float, *, family: int = 1, labels: int = 0
) -> GateResult:
    """Return the result of a gate with the number of examples that would decide it.

    `labels` is the number of labels by people that its interval uses; it is then a t interval.
    """
    claim = _claim(gate, tail, family)
    if labels:
        claim = replace(claim, paired=True)
    total = examples_needed(stats, claim)
    if total is None:
        bound = f"{'margin' if gate.baseline else 'bound'} {number(gate.bound)}"
        text = (
            f"the estimate {number(stats.mean)} is too near to the {bound}: if it is the true "
            f"value, even a million examples do not decide the gate"
        )
        return replace(result, needs=text)
    verb = "hold" if (stats.mean > gate.bound) == gate.at_least else "fail"
    how_often = "" if stats.df is None else f" in {100 * POWER:.0f} % of runs"
    outcome = f"would make the gate {verb}{how_often} if the rates stay as measured"
    more, tables = total - stats.n, result.clusters if stats.is_clustered else None
    if tables is not None:
        planned, total = _whole_tables(total, stats.n, tables)
        more, outcome = planned - tables, f"{outcome}; {HINT}"
        size = f"about {counted(planned, 'table')} with {counted(total, 'example')}"
    else:
        size = f"about {counted(total, 'example')}"
    share = f", and as many times the {counted(labels, 'label')}," if labels else ""
    return replace(result, n_needed=total, needs=f"{size} ({more:,} more){share} {outcome}")


def _whole_tables(total: int, n: int, tables: int) -> tuple[int, int]:
    """Return the numbers of tables and examples of at least `total`, if `n` have `tables`."""
    needed = ceil(tables * total / n)
    return needed, ceil(needed * n / tables)


def with_few(gate: Gate, result: GateResult, tail: float) -> GateResult:
    """Return the result of a gate without an interval with what would decide it.

    Of a single example, all others are supposed to have its value. Several examples over one table
    say nothing about other tables.
    """
    if result.value is None or not result.examples:
        return result
    if result.examples > 1:
        text = f"examples over other tables would give the gate an interval; {HINT}"
        return replace(result, needs=text if result.clusters == 1 else "")
    return with_needs(gate, result, Moments(result.value, 0.0, None, 1, 1), tail)


def planned_needs(gate: Gate, size: float, total: int, tables: int | None, tail: float) -> str:
    """Return how many examples a gate needs to hold, before any answer is known.

    Arguments:
        gate: the gate, judged by an interval.
        size: the effective number of the planned examples, or of their tables.
        total: the number of planned examples; 0 if it is known only during the run.
        tables: the number of their tables, if several examples share one.
        tail: the error outside each end of the interval.

    The model is supposed to be as good as the baseline, or right (for `<=`, wrong) in every
    question. If a gate cannot hold even then, the text says it.
    """
    mean = 0.0 if gate.baseline else 1.0 if gate.at_least else 0.0
    subject = "a model with the same scores as the baseline"
    if not gate.baseline:
        subject = f"a model that is {'right' if gate.at_least else 'wrong'} in every question"
    subject = f"for {subject}"
    claim = _claim(gate, tail)
    stats = Moments(mean, 0.0, None, size / max(1, total), 1)
    gap = mean - gate.bound if gate.at_least else gate.bound - mean
    needed = examples_needed(stats, claim, fewest=2) if gap > 0 and isfinite(size) else None
    if needed is None:
        advice = "; accept a margin" if gate.baseline else ""
        return f"cannot hold {subject}, with any number of examples{advice}"
    amount, planned = counted(needed, "example"), f"{total:,}"
    if tables is not None and tables < total:
        needed_tables, needed = _whole_tables(needed, total, tables)
        amount = f"{counted(needed_tables, 'table')} with {counted(needed, 'example')}"
        planned = f"{counted(tables, 'table')} with {planned}"
    text = f"holds {subject} from {amount} on"
    if not total:
        return text
    return f"{text}; {'' if needed <= total else 'only '}{planned} {are(total)} planned"
