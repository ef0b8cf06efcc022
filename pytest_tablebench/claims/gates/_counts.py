"""Gates on counts of cases and on cost (spec: statistics.md section 6)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_tablebench.claims._claim import decide
from pytest_tablebench.claims._clusters import ClusteredMean, numbered
from pytest_tablebench.claims.estimate import (
    EQUAL,
    Moments,
    clopper_pearson,
    level_bounds,
    span,
)
from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._result import GateResult, number
from pytest_tablebench.claims.gates._scopes import Scopes, columns_in_scope
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.sheets import ScoreSheet
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import out_of

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Places

_COUNTED = {
    "no_answer": ("has no answer", "have no answer"),
    "cut_off": ("was cut off before an answer", "were cut off before an answer"),
    "truncated": ("has a truncated answer", "have a truncated answer"),
    "unclear": ("is unclear", "are unclear"),
    "prompt_cut_by_server": ("has a prompt cut by the server", "have a prompt cut by the server"),
}


def evaluate_count(gate: Gate, scopes: Scopes, tail: float) -> GateResult:
    """Judge the share of the asked cases that a gate counts (`COUNTS`)."""
    names = [name for name in scopes.datasets(gate) if name in scopes.new.datasets]
    before = scopes.old.datasets if scopes.old else {}
    new = [_counts(gate, scopes.new.datasets[name]) for name in names]
    old = [_counts(gate, before[name]) for name in names if name in before]
    old_asked, old_missing = (sum(int(counts[which].sum()) for counts in old) for which in (0, 1))
    total = sum(int(cases.sum()) for cases, _ in new)
    old_share = old_missing / old_asked if old_asked else None
    if not total:
        return GateResult(gate=gate.text, bound=gate.bound, reason=scopes.unknown(gate))
    sizes = np.concatenate([cases[cases > 0] for cases, _ in new])
    losses = np.concatenate([lost[cases > 0] for cases, lost in new])
    lost = int(losses.sum())
    share = lost / total
    value = share
    are_lost = _COUNTED[gate.measure][lost != 1]
    text = f"{out_of(lost, total, 'case')} {are_lost} ({number(share)})"
    unanswered = share if gate.measure == "no_answer" else None
    if gate.baseline:
        if old_share is None:
            why = "the baseline has no case of this scope"
            return GateResult(gate=gate.text, bound=gate.bound, reason=why, no_answer=unanswered)
        value -= old_share
        text += f", {number(old_share)} in the baseline"
    state = decide(value, value, gate)
    exact = clopper_pearson(lost, total, tail)
    why = "counts are judged without an interval"
    if not gate.baseline and decide(*exact, gate) == "undecided":
        why += (
            f", so the gate {state} for these cases although the interval of further cases, "
            f"{span(exact, number)}, contains the bound {number(gate.bound)}"
        )
    return GateResult(
        gate=gate.text,
        value=value,
        bound=gate.bound,
        method="count",
        examples=len(sizes),
        state=state,
        state_point=state,
        reason=f"{text}; {why}",
        level=1 - 2 * tail,
        no_answer=unanswered,
        baseline_no_answer=old_share if gate.measure == "no_answer" else None,
        n_cases=total,
        n_no_answer=lost if gate.measure == "no_answer" else None,
        clopper_pearson=exact,
        effective_interval=_by_examples(sizes, losses, _groups(gate, scopes, names), tail),
    )


def evaluate_use(gate: Gate, result: GateResult, problem: str | None) -> GateResult:
    """Judge a mean number of turns or of calls; undecided if there is none."""
    if result.value is None or not result.examples:
        return replace(result, reason=problem or "no case of this scope has an answer")
    mean = number(result.value) + (" more than in the baseline" if gate.baseline else "")
    why = f"on average {mean}; such numbers are judged without an interval"
    return replace(result, method="count", state=result.state_point, reason=why)


def evaluate_cost(gate: Gate, run: RunFacts | None, baseline: RunFacts | None) -> GateResult:
    """Judge the cost of the run in dollars; undecided if it is unknown."""
    cost, old = _cost(run), _cost(baseline)
    if cost is None or (gate.baseline and old is None):
        whose, unknown_run = ("the run's", run) if cost is None else ("the baseline's", baseline)
        why = (
            "it was interrupted"
            if unknown_run is not None and unknown_run.is_running
            else "the provider gives no price"
        )
        reason = f"{whose} cost is unknown ({why})"
        return GateResult(gate=gate.text, bound=gate.bound, reason=reason)
    value = cost - old if gate.baseline and old is not None else cost
    state = decide(value, value, gate)
    return GateResult(
        gate=gate.text,
        value=value,
        bound=gate.bound,
        method="count",
        state=state,
        state_point=state,
        reason=f"the run cost ${number(cost)}"
        + (f", the baseline ${number(old)}" if gate.baseline and old is not None else ""),
    )


def _cost(run: RunFacts | None) -> float | None:
    if run is None or run.is_running:
        return None
    if run.cost_usd is None and run.calls_paid == 0:
        return 0.0  # every answer is from the store or from a built-in model
    return run.cost_usd


def _counts(gate: Gate, sheet: ScoreSheet) -> tuple[Places, Places]:
    """Return, by example, how many cases (repeats too) were asked and how many the gate counts."""
    columns = columns_in_scope(sheet, gate)
    cases, lost = sheet.counts()
    if gate.measure != "no_answer":
        lost = sheet.tally(gate.measure)
    return cases[:, columns].sum(axis=1), lost[:, columns].sum(axis=1)


def _groups(gate: Gate, scopes: Scopes, names: Sequence[str]) -> list[Hashable]:
    """Return the cluster of each asked example; an example of unknown cluster is its own."""
    clusters: list[Hashable] = []
    for name in names:
        sheet = scopes.new.datasets[name]
        rows, groups = np.flatnonzero(_counts(gate, sheet)[0]).tolist(), sheet.groups
        clusters += [(name, row) if groups is None else groups[row] for row in rows]
    return clusters


def _by_examples(
    sizes: Places, losses: Places, groups: Sequence[Hashable], tail: float
) -> tuple[float, float] | None:
    """Return the interval of section 2 over examples or their tables, since failures cluster.

    The share is a ratio of two sums, so its residuals are losses minus share times sizes.
    """
    index, names = numbered(groups)
    if len(names) < 2:
        return None
    total = float(sizes.sum())
    share = float(losses.sum()) / total
    rest = np.bincount(index, weights=losses - share * sizes)
    mean = ClusteredMean.of(rest / total, np.bincount(index, weights=sizes) / total)
    df = None if mean.variance < EQUAL else mean.df
    return level_bounds(Moments(share, mean.variance, df, mean.size, len(names)), tail)[:2]
