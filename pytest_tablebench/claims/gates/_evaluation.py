"""Judge gates over the records of one run (spec: statistics.md sections 2 to 6 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from pytest_tablebench.claims.estimate import (
    Moments,
    failure_tail,
    level_bounds,
    moments,
    paired_bounds,
    span,
)
from pytest_tablebench.claims.gates._counts import evaluate_cost, evaluate_count, evaluate_use
from pytest_tablebench.claims.gates._grammar import COUNTS, Gate, baseline_needed, parse_gate
from pytest_tablebench.claims.gates._judged import judged_result, with_few, with_needs
from pytest_tablebench.claims.gates._result import (
    EvaluatedGate,
    GateResult,
    correct,
    margin_note,
    number,
    reason,
)
from pytest_tablebench.claims.gates._scopes import (
    JudgeLabels,
    Scopes,
    read_side,
    read_table,
)
from pytest_tablebench.claims.gates._values import GateValues, collect
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.util.names import are, counted, out_of, unknown_name

Correction = Literal["holm", "none"]

DECIDE = "A judge (--bench-judge) or labels (`tablebench labels`) decide them"
"""The advice about unclear replies."""


def judge_gates(
    records: ScoreTable | Iterable[Any],
    gates: Sequence[str | Gate],
    baseline: ScoreTable | Iterable[Any] | None = None,
    *,
    level: float = 0.95,
    benchmarks: Mapping[str, Sequence[str]] | None = None,
    correction: Correction = "holm",
    point: bool = False,
    run: RunFacts | None = None,
    baseline_run: RunFacts | None = None,
    labels: JudgeLabels | None = None,
) -> list[GateResult]:
    """Return the result of each gate, in order.

    Args:
        records: the records of one model: a `ScoreTable`, `Record` or `ScoreRow` objects, or
            mappings with `dataset`, `example_id`, `serializer`, `perturbation`, `score` and
            `passed`. Repeats of a case are averaged; gates on counts count each repeat.
        gates: gates, parsed or as text.
        baseline: the records of the baseline, in the same forms.
        level: the confidence.
        benchmarks: the datasets of each benchmark; by default taken from the records.
        correction: "holm" applies `level` to all gates together, "none" to each gate alone.
        point: judge the point estimates alone.
        run: the facts of the run: its cost, and its datasets without files.
        baseline_run: the facts of the baseline.
        labels: labels by people, which gates on a judge's marks then need. None: the marks count
            as they are.

    Raises `SettingsError` for a gate that cannot be parsed or lacks its baseline, and `DataError`
    for records that cannot be used.
    """
    if not 0 < level < 1:
        raise SettingsError(f"the level of gates must be between 0 and 1, as 0.95, not {level!r}")
    if correction not in get_args(Correction):
        raise SettingsError(unknown_name("correction", str(correction), get_args(Correction)))
    is_corrected = correction == "holm" and not point
    parsed = list(map(parse_gate, gates))
    for gate in parsed:
        side = baseline_run if gate.measure == "cost" else baseline
        if gate.baseline and side is None:
            raise SettingsError(baseline_needed(gate))
    table = read_table(records)
    former = None if baseline is None else read_table(baseline)
    missing, tail = () if run is None else run.missing, (1 - level) / 2

    def scopes_of(table: ScoreTable, former: ScoreTable | None) -> Scopes:
        new, old = read_side(table), None if former is None else read_side(former)
        names = new.benchmarks if benchmarks is None else benchmarks
        allowances = [gate for gate in parsed if gate.allows_missing]
        family = sum(not gate.counted for gate in parsed) if is_corrected else 1
        return Scopes(new, old, names, missing, labels=labels, allowances=allowances, family=family)

    scopes = {False: scopes_of(table, former)}
    if any(gate.corrected for gate in parsed):
        scopes[True] = scopes_of(table.corrected, None if former is None else former.corrected)
    evaluated = []
    for gate in parsed:
        if gate.measure == "cost":
            result = evaluate_cost(gate, run, baseline_run)
        elif (unlike := _other_corrections(gate, run, baseline_run)) is not None:
            result = unlike
        else:
            result = evaluate_gate(gate, scopes[gate.corrected], tail, point=point)
        evaluated.append(EvaluatedGate(gate, result, tail))
    if is_corrected:
        evaluated = correct(evaluated, tail)
    return [replace(entry.result, level=level) for entry in evaluated]


def _other_corrections(
    gate: Gate, run: RunFacts | None, baseline_run: RunFacts | None
) -> GateResult | None:
    """Return the undecided result of a gate on two runs with other corrections, else None."""
    if not (gate.corrected and gate.baseline) or run is None or baseline_run is None:
        return None
    if run.overlay == baseline_run.overlay:
        return None
    reason = "the baseline has other corrections of the gold, or none"
    return GateResult(gate=gate.text, bound=gate.bound, reason=reason)


def cut_short(result: GateResult, ended: str) -> GateResult:
    """Return the result of a gate over a run that ended early: undecided.

    The cases asked first, or up to a first wrong answer, are no fair sample of the planned ones.
    Only a cost above its bound stays a failure. `ended` is the reason why the run ended.
    """
    gate = parse_gate(result.gate)
    if gate.measure == "cost" and not gate.at_least and result.state == "fails":
        return result
    reason = f"the run ended before all planned cases were asked: {ended}"
    return result.undecided(reason)


def evaluate_gate(gate: Gate, scopes: Scopes, tail: float, *, point: bool = False) -> GateResult:
    """Judge one gate alone by its interval, or by its estimate (`point`).

    A gate whose verdict would differ if the unclear replies were right is undecided, and so is one
    that would not hold if the missing answers were wrong.
    """
    scopes = scopes.sliced(gate)
    result = _evaluate(gate, scopes, tail)
    if point:
        result = _point_result(result)
    if gate.counted:
        return result
    result = unclear_result(gate, result, scopes, tail, point=point)
    return missing_result(gate, result, scopes, tail, point=point)


def missing_result(
    gate: Gate, result: GateResult, scopes: Scopes, tail: float, *, point: bool = False
) -> GateResult:
    """Return the result, undecided if it holds only because missing answers are left out.

    It must also hold if they are wrong (right for a gate with `<=`), unless another gate names how
    many are allowed. With `point` the estimate must.
    """
    if result.state != "holds":
        return result
    against = scopes.missing_against(gate)
    if against is None:
        return result
    other = _evaluate(gate, against, tail)
    if scopes.judged(gate):
        other = _shifted(gate, result, scopes, against)
    if (other.state_point if point else other.state) == "holds":
        return result
    mistakes = "wrong" if gate.at_least else "right"
    estimate = "unknown" if other.value is None else number(other.value)
    if other.interval is not None and not point:
        estimate += f" ({span(other.interval, number)})"
    text = (
        f"the gate holds only because missing answers are left out; if they were {mistakes}, the "
        f"estimate would be {estimate}. The same command asks them again, and a gate on "
        f"`{gate.scope}.no_answer` names how many are allowed"
    )
    return result.undecided(text)


def _shifted(gate: Gate, result: GateResult, scopes: Scopes, other: Scopes) -> GateResult:
    """Return a result that labels corrected, moved as far as the marks alone move."""
    ends = [collect(gate, side).result.value for side in (scopes, other)]
    if None in (*ends, result.value, result.interval):
        return result
    shift = ends[1] - ends[0]  # type: ignore[operator]
    estimate, low, high = (
        value + shift
        for value in (result.value, *result.interval)  # type: ignore[misc]
    )
    return result.judged(gate, estimate, low, high)


def unclear_result(
    gate: Gate, result: GateResult, scopes: Scopes, tail: float, *, point: bool = False
) -> GateResult:
    """Return the result, undecided if it would have another state with unclear replies as right.

    A state of the estimate, or of a stopping rule, is compared by the estimate alone (`point`),
    because such evidence is not the interval's.
    """
    as_right = scopes.unclear_as_right(gate)
    if as_right is None:
        return result
    other = _evaluate(gate, as_right, tail)
    state = other.state_point if point else other.state
    text = (
        f"unclear replies count as wrong; if they were right, the estimate would be {{}}. {DECIDE}"
    )
    text = text.format("unknown" if other.value is None else number(other.value))
    if result.state not in ("undecided", state):
        text = f"the gate {result.state} only because {text}"
        result = result.undecided(text)
    elif state != result.state:
        result = replace(result, notes=(*result.notes, f"{text[0].upper()}{text[1:]}."))
    if result.state_point != other.state_point:
        result = replace(result, state_point="undecided")
    return result


def _evaluate(gate: Gate, scopes: Scopes, tail: float) -> GateResult:
    shrunk = scopes.shrunk(gate)
    if shrunk is not None:
        return GateResult(gate=gate.text, bound=gate.bound, reason=shrunk)
    if gate.measure in COUNTS:
        return evaluate_count(gate, scopes, tail)
    sample = collect(gate, scopes)
    result = replace(sample.result, level=1 - 2 * tail)
    sample = replace(sample, result=result)
    if gate.is_use:
        return evaluate_use(gate, result, sample.problem)
    judged = judged_result(gate, sample, scopes, tail)
    if judged is not None:
        return judged
    stats = moments(sample.values, sample.clusters)
    if stats is None:
        result = replace(result, reason=sample.problem or _one_table(result))
        return with_few(gate, result, tail) if len(sample.values) == 1 else result
    return _with_interval(gate, sample, stats, tail=tail, family=scopes.family)


def _with_interval(
    gate: Gate, sample: GateValues, stats: Moments, *, tail: float, family: int
) -> GateResult:
    low, high, method = (paired_bounds if gate.baseline else level_bounds)(stats, tail)
    result = sample.result.judged(
        gate,
        sample.result.value,
        low,
        high,
        se=stats.paired_se if gate.baseline else stats.se,
        df=stats.df,
        method=method,
        p=failure_tail(stats, gate.bound, above=gate.at_least, paired=gate.baseline),
        identical=sample.identical and stats.df is None and abs(stats.mean) < 1e-9,
    )
    if sample.problem:
        result = result.undecided(sample.problem)
    else:
        result = replace(result, reason=reason(gate, result))
        if result.state == "undecided" or (result.state == "fails" and family > 1):
            result = with_needs(gate, result, stats, tail, family=family)
    return replace(result, notes=_notes(gate, result))


def _one_table(result: GateResult) -> str:
    """Return why there is no interval although there are enough examples."""
    n = f"{result.examples:,} examples" if result.clusters == 1 else "examples of a dataset"
    return (
        f"all {n} use one table, which allows no conclusion about other tables; use more tables, "
        f"or judge the estimate alone (--bench-gate-point)"
    )


def _notes(gate: Gate, result: GateResult) -> tuple[str, ...]:
    notes = []
    if gate.baseline and abs(gate.bound) < 1e-9 and result.state == "undecided":
        notes.append(margin_note(gate))
    if result.n_left_out:
        total = result.examples + result.n_left_out
        why = "" if gate.measure in ("robustness", "consistency") else ": they have no answer"
        why = f": they have no answer with {gate.part}" if gate.part else why
        left_out = out_of(result.n_left_out, total, "example")
        notes.append(f"{left_out} {are(result.n_left_out)} left out{why}.")
    for count, predicate in (
        (result.n_not_asked, "asked by the baseline only"),
        (result.n_not_asked_baseline, "not asked by the baseline"),
    ):
        if count:
            notes.append(
                f"{counted(count, 'example')} {'was' if count == 1 else 'were'} {predicate}."
            )
    if result.clusters == 1 < result.examples:
        notes.append(
            f"All {result.examples:,} examples use one table: the interval describes "
            f"questions about this table only."
        )
    elif result.clusters is not None and result.clusters < result.examples:
        notes.append(
            f"The {result.examples:,} examples use {counted(result.clusters, 'table')}; "
            f"the interval takes tables, not examples, as independent."
        )
    if result.no_answer and not gate.baseline:
        notes.append(
            f"Cases without an answer (a share of {number(result.no_answer)}) are left out: "
            f"the estimate describes the answered cases only."
        )
    return tuple(notes)


def _point_result(result: GateResult) -> GateResult:
    """Return the result with the point estimate's verdict as its state."""
    if result.method == "count":
        return result
    text = "no estimate"
    if result.value is not None:
        word = "meets" if result.state_point == "holds" else "misses"
        text = f"the estimate {number(result.value)} {word} the bound {number(result.bound)}"
        text += "; judged on the estimate alone"
    elif result.reason:
        text = result.reason
    return replace(result, state=result.state_point, reason=text, needs="", n_needed=None)
