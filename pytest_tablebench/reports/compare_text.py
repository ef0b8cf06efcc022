"""A comparison of two runs as text for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pytest_tablebench.claims.compare import RunComparison, ScopeComparison
from pytest_tablebench.claims.paired import MEASURES, Measure, PairedEstimate
from pytest_tablebench.config.axes import JOINED
from pytest_tablebench.documents.formats import fitting, interval, number, percent, signed
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.names import counted, out_of, printable

__all__ = ["SHOWN_FLIPS", "comparison_lines", "methods_line"]

SHOWN_FLIPS = 20
"""Cases listed in each direction."""

_SHOWN_SINGLE = 5
_LABELS: dict[Measure, str] = {
    "performance": "performance",
    "pass_rate": "pass rate",
    "robustness": "robustness",
}
_Table = tuple[str, list[tuple[str, ...]], int, list[str]]
_CAUTION = (
    "p-values are not corrected: without any difference, one in twenty is below .05 by chance"
)


def comparison_lines(
    comparison: RunComparison, *, flips: int = SHOWN_FLIPS, width: int | None = None
) -> list[str]:
    """Return the comparison for a terminal; texts of the runs are escaped.

    `flips` is the number of cases listed in each direction; 0 only counts them.
    The last columns are left out of tables that are wider than `width`.
    """
    lines = [
        _side_line("before", comparison.before),
        _side_line("after ", comparison.after),
        *(f"differs: {line}" for line in _differences(comparison)),
        *(f"note: {printable(remark, 600)}" for remark in comparison.remarks),
    ]
    for title, rows, words, notes in _tables(comparison):
        lines += ["", title, *fitting(rows, width, left=range(words))]
        lines += [f"  {note}" for note in notes]
    lines += ["", _answers_line(comparison), _single_line(comparison), _CAUTION]
    methods = methods_line(comparison, MEASURES)
    lines += [methods] if methods else []
    for title, ids, shown in _lists(comparison, flips):
        lines.append(f"{title}: {len(ids)}")
        lines += [f"  {printable(case, 200)}" for case in ids[:shown]]
        if shown and len(ids) > shown:
            lines.append(f"  ... and {len(ids) - shown} more (all of them with --json)")
    return lines


def _side_line(word: str, side: Run) -> str:
    return f"{word}  {printable(side.model, 100)}  ({printable(str(side.path))}): {_cases(side)}"


def _cases(side: Run) -> str:
    cases = counted(len(side.records), "case")
    if side.is_cut_off:
        cases = out_of(len(side.records), side.facts.cases_planned, "case")
    again = f", {side.extended:,} asked again with a higher token limit" if side.extended else ""
    return f"{cases}, {side.unanswered:,} without an answer{again}"


def _differences(comparison: RunComparison) -> Iterator[str]:
    for difference in comparison.differences:
        mark = "UNLIKE, " if difference.unlike else ""
        yield (
            f"{printable(difference.name, 100)}: {printable(difference.before, 160)} before, "
            f"{printable(difference.after, 160)} after ({mark}{printable(difference.meaning, 160)})"
        )


def _lists(comparison: RunComparison, flips: int) -> Iterator[tuple[str, tuple[str, ...], int]]:
    yield "wrong before, right now", comparison.better, flips
    yield "right before, wrong now", comparison.worse, flips
    for word, ids in (("before", comparison.only_before), ("after", comparison.only_after)):
        if ids:
            yield f"cases only in {word}", ids, _SHOWN_SINGLE


_PARTS = (*(axis.name for axis in JOINED), "tag")
"""Kinds of scopes that are parts of a dataset."""


def _tables(comparison: RunComparison) -> Iterator[_Table]:
    """Yield the title, rows, number of leading text columns, and notes of each table."""
    yield _whole_table("over the same examples on both sides", comparison.scopes)
    if comparison.corrected:
        yield _whole_table(
            "by corrected gold, over the same examples on both sides", comparison.corrected
        )
    for dataset in (scope for scope in comparison.scopes if scope.kind == "dataset"):
        parts = [
            scope
            for scope in comparison.scopes
            if scope.dataset == dataset.name and scope.kind in _PARTS
        ]
        kinds = [scope.kind for scope in parts]
        if any(kinds.count(kind) > 1 for kind in set(kinds)):
            yield _axes_table(dataset.name, parts)


def _same_as_dataset(scope: ScopeComparison, scopes: Sequence[ScopeComparison]) -> bool:
    """Return whether a benchmark consists of one dataset, which has the same row."""
    datasets = [
        scope_of_dataset
        for scope_of_dataset in scopes
        if scope_of_dataset.kind == "dataset" and scope_of_dataset.benchmark == scope.benchmark
    ]
    return scope.kind == "benchmark" and len(datasets) == 1


def _whole_table(title: str, scopes: Sequence[ScopeComparison]) -> _Table:
    header: tuple[str, ...] = (
        *("", "measure", "before", "after", "difference", "95 % interval", "p", "examples"),
        *("left out", "no answer", "right now", "wrong now"),
    )
    rows, notes = [header], list[str]()
    for scope in scopes:
        if scope.kind not in {"benchmark", "dataset"} or _same_as_dataset(scope, scopes):
            continue
        name = f"{scope.name} (all)" if scope.kind == "benchmark" else scope.name
        name = printable(name, 60)
        for place, measure in enumerate(MEASURES):
            difference = scope.measures[measure]
            rows.append(
                (
                    "" if place else name,
                    _LABELS[measure],
                    number(difference.before),
                    number(difference.after),
                    signed(difference.value),
                    interval(difference.interval, sign=True),
                    _p(difference),
                    str(difference.examples),
                    _left_out(difference),
                    "" if place else _shares(scope),
                    "" if place else str(scope.better),
                    "" if place else str(scope.worse),
                )
            )
            if difference.note:
                notes.append(f"{name}, {_LABELS[measure]}: {printable(difference.note, 300)}")
    return title, rows, 2, notes


def _axes_table(dataset: str, scopes: Sequence[ScopeComparison]) -> _Table:
    header: tuple[str, ...] = (
        *("", "performance", "95 % interval", "p", "pass rate", "p"),
        *("robustness", "95 % interval", "p", "examples", "right now", "wrong now"),
    )
    rows = [header]
    for scope in scopes:
        performance, pass_rate, robustness = (scope.measures[measure] for measure in MEASURES)
        rows.append(
            (
                f"  {printable(scope.name, 60)}",
                signed(performance.value),
                interval(performance.interval, sign=True),
                _p(performance),
                signed(pass_rate.value),
                _p(pass_rate),
                signed(robustness.value),
                interval(robustness.interval, sign=True),
                _p(robustness),
                str(performance.examples),
                str(scope.better),
                str(scope.worse),
            )
        )
    kinds = {scope.kind for scope in scopes}
    *names, last = (kind for kind in _PARTS if kind in kinds)
    title = f"{printable(dataset, 60)}: differences by {', '.join(names)} and {last}"
    return title, rows, 1, []


def _answers_line(comparison: RunComparison) -> str:
    answers = comparison.answers
    judged = (
        f" ({answers.flipped_same_text} of them with the same text)"
        if answers.flipped_same_text
        else ""
    )
    unanswered = ""
    if answers.gained or answers.lost or answers.neither:
        unanswered = (
            f"; without an answer only before {answers.gained}, only after {answers.lost}, "
            f"on both sides {answers.neither}"
        )
    return (
        f"answers: same text {answers.same_text}; other text, same verdict {answers.other_text}; "
        f"verdict flipped {answers.flipped}{judged}{unanswered}"
    )


def _single_line(comparison: RunComparison) -> str:
    """Return the line on the configuration with the smallest p-value."""
    configurations = [
        configuration for configuration in comparison.configurations if configuration.n_examples
    ]
    if not configurations:
        return "single configurations: none has an answer on both sides"
    test = ", ".join(dict.fromkeys(configuration.test for configuration in configurations))
    least = min(configurations, key=lambda configuration: configuration.p)
    name = "/".join(filter(None, (least.dataset, *least.configuration.values())))
    others = sum(configuration.p - least.p < 1e-12 for configuration in configurations) - 1
    return (
        f"single configurations ({test}): smallest p of {len(configurations)} is {least.p:.3g} in "
        f"{printable(name, 160)} (right now {least.better}, wrong now {least.worse})"
        + (f", and the same in {others} more" if others else "")
    )


def methods_line(comparison: RunComparison, measures: Collection[Measure]) -> str:
    """Return a line if an interval and a p-value disagree on a difference in these measures."""
    disagreements = [
        difference
        for scope in comparison.scopes
        for name, difference in scope.measures.items()
        if name in measures
        and difference.interval is not None
        and difference.p is not None
        and (difference.interval[0] > 0 or difference.interval[1] < 0) != (difference.p < 0.05)
    ]
    if not disagreements:
        return ""
    tests = ", ".join(sorted({str(difference.test) for difference in disagreements}))
    methods = ", ".join(sorted({str(difference.method) for difference in disagreements}))
    return (
        f"an interval and a p-value that disagree come from different methods (interval: "
        f"{methods}; p: {tests}); treat such a difference as unclear"
    )


def _p(difference: PairedEstimate) -> str:
    if difference.p is None:
        return "-"
    return "<.001" if difference.p < 0.001 else number(difference.p)


def _left_out(difference: PairedEstimate) -> str:
    if not difference.left_out:
        return "0"
    return f"{difference.left_out} ({difference.left_out_before}/{difference.left_out_after})"


def _shares(scope: ScopeComparison) -> str:
    shares = (scope.no_answer_before, scope.no_answer_after)
    return " / ".join(map(percent, shares))
