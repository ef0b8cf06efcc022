"""`tablebench tree TABLE`: the header tree of a table, with which TreeThinker's is compared."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import DataError

if TYPE_CHECKING:
    from pytest_tablebench.tables.hierarchy.why import Remark
    from pytest_tablebench.tables.table import Table

WORKBOOKS = (".xlsx", ".xlsm")
PAGES = (".html", ".htm")


def show_tree(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.complexity import lines_report, tree_report
    from pytest_tablebench.tables.hierarchy.complexity import complexity
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
    from pytest_tablebench.tables.hierarchy.why import explain
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
    from pytest_tablebench.tables.table import Table

    _check_kind(path, sheet)
    kind = path.suffix.lower()
    if kind in WORKBOOKS:
        return Table.from_xlsx(path, sheet=sheet or 0, structure=True)
    if kind in PAGES:
        return Table.from_html(path, structure=True)
    return Table.from_csv(path)
