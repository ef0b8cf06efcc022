"""`tablebench complexity TABLES...`: how complex tables are, against their tokens."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import add_asking, correspondence, cost_lines
from pytest_tablebench.commands._generating import tables_given
from pytest_tablebench.errors import DataError, ModelError, SettingsError, TableError
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.reports.paper.text import PaperTable, Value
    from pytest_tablebench.running.generating import Correspondence
    from pytest_tablebench.tables.hierarchy.complexity import Complexity

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "complexity", help="how complex tables are, by rule and by a model, and their tokens"
    )
    parser.add_argument(
        "tables",
        nargs="+",
        type=Path,
        metavar="TABLES",
        help="CSV, TSV, XLSX, Parquet or HTML files, or folders of them",
    )
    parser.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="folder for complexity.csv and the map"
    )
    add_asking(parser, "who judges it, beside the rule", required=False)
    parser.set_defaults(lines=_complexity)


@dataclass(frozen=True)
class _Measured:
    """A table's name, complexity by rule, tokens, and what models are shown of it."""

    name: str
    rule: Complexity
    tokens: int
    shows: str


def _complexity(given: argparse.Namespace) -> tuple[list[str], int]:
    measured, problems = _measured(given)
    if not measured:
        raise DataError("; ".join(["no table can be measured", *problems[:3]]))
    lines, marks, asked = _by_model(given, measured) if given.model else ([], None, True)
    if not asked:
        lines.append("the model was not asked: ask with --yes")
    table = _table(measured, marks)
    lines = [*_shown(table, marks), *problems[:10], *lines]
    return [*lines, *(_written(given.out, table, measured, marks) if given.out else [])], 0


def _measured(given: argparse.Namespace) -> tuple[list[_Measured], list[str]]:
    """Return the tables that can be measured, and a line for each other one."""
    from pytest_tablebench.generate.annotate import text_of
    from pytest_tablebench.generate.llm.replies import RefusedError
    from pytest_tablebench.serializers.table_tokens import latex_tokens
    from pytest_tablebench.tables.hierarchy.complexity import complexity

    nowhere = Path(os.devnull)
    origin = tables_given(argparse.Namespace(tables=given.tables, out=given.out or nowhere))
    found, problems = [], []
    for source in origin.sources(lambda: None):
        try:
            table = source.read()
            if table is None:
                continue
            one = _Measured(source.name, complexity(table), latex_tokens(table), text_of(table))
        except (DataError, TableError, RefusedError) as error:
            problems.append(printable(f"{source.name} is left out: {error}", 300))
        else:
            found.append(one)
    return found, problems


_Marks = list[tuple[int, ...] | None]
"""What a model says of each table; None: nothing that can be read."""


def _by_model(
    given: argparse.Namespace, measured: Sequence[_Measured]
) -> tuple[list[str], _Marks | None, bool]:
    """Return what to say, the marks of the model, and whether it was asked."""
    from pytest_tablebench.reports.judge_text import plan_line

    try:
        with correspondence(given, [given.model]) as letters:
            marks = _told(letters, given.model, measured)
            [plan] = letters.plans()
            lines = [f"at most: {plan_line(plan)}"]
            if plan.calls and not given.yes:
                return lines, None, False
            while not letters.is_complete:
                letters.ask()
                marks = _told(letters, given.model, measured)
            lost = marks.count(None)
            lines += [f"{counted(lost, 'table')} without marks that can be read"] if lost else []
            return [*lines, *cost_lines(letters.spent)], marks, True
    except ModelError as error:
        raise SettingsError(f"--model: {error}") from None


def _told(letters: Correspondence, model: str, measured: Sequence[_Measured]) -> _Marks:
    from pytest_tablebench.generate.annotate import ask_for_complexity, read_complexity
    from pytest_tablebench.generate.llm.replies import RefusedError

    found: _Marks = []
    for one in measured:
        try:
            reply = letters.tell(ask_for_complexity(one.shows, model))
            found.append(None if reply is None else read_complexity(reply))
        except (ModelError, RefusedError):
            found.append(None)
    return found


def _table(measured: Sequence[_Measured], marks: _Marks | None) -> PaperTable:
    """Return all figures: by rule, and by the model where it was asked."""
    from pytest_tablebench.generate.annotate import DIMENSIONS
    from pytest_tablebench.reports.paper.text import PaperTable

    names = [name.replace("_", " ") for name in DIMENSIONS]
    header = ["table", "tokens", "complexity", *names[:4]]
    rows: list[tuple[Value, ...]] = [
        (one.name, one.tokens, one.rule.score, *one.rule) for one in measured
    ]
    if marks is not None:
        header += ["by model", *(f"{name} by model" for name in names)]
        unknown = (None,) * (1 + len(names))
        rows = [
            (*row, *(unknown if own is None else (_score(own), *own)))
            for row, own in zip(rows, marks, strict=True)
        ]
    title = "Complexity of tables (of 100; each dimension from 1 to 10)"
    return PaperTable("complexity", title, tuple(header), tuple(rows))


def _score(marks: Sequence[int]) -> int:
    """Return the score of the four dimensions that the paper reports."""
    from pytest_tablebench.tables.hierarchy.complexity import Complexity

    return Complexity(*marks[:4]).score


def _shown(table: PaperTable, marks: _Marks | None) -> list[str]:
    """Return the figures as lines, the model's dimensions left out, and how far both agree."""
    from dataclasses import replace

    from pytest_tablebench.reports.formats import number
    from pytest_tablebench.reports.paper.text import terminal_lines
    from pytest_tablebench.results.judges import rank_correlation

    width = 8 if marks is not None else 7
    lines = terminal_lines(
        replace(table, columns=table.columns[:width], rows=tuple(row[:width] for row in table.rows))
    )
    pairs = [
        (float(str(row[2])), float(_score(own)))
        for row, own in zip(table.rows, marks or [None] * len(table.rows), strict=True)
        if own is not None
    ]
    if pairs:
        rank = number(rank_correlation(*map(list, zip(*pairs, strict=True))))
        lines.append(f"rule and model over {counted(len(pairs), 'table')}: rank correlation {rank}")
    return lines


def _written(
    out: Path, table: PaperTable, measured: Sequence[_Measured], marks: _Marks | None
) -> list[str]:
    """Write the figures and the map: by the model where it has given marks, else by rule."""
    from pytest_tablebench.reports.paper.plots import write_plots
    from pytest_tablebench.reports.paper.text import csv_text
    from pytest_tablebench.results.table_map import MappedTable

    points = [
        MappedTable("", f"{place}", one.rule.score if own is None else _score(own), one.tokens)
        for place, (one, own) in enumerate(
            zip(measured, marks or [None] * len(measured), strict=True)
        )
    ]
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{table.name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        files = write_plots({"tables": {"": points}}, out, ["complexity_tokens"])
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    drawn = files["complexity_tokens"][0]
    return [f"figures: {printable(str(out / table.name))}.csv", f"map: {printable(str(drawn))}"]
