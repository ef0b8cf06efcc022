"""Judge gates on a judge's marks by the labels of people (explained in statistics.md)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_tablebench.claims._claim import decide
from pytest_tablebench.claims._labelled_mean import (
    FEWEST_CLUSTERS,
    FEWEST_LABELS,
    LabelledMean,
    combined,
    plain_values,
)
from pytest_tablebench.claims.calibration import cluster_name, corrected_cases, same_meaning
from pytest_tablebench.claims.estimate import Moments
from pytest_tablebench.claims.gates._needs import with_needs
from pytest_tablebench.claims.gates._result import GateResult, number, reason
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates._grammar import Gate
    from pytest_tablebench.claims.gates._scopes import JudgeLabels, Scopes
    from pytest_tablebench.claims.gates._values import GateValues
    from pytest_tablebench.results.judged_cases import JudgedCase
    from pytest_tablebench.results.labelled_cases import LabelledCases

METHOD = "prediction-powered t"

ACCEPT = "accept the judge as it is with --bench-judge-uncalibrated"

_CORRECTED = ("performance", "pass_rate")
_UNCALIBRATED = "judge not calibrated"


def judged_result(
    gate: Gate, result: GateResult, scopes: Scopes, sample: GateValues, tail: float
) -> GateResult | None:
    """Return the result of a gate on judged values by its labels; None for another gate.

    Without enough labels it is undecided. Of several datasets in the scope, only judged ones are
    corrected.
    """
    labels, judged = scopes.labels, scopes.judged(gate)
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
    result = replace(
        result,
        value=estimate,
        low=low,
        high=high,
        se=whole.se,
        df=whole.df,
        method=METHOD,
        examples=whole.n,
        p=find_tail(gate.bound, above=gate.at_least),
        state=decide(low, high, gate.bound, at_least=gate.at_least),
        state_point=decide(estimate, estimate, gate.bound, at_least=gate.at_least),
        worst_case=None,
    )
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
