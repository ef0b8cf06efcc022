"""Replays of records about hierarchical tables: their parts, and what single cells mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from openpyxl.utils import get_column_letter

from pytest_tablebench import Table
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.paths import expanded, one_line
from tests.support.slices import ROOT

from .replay import Record, differences, replays


@replays("written_table")
def replay_written_table(record: Record) -> Iterator[str]:
    table = Table.from_html(record["html"], structure=True)
    grid = [[one_line(cell) for cell in line] for line in expanded(table)]
    yield from differences(grid, record["grid"], "grid")
    yield from check(table, record)


@replays("real_table")
def replay_real_table(record: Record) -> Iterator[str]:
    path = ROOT / "realhitbench" / "data" / "tables" / f"{record['table']}.xlsx"
    published = Table.from_xlsx(path, sheet=record["sheet"], structure=True, marks=False)
    yield from check(published, record)


def check(table: Table, record: Record) -> Iterator[str]:
    expected = record["expected"]
    first = len(table.captions)
    body = first + len(table.header_rows) + 1
    found = {
        "header_rows": body - first,
        "first_header_row": first + 1,
        "last_header_row": body,
        "header_columns": table.row_headers,
        "section_rows": [body + row + 1 for row in table.sections],
        "title_rows": filled(table.captions, 1),
        "note_rows": filled(table.notes, body + len(table.rows) + 1),
        "merged_ranges": [name_of(span) for span in table.spans],
    }
    # Rows of sums are no part of a table's structure: the benchmark's readers judge them.
    wanted = {key: expected[key] for key in expected if key not in {"cells", "summary_rows"}}
    if "not listed" in record.get("remark", "") and not expected["note_rows"]:
        found["note_rows"] = []
    yield from differences(found, wanted)
    lines = expanded(table)
    for cell in expected["cells"]:
        line, column = cell["row"] - 1, cell["column"] - 1
        where = f"cell {cell['row']}, {cell['column']}"
        path = table.path(line - body, column)
        yield from differences(one_line(lines[line][column]), cell["value"], f"{where} value")
        for key, names in (("row_path", path.row), ("column_path", path.column)):
            if cell[key] is not None:
                yield from differences(list(names), cell[key], f"{where} {key}")


def filled(lines: Sequence[Sequence[Any]], start: int) -> list[int]:
    return [number for number, line in enumerate(lines, start) if any(map(one_line, line))]


def name_of(span: Span) -> str:
    """The name a spreadsheet has for a merged cell, such as `A1:B2`."""
    last = f"{get_column_letter(span.column + span.columns)}{span.row + span.rows}"
    return f"{get_column_letter(span.column + 1)}{span.row + 1}:{last}"
