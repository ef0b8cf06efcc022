"""Judge a migration: non-inferiority on pairs, with the project's gates (statistics.md 3, 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.compare import RunComparison, ScopeComparison, compare_runs
from pytest_tablebench.claims.estimate import span
from pytest_tablebench.claims.gates import (
    Gate,
    GateResult,
    judge_gates,
    stored_results,
)
from pytest_tablebench.claims.migration._types import (
    Change,
    JudgedScope,
    Migration,
    Side,
    Verdict,
    differences_of,
    side_of,
)
from pytest_tablebench.results.record import Record, case_key
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.names import are, counted

FEWEST_EXAMPLES = 10
"""A tag's value with fewer common examples is no slice: the smallest sample of section 11."""

SHOWN_CHANGES = 10
"""The number of changed cases with their answers, in each direction."""

TEXT_LIMIT = 300


def judge_migration(
    old: Run,
    new: Run,
    margin: float,
    *,
    plans: Mapping[str, Mapping[str, Any]] | None = None,
) -> Migration:
    """Return whether a new model may replace an old one.

    Non-inferiority of the mean score is tested in each dataset and slice with the paired interval
    (section 3): it is shown if the whole interval is at or above minus the margin, and refuted if
    the whole interval is below. Holm's correction applies to the refutations of all datasets and
    slices together (section 8); "all are non-inferior" needs none (Berger 1982). A share of cases
    without an answer that rises by more than the margin is a refutation too, because such cases
    are in no pair (section 6).

    Arguments:
        old: the run of the old model.
        new: the run of the new model, over the same cases.
        margin: the accepted loss, as a share of 1.
        plans: the fields of each model's `ModelPlan`, for their limits.

    Raises `SettingsError` for runs without a common case.
    """
    comparison = compare_runs(old, new, allow_unlike=True)
    subjects, gates = zip(*_subjects(comparison, margin), strict=True)
    counts = [_gap_claim(scope.name, margin) for scope in subjects if scope.kind == "dataset"]
    results = judge_gates(new.table, [*gates, *counts], old.table)
    scopes = tuple(map(_judged, subjects, results))
    gaps, sides = tuple(results[len(gates) :]), (side_of(old), side_of(new))
    gate_entries = () if new.facts.is_running else new.facts.gates  # judged at the end of the run
    judged = tuple(stored_results(gate_entries))
    verdict, reasons = _verdict(sides, scopes, gaps, judged)
    answers = {case_key(record): record for record in old.records}
    changed = {case_key(record): record for record in new.records}
    return Migration(
        old=sides[0],
        new=sides[1],
        verdict=verdict,
        reasons=tuple(reasons),
        margin=margin,
        scopes=scopes,
        answers=gaps,
        gates=judged,
        better=_changes(comparison.better, answers, changed),
        worse=_changes(comparison.worse, answers, changed),
        n_better=len(comparison.better),
        n_worse=len(comparison.worse),
        same_text=comparison.answers.same_text,
        other_text=comparison.answers.other_text,
        differences=differences_of(old, new, comparison, plans or {}),
        remarks=tuple(_remarks(sides, scopes, comparison)),
    )


def _subjects(comparison: RunComparison, margin: float) -> Iterator[tuple[ScopeComparison, Gate]]:
    """Yield each dataset, then its serializers and the values of its tags, with the claims."""
    for dataset in (scope for scope in comparison.scopes if scope.kind == "dataset"):
        name, whole = dataset.name, _examples(dataset)
        yield dataset, _claim(name, margin)
        parts = [scope for scope in comparison.scopes if scope.dataset == name]
        serializers = [part for part in parts if part.kind == "serializer"]
        for part in serializers if len(serializers) > 1 else ():
            yield part, _claim(name, margin, filters=(part.name,))
        for part in parts:
            # A value that all examples have is the dataset itself.
            if part.kind == "tag" and FEWEST_EXAMPLES <= _examples(part) < whole:
                tag, _, value = part.name.partition("=")
                yield part, _claim(name, margin, tags=((tag, value),))


def _examples(scope: ScopeComparison) -> int:
    return scope.measures["performance"].examples


def _claim(
    dataset: str,
    margin: float,
    *,
    filters: tuple[str, ...] = (),
    tags: tuple[tuple[str, str], ...] = (),
) -> Gate:
    """Return the claim that performance is at least the baseline's less the margin."""
    brackets = "".join(f"[{name}]" for name in filters)
    braces = "".join("{" + f"{tag}={value}" + "}" for tag, value in tags)
    text = f"{dataset}{brackets}{braces}.performance >= baseline - {margin:g}"
    return Gate(dataset, filters, "performance", True, -margin, baseline=True, text=text, tags=tags)


def _gap_claim(dataset: str, margin: float) -> Gate:
    """Return the claim that the share without an answer rises by the margin at most."""
    text = f"{dataset}.no_answer <= baseline + {margin:g}"
    return Gate(dataset, (), "no_answer", at_least=False, bound=margin, baseline=True, text=text)


def _judged(scope: ScopeComparison, result: GateResult) -> JudgedScope:
    means = scope.measures["performance"]
    dataset = scope.dataset or ""
    return JudgedScope(scope.kind, dataset, scope.name, means.before, means.after, result)


def _verdict(
    sides: tuple[Side, Side],
    scopes: Sequence[JudgedScope],
    gaps: Sequence[GateResult],
    gates: Sequence[GateResult],
) -> tuple[Verdict, list[str]]:
    """Return the verdict and the sentences that explain it."""
    ended = [
        f"the run of {side.model} is incomplete: {side.ended}"
        for side in sides
        if side.ended is not None
    ]
    # The cases asked before the end of a run are no fair sample. Its gates take that into account.
    failures = [] if ended else list(_failures(sides[1], scopes, gaps))
    failures += [
        f"gate {gate.gate} fails: {gate.reason}" for gate in gates if gate.state == "fails"
    ]
    if failures:
        return "no", failures
    if ended:
        return "undecided", ended
    doubts = [
        f"{scope.label}: {_undecided(scope.result)}"
        for scope in scopes
        if scope.kind == "dataset" and scope.result.state == "undecided"
    ]
    doubts += [
        f"gate {gate.gate}: {_undecided(gate)}" for gate in gates if gate.state == "undecided"
    ]
    if doubts:
        return "undecided", doubts
    datasets = [scope for scope in scopes if scope.kind == "dataset"]
    reasons = [f"no dataset is worse beyond the margin: {', '.join(map(_shown, datasets))}"]
    if gates:
        reasons.append(
            f"{counted(len(gates), 'gate')} of the project {'holds' if len(gates) == 1 else 'hold'}"
        )
    return "yes", reasons


def _failures(
    side: Side,
    scopes: Sequence[JudgedScope],
    gaps: Sequence[GateResult],
) -> Iterator[str]:
    wholes = {scope.dataset: scope for scope in scopes if scope.kind == "dataset"}
    for scope in scopes:
        if scope.result.state != "fails":
            continue
        whole = wholes[scope.dataset]
        change = whole.result.value
        if scope is not whole and change is not None and change > 0:
            yield f"{scope.dataset} is better on average ({change:+.3f}), but {_worse(scope)}"
        else:
            yield _worse(scope)
    for gap in gaps:
        if gap.state == "fails":
            causes = ", ".join(f"{reason} {count:,}" for reason, count in side.reasons.items())
            name = gap.gate.rpartition(".no_answer")[0]
            yield (
                f"{name}: more cases without an answer ({gap.reason.partition(';')[0]}; "
                f"reasons: {causes}); the same command asks only these again"
            )


def _worse(scope: JudgedScope) -> str:
    return f"{scope.label} is worse beyond the margin: {_shown(scope)}"


def _shown(scope: JudgedScope) -> str:
    """Return the difference of a scope with its interval."""
    result = scope.result
    if result.value is None or result.interval is None:
        return f"{scope.label} unknown"
    subject = f"{scope.label} " if scope.kind == "dataset" else ""
    figure = "identical answers" if result.identical else f"{result.value:+.3f}"
    return f"{subject}{figure} ({span(result.interval, '{:+.3f}'.format)})"


def _undecided(result: GateResult) -> str:
    """Return why a claim is undecided, and how many examples would decide it."""
    return f"{result.reason}; {result.needs}" if result.needs else result.reason


def _changes(
    ids: Sequence[str], before: Mapping[str, Record], after: Mapping[str, Record]
) -> tuple[Change, ...]:
    """Return the first changed cases, each of another example as far as there are enough."""
    changes, examples = list[str](), Counter[tuple[str, str]]()
    for case in ids:
        record = after[case]
        examples[record.dataset, record.example_id] += 1
        if examples[record.dataset, record.example_id] == 1:
            changes.append(case)
    changes += [case for case in ids if case not in set(changes)]
    return tuple(
        Change(
            case,
            _cut(", ".join(map(str, after[case].references))),
            _cut(before[case].raw),
            _cut(after[case].raw),
        )
        for case in changes[:SHOWN_CHANGES]
        if case in before
    )


def _cut(text: str | None) -> str:
    plain = " ".join((text or "").split())
    return plain if len(plain) <= TEXT_LIMIT else f"{plain[: TEXT_LIMIT - 1]}…"


def _remarks(
    sides: tuple[Side, Side], scopes: Iterable[JudgedScope], comparison: RunComparison
) -> Iterator[str]:
    open_slices = sum(
        scope.kind != "dataset" and scope.result.state == "undecided" for scope in scopes
    )
    if open_slices:
        yield (
            f"{counted(open_slices, 'slice')} {are(open_slices)} too small to show "
            f"non-inferiority; a slice refuses a model only if it is clearly worse"
        )
    latencies = [side.latency for side in sides]
    if None in latencies:
        yield "latency cannot be compared: a side has no measured time"
    elif any(latency is not None and latency.stored for latency in latencies):
        names = [side.model for side in sides if side.latency is not None and side.latency.stored]
        yield (
            f"the times of {' and '.join(names)} come with stored answers: they were measured "
            f"earlier, perhaps from elsewhere and under another load"
        )
    yield from comparison.remarks
