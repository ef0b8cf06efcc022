"""Explains how a sheet was read: the role of each line, its evidence, and what is ambiguous."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pytest_tablebench.tables.hierarchy._shape import Shape, is_numeric
from pytest_tablebench.tables.hierarchy.grid import Grid
from pytest_tablebench.tables.hierarchy.layout import to_table
from pytest_tablebench.tables.hierarchy.paths import Paths, one_line
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted

MOST_ROWS = 5
"""The largest number of rows that a remark lists."""


class Remark(NamedTuple):
    """A statement about lines of the sheet.

    Attributes:
        lines: first and last line, from 1 as in a spreadsheet.
        text: the role of these lines and its evidence, or what is ambiguous about them.
        is_ambiguous: whether another reading is plausible.
    """

    lines: tuple[int, int]
    text: str
    is_ambiguous: bool = False

    def __str__(self) -> str:
        first, last = self.lines
        location = f"line {first}" if first == last else f"lines {first}-{last}"
        return f"{location}: {'ambiguous: ' if self.is_ambiguous else ''}{self.text}"


def explain(grid: Grid) -> list[Remark]:
    """Return remarks on how the lines of a grid are read, in the order of the lines."""
    table, shape = to_table(grid, Table), Shape(grid)
    first = len(table.captions)
    body = first + len(table.header_rows) + 1
    end = body + len(table.rows)
    remarks = [
        *_captions(shape, first),
        *_header(shape, table, first, body),
        *_row_headers(shape, table, body, end),
        *_rows(shape, table, body),
    ]
    if table.notes:
        remarks.append(
            Remark((end + 1, end + len(table.notes)), "notes: only single texts at the end")
        )
    return sorted(remarks)


def _captions(shape: Shape, first: int) -> Iterator[Remark]:
    for line in range(first):
        if not shape.lines[line]:
            continue
        if shape.is_parameters(line):
            yield Remark((line + 1,) * 2, "caption: names with their values")
        elif shape.is_navigation(line):
            yield Remark((line + 1,) * 2, "caption: all texts are links")
        elif len(shape.lines[line]) > 1:
            text = "read as a caption, but its several texts could be a header line"
            yield Remark((line + 1,) * 2, text, True)
        else:
            yield Remark((line + 1,) * 2, "caption: one text above the header")


def _header(shape: Shape, table: Table, first: int, body: int) -> Iterator[Remark]:
    evidence = []
    if any(shape.is_head_line(line) for line in range(first, body)):
        evidence.append("the file marks its cells as headers")
    if any(first <= span.row < body for span in table.spans):
        evidence.append("merged cells divide it")
    if all(shape.is_bold(line) for line in range(first, body)):
        evidence.append("bold type")
    if shape.is_underlined(body - 1):
        evidence.append("a border below")
    if not evidence:
        evidence.append("the first line with several texts")
    yield Remark(
        (first + 1, body), f"{counted(body - first, 'header line')}: {', '.join(evidence)}"
    )
    if body < len(shape.lines) and shape.is_words(body) and not shape.is_head_line(body - 1):
        text = "read as a row, but it has no numbers and could be a header line"
        yield Remark((body + 1,) * 2, text, True)


def _row_headers(shape: Shape, table: Table, body: int, end: int) -> Iterator[Remark]:
    paths = Paths(table)
    count = table.row_headers
    evidence = ["rows are named by the first " + (f"{count} columns" if count > 1 else "column")]
    if paths.carried:
        evidence.append(f"{counted(len(paths.carried), 'row')} continue the group above")
    if table.row_levels:
        source = "indents" if shape.grid.indents else "type or periods"
        evidence.append(f"{len(set(table.row_levels))} levels by {source}")
    yield Remark((body + 1, end), "; ".join(evidence))
    width = len(table.header)
    column = shape.left + table.row_headers
    lines = [line for line in range(body, end) if len(shape.lines[line]) > 1]
    texts = [str(shape.cell(line, column)) for line in lines if column < width]
    is_text = len(texts) > 2 and all(texts) and not any(map(is_numeric, texts))
    if is_text and column + 1 < width:
        name = one_line(shape.cell(body - 1, column)) or f"number {column + 1}"
        text = f"column {name!r} has only texts and could name rows, too"
        yield Remark((body + 1, end), text, True)


def _rows(shape: Shape, table: Table, body: int) -> Iterator[Remark]:
    paths = Paths(table)
    for row in table.sections:
        line = body + row
        kind = "merged over the columns" if shape.is_banner(line) else "one text and no values"
        yield Remark((line + 1,) * 2, f"section: {kind}")
        if row + 1 in table.sections and not table.row_levels:
            text = "a section directly above another, and either could contain the other"
            yield Remark((line + 1, line + 2), text, True)
    unnamed = [
        body + row + 1
        for row, cells in enumerate(table.rows)
        if any(map(one_line, cells)) and not paths.rows[row]
    ]
    if unnamed:
        listing = ", ".join(map(str, unnamed[:MOST_ROWS]))
        more = f" and {len(unnamed) - MOST_ROWS} more" if len(unnamed) > MOST_ROWS else ""
        text = f"{counted(len(unnamed), 'row')} without a name: {listing}{more}"
        yield Remark((unnamed[0], unnamed[-1]), text, True)
    if not table.row_levels and not table.sections:
        bold = [
            line
            for line in range(body, body + len(table.rows))
            if (line, shape.left) in shape.grid.bold
        ]
        if 0 < len(bold) < len(table.rows):
            text = f"{counted(len(bold), 'label')} in bold type without an indent below"
            yield Remark((bold[0] + 1, bold[-1] + 1), f"{text}: totals, or names of groups", True)
