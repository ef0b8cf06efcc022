"""The verdict on a migration as text for a terminal, with rows that all its reports share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.migration import JudgedScope, Migration, Side, Verdict, cheapest
from pytest_tablebench.documents.formats import (
    aligned,
    duration,
    fitting,
    interval,
    money,
    number,
    percent,
    signed,
)
from pytest_tablebench.util.names import counted, printable

__all__ = [
    "STATES",
    "candidate_rows",
    "choice_line",
    "headline",
    "migration_lines",
    "plan_table",
    "scope_cells",
    "side_rows",
]

STATES: Mapping[Verdict, str] = {"yes": "holds", "no": "fails", "undecided": "undecided"}
"""The state of a gate that is shown like a verdict."""

CLAIMS = {"holds": "not worse", "fails": "worse", "undecided": "undecided"}
"""What the state of a claim of non-inferiority means."""

SCOPES = ("", "verdict", "difference", "95 % interval", "old", "new", "examples", "more needed")


def headline(migration: Migration) -> str:
    """Return the answer to the question of the migration, in one sentence."""
    new, old = (printable(side.model, 80) for side in (migration.new, migration.old))
    if migration.verdict == "yes":
        return f"Yes: {new} may replace {old}."
    if migration.verdict == "no":
        return f"No: {new} may not replace {old}."
    further = migration.further
    more = "" if further is None else f"; about {counted(further, 'more example')} would decide"
    return f"Undecided whether {new} may replace {old}{more}."


def choice_line(migrations: Sequence[Migration]) -> str:
    """Return the sentence that names the candidate to choose among several."""
    passing = [migration for migration in migrations if migration.verdict == "yes"]
    best = cheapest(migrations)
    if not passing:
        return f"None of {counted(len(migrations), 'candidate')} passes."
    if best is None:
        names = ", ".join(printable(migration.new.model, 80) for migration in passing)
        return f"These pass, at unknown prices: {names}."
    name = printable(best.new.model, 80)
    if len(passing) == 1:
        return f"Only {name} passes."
    unpriced = sum(migration.new.price is None for migration in passing)
    note = f"; the price of {unpriced} more is unknown" if unpriced else ""
    return f"The cheapest that passes: {name}, {money(best.new.price)} for 1,000 questions{note}."


def migration_lines(migrations: Sequence[Migration], *, width: int | None = None) -> list[str]:
    """Return the verdicts for a terminal; texts of runs are escaped.

    The last columns are left out of tables that are wider than `width`.
    """
    lines = list[str]()
    for migration in migrations:
        lines += [*_candidate(migration, width), ""]
    if len(migrations) > 1:
        lines += [*fitting(candidate_rows(migrations), width), "", choice_line(migrations)]
    else:
        lines += [headline(migrations[0])]
    return lines


def _candidate(migration: Migration, width: int | None) -> Iterator[str]:
    title = f" {printable(migration.new.model, 60)} for {printable(migration.old.model, 60)} "
    yield title.center(80, "=")
    yield headline(migration)
    yield from (f"  {printable(reason, 600)}" for reason in migration.reasons)
    yield ""
    yield f"non-inferiority of the mean score, margin {number(migration.margin)}"
    yield from fitting([SCOPES, *map(_scope_row, migration.scopes)], width, left=(0, 1))
    if migration.gates:
        yield ""
        rows = [
            (printable(gate.result.gate, 80), gate.result.state, printable(gate.result.reason, 300))
            for gate in migration.gates
        ]
        yield from aligned([("gate", "state", "why"), *rows], left=(0, 1, 2))
    yield ""
    yield from fitting([("", "old", "new"), *side_rows(migration.old, migration.new)], width)
    yield ""
    yield (
        f"answers: {migration.same_text:,} with the same text, {migration.other_text:,} with "
        f"another text and the same verdict"
    )
    for word, count, changes in (
        ("right before, wrong now", migration.n_worse, migration.worse),
        ("wrong before, right now", migration.n_better, migration.better),
    ):
        yield f"{word}: {count:,}"
        for change in changes:
            yield f"  {printable(change.case, 120)}: expected {printable(change.expected, 60)!r}"
            yield f"    old: {printable(change.before, 100)}"
            yield f"    new: {printable(change.after, 100)}"
    for difference in migration.differences:
        meaning = f" ({printable(difference.meaning, 160)})" if difference.meaning else ""
        yield (
            f"differs: {printable(difference.name, 80)}: {printable(difference.before, 120)} old, "
            f"{printable(difference.after, 120)} new{meaning}"
        )
    yield from (f"note: {printable(remark, 600)}" for remark in migration.remarks)


def _scope_row(scope: JudgedScope) -> tuple[str, ...]:
    indent = "" if scope.kind == "dataset" else "  "
    return f"{indent}{printable(scope.name, 60)}", *scope_cells(scope)


def scope_cells(scope: JudgedScope) -> tuple[str, ...]:
    """Return the cells of a scope after its name: claim, figures, examples, further examples."""
    return (
        CLAIMS[scope.result.state],
        signed(scope.result.estimate),
        interval(scope.result.interval, sign=True),
        number(scope.before),
        number(scope.after),
        f"{scope.result.n_examples:,}",
        "" if scope.further is None else f"{scope.further:,}",
    )


def side_rows(old: Side, new: Side) -> list[tuple[str, str, str]]:
    """Return the rows of figures that are not scores: a name and the values of both sides."""
    sides = old, new

    def row(name: str, texts: Sequence[str]) -> tuple[str, str, str]:
        return name, texts[0], texts[1]

    rows = [
        row("cases", [f"{side.cases:,}" for side in sides]),
        row("answers from the store", [f"{side.stored:,}" for side in sides]),
        row("no answer", [percent(side.no_answer) for side in sides]),
        row("cut off before an answer", [percent(side.cut_off) for side in sides]),
        row("cut off within the answer", [percent(side.truncated) for side in sides]),
        row("latency, median", [_latency(side, "median") for side in sides]),
        row("latency, 95th percentile", [_latency(side, "p95") for side in sides]),
        row("price of 1,000 questions", [_price(side.price) for side in sides]),
        row("this run cost", [_paid(side) for side in sides]),
    ]
    for name, label in (
        ("prompt_tokens", "prompt tokens a question"),
        ("completion_tokens", "completion tokens a question"),
        ("reasoning_tokens", "of them thinking"),
    ):
        values = [side.tokens.get(name) for side in sides]
        if any(value is not None for value in values):
            rows.append(row(label, ["-" if value is None else f"{value:,.0f}" for value in values]))
    return rows


def _latency(side: Side, name: str) -> str:
    latency = side.latency
    if latency is None:
        return "-"
    value: float = getattr(latency, name)
    return f"{value:.2f} s{' (stored)' if latency.stored else ''}"


def _price(value: float | None) -> str:
    return "unknown" if value is None else money(value)


def _paid(side: Side) -> str:
    return money(0.0) if not side.calls_paid else _price(side.paid_usd)


def candidate_rows(migrations: Sequence[Migration]) -> list[tuple[str, ...]]:
    """Return the table of several candidates, with its header."""
    header = (
        *("candidate", "verdict", "lowest difference", "1,000 questions", "no answer"),
        *("cut off", "median latency"),
    )
    rows: list[tuple[str, ...]] = [header]
    for migration in migrations:
        new = migration.new
        changes = [scope.result.estimate for scope in migration.datasets]
        worst = min((change for change in changes if change is not None), default=None)
        rows.append(
            (
                printable(new.model, 80),
                migration.verdict,
                signed(worst),
                _price(new.price),
                percent(new.no_answer),
                percent(new.cut_off),
                _latency(new, "median"),
            )
        )
    return rows


def plan_table(models: Sequence[str], plans: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the planned calls of each model, with price and time, as lines.

    `plans` are the fields of `ModelPlan` by model; models without a plan cost nothing.
    """
    rows = [("", "calls", "in the store", "price at most", "time")]
    for model in models:
        plan = plans.get(model)
        if plan is None:
            rows.append((printable(model, 80), "0", "-", money(0.0), "-"))
            continue
        calls, cost, seconds = plan["calls"], plan["cost_usd"], plan["seconds"]
        price = money(0.0) if not calls else "unknown" if cost is None else money(cost)
        time = "-" if not calls else "within a day" if seconds is None else duration(seconds)
        name = f"{printable(model, 80)}{' (judge)' if plan.get('judges') else ''}"
        rows.append((name, f"{calls:,}", f"{plan['hits']:,}", price, time))
    return aligned(rows)
