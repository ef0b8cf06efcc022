"""`tablebench tree TABLE`: the header tree of a table, with which TreeThinker's is compared."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.tables.table import Table

WORKBOOKS = (".xlsx", ".xlsm")
PAGES = (".html", ".htm")


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "tree",
        help="show the tree of a table's headers",
        description="Show the tree of a table's headers, and the table's complexity. The strategy "
        "treethinker compares the trees of models with this tree.",
    )
    parser.add_argument("table", type=Path, metavar="TABLE", help="file: .xlsx, .html, .csv")
    parser.add_argument("--sheet", metavar="NAME", help="sheet of a workbook. Default: the first")
    parser.add_argument(
        "--tuples",
        action="store_true",
        help="print one tuple per line, (R0, 1, 2, text), as models write it",
    )
    parser.add_argument(
        "--why", action="store_true", help="explain how each line was read, and what is ambiguous"
    )
    parser.set_defaults(lines=_tree)


def _tree(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.tables.hierarchy.complexity import complexity
    from pytest_tablebench.tables.hierarchy.tree import true_tree

    if options.why:
        return _why(options.table, options.sheet), 0
    table = _read_structured(options.table, options.sheet)
    tree = true_tree(table)
    if options.tuples:
        return [str(header) for header in tree.headers], 0
    kinds = {kind: sum(header.kind == kind for header in tree.headers) for kind in "CR"}
    columns, rows = counted(kinds["C"], "column header"), counted(kinds["R"], "row header")
    return [*tree.lines(), f"{columns}, {rows}", str(complexity(table))], 0


def _why(path: Path, sheet: str | None) -> list[str]:
    from pytest_tablebench.tables.hierarchy.html import read_html_grid
    from pytest_tablebench.tables.hierarchy.why import explain
    from pytest_tablebench.tables.hierarchy.xlsx import read_xlsx_grid

    _check_kind(path, sheet)
    if path.suffix.lower() in WORKBOOKS:
        grid = read_xlsx_grid(path, sheet=sheet or 0)
    elif path.suffix.lower() in PAGES:
        grid = read_html_grid(path, index=0)
    else:
        raise DataError(
            f"{path}: a CSV file has no structure to explain; --why needs .xlsx or .html"
        )
    return [str(remark) for remark in explain(grid)]


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
