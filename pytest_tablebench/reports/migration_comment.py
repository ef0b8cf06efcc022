"""The verdict on a migration as a comment on a pull request, with all foreign texts escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_tablebench.claims.migration import Change, JudgedScope, Migration
from pytest_tablebench.documents.formats import number
from pytest_tablebench.reports.github import code
from pytest_tablebench.reports.migration_text import (
    SCOPES,
    candidate_rows,
    choice_line,
    headline,
    scope_cells,
    side_rows,
)
from pytest_tablebench.util.names import counted, printable

__all__ = ["COMMENT_LIMIT", "migration_comment"]

COMMENT_LIMIT = 65_536
"""Largest number of characters of a comment (GitHub's error: "body is too long")."""

_CHANGES = ("case", "expected", "old answer", "new answer")
_DIFFERENCES = ("", "old", "new", "meaning")
_ICONS = {"yes": "✅", "no": "❌", "undecided": "❔"}
_CUT = "_Cut here: GitHub takes 65,536 characters of a comment. The page has the rest._"


def migration_comment(migrations: Sequence[Migration]) -> str:
    """Return the verdicts as GitHub's Markdown, within the limit of a comment."""
    blocks = [] if len(migrations) == 1 else [_choice(migrations)]
    for migration in migrations:
        blocks += _candidate(migration)
    text, room = "", COMMENT_LIMIT - len(_CUT) - 2
    for block in blocks:
        part = "\n".join(block) + "\n\n"
        if len(text) + len(part) > room:
            return f"{text}{_CUT}\n"
        text += part
    return text.rstrip("\n") + "\n"


def _choice(migrations: Sequence[Migration]) -> list[str]:
    header, *rows = candidate_rows(migrations)
    return [
        "## May a new model replace the old one?",
        "",
        f"**{_escaped(choice_line(migrations))}**",
        "",
        *_table(header, [(code(row[0]), *row[1:]) for row in rows]),
    ]


def _candidate(migration: Migration) -> Iterator[list[str]]:
    yield [f"## {_ICONS[migration.verdict]} {_escaped(headline(migration))}"]
    yield [f"- {_escaped(reason)}" for reason in migration.reasons]
    first = [scope for scope in migration.scopes if _is_first(scope)]
    others = [scope for scope in migration.scopes if not _is_first(scope)]
    yield [
        f"### Mean score, margin {number(migration.margin)}",
        "",
        *_table(SCOPES, [_scope_row(scope) for scope in first]),
    ]
    if others:
        yield _folded(
            counted(len(others), "other slice"),
            _table(SCOPES, [_scope_row(scope, whole=True) for scope in others]),
        )
    if migration.gates:
        rows = [
            (code(gate.result.gate), gate.result.state, code(gate.result.reason, 300))
            for gate in migration.gates
        ]
        yield ["### Gates", "", *_table(("gate", "state", "why"), rows, texts=3)]
    yield [
        "### Both models",
        "",
        *_table(("", "old", "new"), side_rows(migration.old, migration.new), texts=1),
    ]
    for title, count, changes in (
        ("Right before, wrong now", migration.n_worse, migration.worse),
        ("Wrong before, right now", migration.n_better, migration.better),
    ):
        if count:
            yield _changes(f"{title}: {counted(count, 'case')}", changes)
    if migration.differences:
        texts = [
            (code(item.name), code(item.before), code(item.after), code(item.meaning))
            for item in migration.differences
        ]
        yield _folded("What else differs", _table(_DIFFERENCES, texts, texts=4))
    if migration.remarks:
        yield [f"- {_escaped(remark)}" for remark in migration.remarks]


def _is_first(scope: JudgedScope) -> bool:
    return scope.kind == "dataset" or scope.result.state == "fails"


def _scope_row(scope: JudgedScope, *, whole: bool = False) -> tuple[str, ...]:
    """Return the row of a scope; with `whole` a slice names its dataset."""
    name = code(scope.label if whole else scope.name)
    return (
        f"**{name}**" if scope.kind == "dataset" else name,
        *scope_cells(scope),
    )


def _changes(title: str, changes: Sequence[Change]) -> list[str]:
    rows = [
        (
            code(change.case),
            *(code(text, 100) for text in (change.expected, change.before, change.after)),
        )
        for change in changes
    ]
    return _folded(title, _table(_CHANGES, rows, texts=4))


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _escaped(text: str) -> str:
    """Return a sentence in which names of models and datasets cannot become structure.

    Every sign is a numeric reference. A word joiner follows `@` and `#`, so that GitHub makes no
    mention of a user or issue.
    """
    return "".join(
        c if c.isalnum() or c == " " else f"&#{ord(c)};{'&#8288;' if c in '@#' else ''}"
        for c in printable(text, 600)
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 2) -> list[str]:
    """Return a table; all columns after the first `texts` contain numbers."""
    marks = ["---" if place < texts else "---:" for place in range(len(header))]
    return [f"| {' | '.join(cells)} |" for cells in (header, marks, *rows)]
