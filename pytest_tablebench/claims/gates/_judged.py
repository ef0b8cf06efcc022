"""Judge gates on a judge's marks, and say how many examples decide a gate (statistics.md)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from pytest_tablebench.claims._claim import POWER, Claim, examples_needed
from pytest_tablebench.claims._labelled_mean import (
    FEWEST_CLUSTERS,
    FEWEST_LABELS,
    LabelledMean,
    combined,
    plain_values,
)
from pytest_tablebench.claims.calibration import cluster_name, corrected_cases, same_meaning
from pytest_tablebench.claims.estimate import Moments
from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._result import GateResult, number, reason
from pytest_tablebench.util.names import are, counted

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates._scopes import JudgeLabels, Scopes
    from pytest_tablebench.claims.gates._values import GateValues
    from pytest_tablebench.results.judged_cases import JudgedCase
    from pytest_tablebench.results.labelled_cases import LabelledCases

HINT = "rows of your own tables that are independent of each other can each have a `group`"


def with_needs(
    gate: Gate, result: GateResult, stats: Moments, tail: float, *, family: int = 1, labels: int = 0
) -> GateResult:
    """Return the result of a gate with the number of examples that would decide it.

    `labels` is the number of labels by people that its interval uses; it is then a t interval.
    """
    is_difference = gate.baseline or labels > 0
    claim = Claim(gate.bound, gate.at_least, is_difference, tail, family)
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
    mean, subject = 0.0, "for a model with the same scores as the baseline"
    if not gate.baseline:
        answers = "right" if gate.at_least else "wrong"
        mean, subject = float(gate.at_least), f"for a model that is {answers} in every question"
    claim = Claim(gate.bound, gate.at_least, gate.baseline, tail)
    stats = Moments(mean, 0.0, None, size / max(1, total), 1)
    gap = mean - gate.bound if gate.at_least else gate.bound - mean
    needed = examples_needed(stats, claim, fewest=2) if gap > 0 else None
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


METHOD = "prediction-powered t"

ACCEPT = "accept the judge as it is with --bench-judge-uncalibrated"

_CORRECTED = ("performance", "pass_rate")
_UNCALIBRATED = "judge not calibrated"


def judged_result(gate: Gate, sample: GateValues, scopes: Scopes, tail: float) -> GateResult | None:
    """Return the result of a gate on judged values by its labels; None for another gate.

    Without enough labels it is undecided. Of several datasets in the scope, only judged ones are
    corrected.
    """
    result, labels, judged = sample.result, scopes.labels, scopes.judged(gate)
    if labels is None or not judged:
        return None
    undecided = replace(result, value=None, state="undecided", state_point="undecided", p=None)
    if sample.problem and not sample.values:
        return replace(undecided, reason=sample.problem)
    if gate.part is None and gate.measure not in _CORRECTED:
        text = f"{_UNCALIBRATED}: labels cannot correct {gate.measure}; {ACCEPT}"
        return replace(undecided, reason=text)
    cases, old = _cases(gate, judged, labels)
    corrected = _side(gate, cases, judged, labels.run)
    before = None
    if gate.baseline and labels.baseline is not None:
        before = _side(gate, old, judged, labels.baseline)
    if corrected is None or (gate.baseline and before is None):
        return replace(
            undecided, reason=_missing(gate, cases, old, corrected, labels, judged=judged)
        )
    whole = _whole(scopes.datasets(gate), judged, sample, corrected, before)
    if whole is None or sample.problem:
        return replace(undecided, reason=sample.problem or "fewer than two examples or tables")
    estimate = whole.mean if gate.baseline else whole.value
    low, high = whole.difference_bounds(tail) if gate.baseline else whole.bounds(tail)
    find_tail = whole.difference_tail if gate.baseline else whole.failure_tail
    p = find_tail(gate.bound, above=gate.at_least)
    facts = {"se": whole.se, "df": whole.df, "method": METHOD, "examples": whole.n, "p": p}
    result = result.judged(gate, estimate, low, high, **facts, worst_case=None)
    note = (
        f"Corrected by {counted(whole.n_labels, 'label')} of people; the judge alone gives "
        f"{number(whole.naive)}."
    )
    result = replace(result, reason=reason(gate, result), notes=(*result.notes, note))
    if result.state != "undecided":
        return result
    stats = Moments(estimate, whole.variance, whole.df, whole.n, whole.n)
    return with_needs(gate, result, stats, tail, labels=whole.n_labels)


def _cases(
    gate: Gate, names: Sequence[str], labels: JudgeLabels
) -> tuple[list[JudgedCase], list[JudgedCase]]:
    """Return the judged cases of a gate in the run and the baseline, there only common ones."""
    new = _of_gate(gate, names, labels.run)
    if not gate.baseline or labels.baseline is None:
        return new, []
    old = _of_gate(gate, names, labels.baseline)
    cells = [{(case.dataset, case.example_id, case.cell) for case in side} for side in (new, old)]
    common = cells[0] & cells[1]
    new, old = (
        [case for case in side if (case.dataset, case.example_id, case.cell) in common]
        for side in (new, old)
    )
    return new, old


def _of_gate(gate: Gate, names: Sequence[str], labelled: LabelledCases) -> list[JudgedCase]:
    tags = dict(gate.tags)
    cases = [
        case
        for case in labelled.cases
        if case.dataset in names
        and all(case.has_name(name) for name in gate.filters)
        and all(case.tags.get(tag) == value for tag, value in tags.items())
        and (case.part == gate.part if gate.part is not None else case.is_score)
        and (gate.measure != "pass_rate" or case.threshold is not None)
    ]
    return same_meaning(cases)


def _side(
    gate: Gate, cases: Sequence[JudgedCase], names: Sequence[str], labelled: LabelledCases
) -> LabelledMean | None:
    if {case.dataset for case in cases} != set(names):
        return None
    return corrected_cases(cases, is_sampled=labelled.is_sampled, rate=gate.measure == "pass_rate")


def _whole(
    names: Sequence[str],
    judged: Sequence[str],
    sample: GateValues,
    corrected: LabelledMean,
    before: LabelledMean | None,
) -> LabelledMean | None:
    """Return the mean over all datasets of the scope, of which some need no labels."""
    parts, factors = [corrected], [len(judged) / len(names)]
    if before is not None:
        parts.append(before)
        factors.append(-len(judged) / len(names))
    for name, values, groups in zip(names, sample.values, sample.clusters, strict=True):
        if name in judged:
            continue
        clusters: list[Hashable] = [
            (name, group) if not isinstance(group, str) or group.startswith("\0") else group
            for group in (range(len(values)) if groups is None else groups)
        ]
        plain = plain_values(values.tolist(), clusters)
        if plain is None:
            return None
        parts.append(plain)
        factors.append(1 / len(names))
    return combined(parts, factors) if len(parts) > 1 else corrected


def _missing(
    gate: Gate,
    cases: Sequence[JudgedCase],
    old: Sequence[JudgedCase],
    corrected: LabelledMean | None,
    labels: JudgeLabels,
    *,
    judged: Sequence[str],
) -> str:
    of_baseline = gate.baseline and corrected is not None
    side = old if of_baseline else cases
    answers = "the baseline's answers" if of_baseline else "these answers"
    labelled = [case for case in side if case.labels]
    clusters = len(set(map(cluster_name, labelled)))
    noun = "example" if any(case.cluster.startswith("\0") for case in labelled) else "table"
    text = f"{_UNCALIBRATED}: {counted(len(labelled), 'label')} of {answers}"
    lacking = sorted(set(judged) - {case.dataset for case in side})
    if len(labelled) < FEWEST_LABELS:
        text += f", and {FEWEST_LABELS} are needed"
    elif lacking:
        text += f", and {', '.join(lacking)} has no answer with a mark"
    else:
        text += (
            f" over {counted(clusters, noun)}, and labels over {FEWEST_CLUSTERS} {noun}s are needed"
        )
    if gate.baseline and labels.different is not None:
        text += f"; {labels.different}"
    return f"{text}; import labels with `tablebench labels`, or {ACCEPT}"


def without_labels(result: GateResult) -> GateResult:
    """Return the result of a gate on judged values that a stopping rule decided: undecided."""
    text = f"{_UNCALIBRATED}: a stopping rule cannot use labels; {ACCEPT}"
    return replace(result.undecided(text), state_point="undecided", low=None, high=None)
