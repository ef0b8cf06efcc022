"""A comparison of two runs: what differs, figures on both sides, and the cases that flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from pytest_tablebench.claims.compare import RunComparison, ScopeComparison
from pytest_tablebench.claims.paired import MEASURES, Measure, PairedEstimate
from pytest_tablebench.config.axes import JOINED
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import percent, table_of
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.names import counted, out_of

_FLIPS = 20
"""Cases listed in each direction."""

_SINGLE = 5
_CAUTION = (
    "p-values are not corrected: without any difference, one in twenty is below .05 by chance"
)

_PARTS = (*(axis.name for axis in JOINED), "tag")
"""Kinds of scopes that are parts of a dataset."""


def comparison_report(comparison: RunComparison, *, flips: int = _FLIPS) -> doc.Document:
    """Return the comparison.

    `flips` is the number of cases listed in each direction; 0 only counts them.
    """
    blocks: list[doc.Block] = [
        doc.Paragraph(_side("before", comparison.before)),
        doc.Paragraph(_side("after ", comparison.after)),
        *(doc.Paragraph(f"differs: {text}") for text in _differences(comparison)),
        *(doc.Paragraph(f"note: {remark}") for remark in comparison.remarks),
        *_whole("over the same examples on both sides", comparison.scopes),
    ]
    if comparison.corrected:
        title = "by corrected gold, over the same examples on both sides"
        blocks += _whole(title, comparison.corrected)
    for dataset in (scope for scope in comparison.scopes if scope.kind == "dataset"):
        blocks += _parts(dataset.name, comparison.scopes)
    texts = [_answers(comparison), _smallest(comparison), _CAUTION]
    blocks += [doc.Heading("answers", 3), *map(doc.Paragraph, texts)]
    if methods := methods_line(comparison, MEASURES):
        blocks.append(doc.Paragraph(methods))
    lists = [
        ("wrong before, right now", comparison.better, flips),
        ("right before, wrong now", comparison.worse, flips),
    ]
    for word, ids in (("before", comparison.only_before), ("after", comparison.only_after)):
        lists += [(f"cases only in {word}", ids, _SINGLE)] if ids else []
    for title, ids, most in lists:
        cases = [doc.Code(case, 200) for case in ids]
        blocks.append(doc.Paragraph(f"{title}: {len(ids)}"))
        if most:
            blocks.append(doc.Listing(cases, most, "all of them with --json"))
    models = doc.Code(comparison.before.model), " and ", doc.Code(comparison.after.model)
    return doc.Document(models, blocks)


def _side(word: str, side: Run) -> doc.Text:
    cases = counted(len(side.records), "case")
    if side.is_cut_off:
        cases = out_of(len(side.records), side.facts.cases_planned, "case")
    again = f", {side.extended:,} asked again with a higher token limit" if side.extended else ""
    counts = f"{cases}, {side.unanswered:,} without an answer{again}"
    return f"{word}  ", doc.Code(side.model, 100), f"  ({side.path}): {counts}"


def _differences(comparison: RunComparison) -> Iterator[str]:
    for difference in comparison.differences:
        mark = "UNLIKE, " if difference.unlike else ""
        yield (
            f"{difference.name}: {difference.before} before, {difference.after} after "
            f"({mark}{difference.meaning})"
        )


def _whole(title: str, scopes: Sequence[ScopeComparison]) -> Iterator[doc.Block]:
    """Yield the figures of benchmarks and datasets on both sides, and notes on them."""
    rows, notes = list[Sequence[doc.Cell]](), list[str]()
    datasets = Counter(scope.benchmark for scope in scopes if scope.kind == "dataset")
    for scope in scopes:
        # A benchmark of one dataset would repeat its row.
        is_whole = scope.kind == "benchmark" and datasets[scope.benchmark] != 1
        if scope.kind != "dataset" and not is_whole:
            continue
        name = f"{scope.name} (all)" if is_whole else scope.name
        shares = map(percent, (scope.no_answer_before, scope.no_answer_after))
        once = (
            " / ".join(shares),
            doc.Figure(scope.better, "count"),
            doc.Figure(scope.worse, "count"),
        )
        for index, measure in enumerate(MEASURES):
            difference = scope.measures[measure]
            rows.append(
                (
                    None if index else doc.Code(name, 60),
                    measure.replace("_", " "),
                    doc.Figure(difference.before),
                    doc.Figure(difference.after),
                    difference,
                    _p(difference),
                    doc.Figure(difference.examples, "count"),
                    _left_out(difference),
                    *((None, None, None) if index else once),
                )
            )
            if difference.note:
                notes.append(f"{name}, {measure.replace('_', ' ')}: {difference.note}")
    yield doc.Heading(title, 3)
    columns = ("", doc.Column("measure", "text"), "before", "after", _DIFFERENCE, "p", "examples")
    yield table_of((*columns, "left out", "no answer", "right now", "wrong now"), rows)
    if notes:
        yield doc.Listing(notes)


_DIFFERENCE = doc.Column("difference", "estimate", "signed")


def _parts(dataset: str, scopes: Sequence[ScopeComparison]) -> Iterator[doc.Block]:
    """Yield the differences of the parts of a dataset; nothing if each kind has one part."""
    parts = [scope for scope in scopes if scope.dataset == dataset and scope.kind in _PARTS]
    kinds = [scope.kind for scope in parts]
    if len(kinds) == len(set(kinds)):
        return
    rows = []
    for scope in parts:
        performance, pass_rate, robustness = (scope.measures[measure] for measure in MEASURES)
        cells = (
            doc.Code(scope.name, 60),
            performance,
            _p(performance),
            doc.Figure(pass_rate.value, "signed"),
            _p(pass_rate),
            robustness,
            _p(robustness),
            doc.Figure(performance.examples, "count"),
            doc.Figure(scope.better, "count"),
            doc.Figure(scope.worse, "count"),
        )
        rows.append(doc.TableRow(cells, "part"))
    *names, last = (kind for kind in _PARTS if kind in kinds)
    yield doc.Heading((doc.Code(dataset, 60), f": differences by {', '.join(names)} and {last}"), 3)
    columns = (
        *("", doc.Column("performance", "estimate", "signed"), "p", "pass rate", "p"),
        *(doc.Column("robustness", "estimate", "signed"), "p", "examples", "right now"),
    )
    yield table_of((*columns, "wrong now"), rows)


def _answers(comparison: RunComparison) -> str:
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


def _smallest(comparison: RunComparison) -> str:
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
        f"{name} (right now {least.better}, wrong now {least.worse})"
        + (f", and the same in {others} more" if others else "")
    )


def change_row(scope: ScopeComparison, name: doc.Text) -> tuple[doc.Cell, ...]:
    """Return the performance of a scope in both runs, and the numbers of changed verdicts."""
    change = scope.measures["performance"]
    ends, p = (doc.Figure(change.before), doc.Figure(change.after)), doc.Figure(change.p, "chance")
    verdicts = doc.Figure(scope.better, "count"), doc.Figure(scope.worse, "count")
    return name, *ends, change, p, *verdicts


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


def _p(difference: PairedEstimate) -> doc.Figure:
    return doc.Figure(difference.p, "chance")


def _left_out(difference: PairedEstimate) -> str:
    if not difference.left_out:
        return "0"
    return f"{difference.left_out} ({difference.left_out_before}/{difference.left_out_after})"
