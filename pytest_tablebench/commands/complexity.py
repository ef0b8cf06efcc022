"""`tablebench complexity TABLES...`: the complexity of tables, and their tokens."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands._asking import cost_lines, open_client, plan_lines
from pytest_tablebench.commands._generating import tables_of
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import DataError, TableError, writing
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.generate.question_maker import Conversation
    from pytest_tablebench.papers.table import PaperTable, Value
    from pytest_tablebench.tables.hierarchy.complexity import Complexity


@dataclass(frozen=True)
class _MeasuredTable:
    """A table's name, its complexity by rule, its tokens, and its text for models."""

    name: str
    rule: Complexity
    tokens: int
    shows: str


def measure_tables(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.complexity import complexity_report

    measured, problems = _measure(options)
    if not measured:
        raise DataError("; ".join(["no table can be measured", *problems[:3]]))
    lines, marks, was_asked = _by_model(options, measured) if options.model else ([], None, True)
    if not was_asked:
        lines.append("the model was not asked; add --yes to ask")
    table = _table(measured, marks)
    if options.out:
        lines += _written(options.out, table, measured, marks)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return CommandAnswer(complexity_report(table, problems), rows, lines=lines)


def _measure(options: argparse.Namespace) -> tuple[list[_MeasuredTable], list[str]]:
    """Return the measurable tables, and a line for each other one."""
    from pytest_tablebench.generate.annotate import text_of
    from pytest_tablebench.generate.llm.replies import RefusedError
    from pytest_tablebench.serializers.structured import latex_tokens
    from pytest_tablebench.tables.hierarchy.complexity import complexity

    nowhere = Path(os.devnull)
    origin = tables_of(argparse.Namespace(tables=options.tables, out=options.out or nowhere))
    measured, problems = [], []
    for source in origin.sources(lambda: None):
        try:
            table = source.read()
            entry = _MeasuredTable(
                source.name, complexity(table), latex_tokens(table), text_of(table)
            )
        except (DataError, TableError, RefusedError) as error:
            problems.append(f"{source.name} is left out: {error}")
        else:
            measured.append(entry)
    return measured, problems


_Marks = list[tuple[int, ...] | None]
"""A model's marks of each table; None if they cannot be read."""


def _by_model(
    options: argparse.Namespace, measured: Sequence[_MeasuredTable]
) -> tuple[list[str], _Marks | None, bool]:
    """Return the lines to print, the marks of the model, and whether it was asked."""
    with open_client(options, [options.model]) as client:
        lines, calls = plan_lines(client, _conversations(options.model, measured))
        if calls and not options.yes:
            return lines, None, False
        outcomes = client.converse(_conversations(options.model, measured))
        marks = [None if isinstance(mark, Exception) else mark for mark in outcomes]
        lost = marks.count(None)
        lines += [f"{counted(lost, 'table')} without readable marks"] if lost else []
        return [*lines, *cost_lines(client.spent)], marks, True


def _conversations(
    model: str, measured: Sequence[_MeasuredTable]
) -> Iterator[Conversation[tuple[int, ...]]]:
    from pytest_tablebench.generate.annotate import ask_for_complexity, read_complexity
    from pytest_tablebench.generate.question_maker import reply_text

    def marks(table: _MeasuredTable) -> Conversation[tuple[int, ...]]:
        reply = yield from reply_text(ask_for_complexity(table.shows, model))
        return read_complexity(reply)

    return map(marks, measured)


def _table(measured: Sequence[_MeasuredTable], marks: _Marks | None) -> PaperTable:
    """Return all figures: by rule, and by the model if it was asked."""
    from pytest_tablebench.generate.annotate import DIMENSIONS
    from pytest_tablebench.papers.table import PaperTable, typed_table

    names = [name.replace("_", " ") for name in DIMENSIONS]
    header = ["table", "tokens", "complexity", *names[:4]]
    rows: list[tuple[Value, ...]] = [
        (entry.name, entry.tokens, entry.rule.score, *entry.rule) for entry in measured
    ]
    if marks is not None:
        header += ["by model", *(f"{name} by model" for name in names)]
        unknown = (None,) * (1 + len(names))
        rows = [
            (*row, *(unknown if table_marks is None else (_score(table_marks), *table_marks)))
            for row, table_marks in zip(rows, marks, strict=True)
        ]
    title = "Complexity of tables (of 100; each dimension from 1 to 10)"
    return PaperTable("complexity", title, typed_table(header, rows))


def _score(marks: Sequence[int]) -> int:
    """Return the score of the four dimensions that the paper reports."""
    from pytest_tablebench.tables.hierarchy.complexity import Complexity

    return Complexity(*marks[:4]).score


def _written(
    out: Path, table: PaperTable, measured: Sequence[_MeasuredTable], marks: _Marks | None
) -> list[str]:
    from pytest_tablebench.papers.plots import write_plots
    from pytest_tablebench.papers.structure import MappedTable
    from pytest_tablebench.papers.table import csv_text

    points = [
        MappedTable(
            "",
            f"{place}",
            entry.rule.score if table_marks is None else _score(table_marks),
            entry.tokens,
        )
        for place, (entry, table_marks) in enumerate(
            zip(measured, marks or [None] * len(measured), strict=True)
        )
    ]
    with writing(f"--out: cannot write into {out}"):
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{table.name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        files = write_plots({"tables": {"": points}}, out, ["complexity_tokens"])
    drawn = files["complexity_tokens"][0]
    return [f"figures: {out / table.name}.csv", f"map: {drawn}"]
