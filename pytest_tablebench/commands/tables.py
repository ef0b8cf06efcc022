"""`tablebench tree`, `convert` and `complexity`: one table, or how complex several are."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands._asking import cost_lines, open_client, plan_lines
from pytest_tablebench.commands.outputs import CommandAnswer, print_note
from pytest_tablebench.errors import DataError, SettingsError, TableError, writing
from pytest_tablebench.tables.hierarchy.complexity import Complexity, complexity
from pytest_tablebench.tables.hierarchy.why import Remark, explain
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.generate.question_maker import Conversation
    from pytest_tablebench.papers.table import PaperTable, Value


WORKBOOKS = (".xlsx", ".xlsm")
PAGES = (".html", ".htm")


def show_tree(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.statistics import lines_report, tree_report
    from pytest_tablebench.tables.hierarchy.tree import true_tree

    if options.why:
        remarks = _remarks(options.table, options.sheet)
        return CommandAnswer(lines_report(remarks), [remark._asdict() for remark in remarks])
    table = _read_structured(options.table, options.sheet)
    tree = true_tree(table)
    headers = [header._asdict() for header in tree.headers]
    if options.tuples:
        return CommandAnswer(lines_report(tree.headers), headers)
    marks = complexity(table)
    content = {"headers": headers, "complexity": marks._asdict()}
    return CommandAnswer(tree_report(tree, marks), content)


def _remarks(path: Path, sheet: str | None) -> list[Remark]:
    from pytest_tablebench.tables.hierarchy.html import read_html_grid
    from pytest_tablebench.tables.hierarchy.xlsx import read_xlsx_grid

    _check_kind(path, sheet)
    if path.suffix.lower() in WORKBOOKS:
        return explain(read_xlsx_grid(path, sheet=sheet or 0))
    if path.suffix.lower() in PAGES:
        return explain(read_html_grid(path, index=0))
    raise DataError(f"{path}: a CSV file has no structure to explain; --why needs .xlsx or .html")


def _check_kind(path: Path, sheet: str | None) -> None:
    kind = path.suffix.lower()
    if sheet is not None and kind not in WORKBOOKS:
        raise DataError(f"{path}: --sheet needs a workbook")
    if kind not in {*WORKBOOKS, *PAGES, ".csv"}:
        raise DataError(f"{path}: must be a .xlsx, .html or .csv file")


def _read_structured(path: Path, sheet: str | None) -> Table:
    """Return the table of a file with its header levels. Raises `DataError` or `TableError`."""
    _check_kind(path, sheet)
    kind = path.suffix.lower()
    if kind in WORKBOOKS:
        return Table.from_xlsx(path, sheet=sheet or 0, structure=True)
    if kind in PAGES:
        return Table.from_html(path, structure=True)
    return Table.from_csv(path)


_FORMATS = {
    **{name: name for name in ("latex", "html", "markdown", "csv", "json")},
    "png": "image",
}
"""The serializer of each format."""


def convert_table(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.serializers import serialize

    if options.to == "png" and options.out is None:
        raise SettingsError("--to png needs -o FILE")
    written = options.table if options.sheet is None else f"{options.table}#{options.sheet}"
    content = serialize(_read_table(written), _FORMATS[options.to])
    if options.out is None:
        return str(content).split("\n"), 0
    pieces = content if isinstance(content, tuple) else (content,)
    lines = []
    for number, piece in enumerate(pieces, start=1):
        path = options.out
        if len(pieces) > 1:
            path = path.with_name(f"{path.stem}-{number}{path.suffix}")
        with writing(f"--out: cannot write {path}"), path.open("xb") as file:
            file.write(piece if isinstance(piece, bytes) else piece.encode())
        lines.append(str(path))
    return lines, 0


def _read_table(written: str) -> Table:
    """Return the table of a file or a sheet as a run reads it; notes go to the standard error."""
    from pytest_tablebench.datasets.described import SETTINGS_FILE, read_description
    from pytest_tablebench.datasets.folder import FolderDataset
    from pytest_tablebench.datasets.folder.tables import split_sheet

    name, sheet = split_sheet(written)
    file = real_path(Path(name))
    folder = next((up for up in file.parents[:2] if (up / SETTINGS_FILE).is_file()), file.parent)
    description, mistakes = read_description(folder)
    if mistakes:
        raise DataError(f"{folder / SETTINGS_FILE}: {mistakes[0].text}")
    tables = FolderDataset(description, "", ".").table_reader(folder)
    table = tables.table(file.relative_to(folder).as_posix() + (f"#{sheet}" if sheet else ""))
    for note in tables.notes:
        print_note(note)
    return table


@dataclass(frozen=True)
class _MeasuredTable:
    """A table's name, its complexity by rule, its tokens, and its text for models."""

    name: str
    rule: Complexity
    tokens: int
    shows: str


def measure_tables(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.statistics import complexity_report

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
    from pytest_tablebench.commands.generate import tables_of
    from pytest_tablebench.generate.annotate.questions import text_of
    from pytest_tablebench.generate.pair import RejectedError
    from pytest_tablebench.serializers.structured import latex_tokens

    nowhere = Path(os.devnull)
    origin = tables_of(argparse.Namespace(tables=options.tables, out=options.out or nowhere))
    measured, problems = [], []
    for source in origin.sources(lambda: None):
        try:
            table = source.read()
            entry = _MeasuredTable(
                source.name, complexity(table), latex_tokens(table), text_of(table)
            )
        except (DataError, TableError, RejectedError) as error:
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
    from pytest_tablebench.generate.annotate.questions import ask_for_complexity, read_complexity
    from pytest_tablebench.generate.question_maker import reply_text

    def marks(table: _MeasuredTable) -> Conversation[tuple[int, ...]]:
        reply = yield from reply_text(ask_for_complexity(table.shows, model))
        return read_complexity(reply)

    return map(marks, measured)


def _table(measured: Sequence[_MeasuredTable], marks: _Marks | None) -> PaperTable:
    """Return all figures: by rule, and by the model if it was asked."""
    from pytest_tablebench.generate.annotate.questions import DIMENSIONS
    from pytest_tablebench.papers.table import PaperTable

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
    return PaperTable("complexity", title, tuple(header), tuple(rows))


def _score(marks: Sequence[int]) -> int:
    """Return the score of the four dimensions that the paper reports."""
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
            f"{rank}",
            entry.rule.score if table_marks is None else _score(table_marks),
            entry.tokens,
        )
        for rank, (entry, table_marks) in enumerate(
            zip(measured, marks or [None] * len(measured), strict=True)
        )
    ]
    with writing(f"--out: cannot write into {out}"):
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{table.name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        files = write_plots({"tables": {"": points}}, out, ["complexity_tokens"])
    drawn = files["complexity_tokens"][0]
    return [f"figures: {out / table.name}.csv", f"map: {drawn}"]
