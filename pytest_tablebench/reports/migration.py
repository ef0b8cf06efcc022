"""The verdict on a migration: may a new model replace the old one?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_tablebench.claims.migration import (
    JudgedScope,
    Migration,
    Side,
    Verdict,
    cheapest,
)
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import linked, money, table_of
from pytest_tablebench.util.names import counted

_STATES: Mapping[Verdict, doc.State] = {"yes": "holds", "no": "fails", "undecided": "undecided"}

_CLAIMS = {"holds": "not worse", "fails": "worse", "undecided": "undecided"}
"""What the state of a claim of non-inferiority means."""

_NARROWEST = 0.02
"""The smallest half width of the axis of differences."""

_LEGEND = (
    "The red line is the margin. A part is worse if its whole interval is left of the line, also "
    "after Holm's correction. It is not worse if its whole interval is right of the line."
)


def migration_report(migrations: Sequence[Migration], origin: Path | None = None) -> doc.Document:
    """Return the verdict on each candidate.

    Links to the runs' pages are relative to the folder `origin`; none without it.
    """
    blocks: list[doc.Block] = []
    if len(migrations) > 1:
        blocks = [doc.Paragraph(_choice(migrations)), _candidates(migrations)]
    for number, migration in enumerate(migrations):
        blocks += _candidate(migration, f"candidate-{number}", origin)
    old = doc.Code(migrations[0].old.model, 80)
    return doc.Document(("May the new model replace ", old, "?"), blocks)


def _headline(migration: Migration) -> doc.Text:
    new, old = doc.Code(migration.new.model, 80), doc.Code(migration.old.model, 80)
    start = {"yes": "Yes: ", "no": "No: ", "undecided": "Undecided whether "}[migration.verdict]
    may = " may not replace " if migration.verdict == "no" else " may replace "
    more = ""
    if migration.verdict == "undecided" and migration.further is not None:
        more = f"; about {counted(migration.further, 'more example')} would decide"
    return start, new, may, old, f"{more}."


def _choice(migrations: Sequence[Migration]) -> doc.Text:
    """Return the sentence that names the candidate to choose among several."""
    passing = [migration for migration in migrations if migration.verdict == "yes"]
    best = cheapest(migrations)
    if not passing:
        return f"None of {counted(len(migrations), 'candidate')} passes."
    if best is None:
        names = [(", ", doc.Code(migration.new.model, 80)) for migration in passing]
        return (
            "These pass, at unknown prices: ",
            *[part for pair in names for part in pair][1:],
            ".",
        )
    name = doc.Code(best.new.model, 80)
    if len(passing) == 1:
        return "Only ", name, " passes."
    unpriced = sum(migration.new.price is None for migration in passing)
    note = f"; the price of {unpriced} more is unknown" if unpriced else ""
    price = f", {money(best.new.price)} for 1,000 questions{note}."
    return "The cheapest that passes: ", name, price


def _candidates(migrations: Sequence[Migration]) -> doc.TableBlock:
    rows = []
    for number, migration in enumerate(migrations):
        new = migration.new
        changes = [scope.result.value for scope in migration.datasets]
        worst = min((change for change in changes if change is not None), default=None)
        rows.append(
            (
                doc.Link(new.model, f"#candidate-{number}"),
                doc.StateWord(migration.verdict, _STATES[migration.verdict]),
                doc.Figure(worst, "signed"),
                _price(new.price),
                doc.Figure(new.no_answer, "percent"),
                doc.Figure(new.cut_off, "percent"),
                _latency(new, "median"),
            )
        )
    columns = ("candidate", doc.Column("verdict", "text"), "lowest difference", "1,000 questions")
    return table_of((*columns, "no answer", "cut off", "median latency"), rows)


def _candidate(migration: Migration, name: str, origin: Path | None) -> Iterator[doc.Block]:
    new, old = doc.Code(migration.new.model, 60), doc.Code(migration.old.model, 60)
    yield doc.Heading((new, " for ", old), name=name)
    yield doc.Verdict(_headline(migration), _STATES[migration.verdict], migration.reasons)
    yield doc.Heading(
        ("Mean score: new minus old, on the same questions; margin ", doc.Figure(migration.margin)),
        3,
    )
    first = [scope for scope in migration.scopes if _is_first(scope)]
    others = [scope for scope in migration.scopes if not _is_first(scope)]
    ends = [abs(end) for scope in migration.scopes for end in scope.result.interval or ()]
    reach = max([_NARROWEST, 2 * migration.margin, *ends])
    yield _scopes(first, migration.margin, reach)
    if others:
        title = counted(len(others), "other slice")
        yield doc.Fold(title, [_scopes(others, migration.margin, reach)], is_open=True)
    yield doc.Paragraph(_LEGEND, "legend")
    if migration.gates:
        yield doc.Heading("Gates of the project", 3)
        yield table_of(
            ("gate", doc.Column("state", "text"), doc.Column("why", "text")),
            [
                (doc.Code(it.gate), doc.StateWord(it.state, it.state), doc.Code(it.reason, 400))
                for it in migration.gates
            ],
        )
    yield doc.Heading("Both models", 3)
    sides = [
        linked(side.model, Path(side.path) / "report.html", origin, 40)
        for side in (migration.old, migration.new)
    ]
    rows: list[Sequence[doc.Cell]] = list(_sides(migration.old, migration.new))
    if origin is not None:
        rows.insert(0, ("", *sides))
    yield table_of(("", "old", "new"), rows)
    yield from _changes(migration)
    if migration.differences:
        differing = [
            (*map(doc.Code, (item.name, item.before, item.after)), doc.Code(item.meaning, 200))
            for item in migration.differences
        ]
        columns = [doc.Column(name, "text") for name in ("", "old", "new", "meaning")]
        yield doc.Fold("What else differs", [table_of(columns, differing)], is_open=True)
    yield doc.Listing([doc.Code(remark, 600) for remark in migration.remarks])


def _is_first(scope: JudgedScope) -> bool:
    return scope.kind == "dataset" or scope.result.state == "fails"


def _scopes(scopes: Sequence[JudgedScope], margin: float, reach: float) -> doc.TableBlock:
    columns = (
        doc.Column("dataset or slice", "text"),
        doc.Column("verdict", "text"),
        doc.Column("difference", "estimate", "signed", (-reach, reach), -margin),
    )
    rows = [
        doc.TableRow(
            (
                doc.Code(scope.label, 80),
                doc.StateWord(_CLAIMS[scope.result.state], scope.result.state, scope.result.reason),
                scope.result,
                doc.Figure(scope.before),
                doc.Figure(scope.after),
                doc.Figure(scope.result.examples, "count"),
                None if scope.result.further is None else doc.Figure(scope.result.further, "count"),
            ),
            "whole" if scope.kind == "dataset" else "",
        )
        for scope in scopes
    ]
    return table_of((*columns, "old", "new", "examples", "more needed"), rows)


def _changes(migration: Migration) -> Iterator[doc.Block]:
    yield doc.Heading("Changed answers", 3)
    yield doc.Paragraph(
        f"{migration.same_text:,} answers have the same text, {migration.other_text:,} another "
        f"text and the same verdict."
    )
    names = ("case", "expected", "old answer", "new answer")
    columns = [doc.Column(name, "text") for name in names]
    for title, count, changes, is_open in (
        ("Right before, wrong now", migration.n_worse, migration.worse, True),
        ("Wrong before, right now", migration.n_better, migration.better, False),
    ):
        rows = [[*map(doc.Code, (c.case, c.expected, c.before, c.after))] for c in changes]
        yield doc.Fold(f"{title}: {count:,}", [table_of(columns, rows)], is_open=is_open)


def _sides(old: Side, new: Side) -> Iterator[Sequence[doc.Cell]]:
    """Yield the figures that are not scores: a name, and the values of both sides."""
    sides = old, new
    yield "cases", *(doc.Figure(side.cases, "count") for side in sides)
    yield "answers from the store", *(doc.Figure(side.stored, "count") for side in sides)
    yield "no answer", *(doc.Figure(side.no_answer, "percent") for side in sides)
    yield "cut off before an answer", *(doc.Figure(side.cut_off, "percent") for side in sides)
    yield "cut off within the answer", *(doc.Figure(side.truncated, "percent") for side in sides)
    yield "latency, median", *(_latency(side, "median") for side in sides)
    yield "latency, 95th percentile", *(_latency(side, "p95") for side in sides)
    yield "price of 1,000 questions", *(_price(side.price) for side in sides)
    yield "this run cost", *(_price(side.paid_usd if side.calls_paid else 0.0) for side in sides)
    for name, label in (
        ("prompt_tokens", "prompt tokens a question"),
        ("completion_tokens", "completion tokens a question"),
        ("reasoning_tokens", "of them thinking"),
    ):
        values = [side.tokens.get(name) for side in sides]
        if any(value is not None for value in values):
            yield label, *(doc.Figure(value, "count") for value in values)


def _latency(side: Side, name: str) -> doc.Figure:
    if side.latency is None:
        return doc.Figure(None)
    unit = " s (stored)" if side.latency.stored else " s"
    return doc.Figure(getattr(side.latency, name), digits=2, unit=unit)


def _price(value: float | None) -> doc.Figure:
    return doc.Figure(value, "money", unknown="unknown")
