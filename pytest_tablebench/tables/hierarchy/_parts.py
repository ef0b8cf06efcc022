"""Splits a sheet with several tables, which a repeated header shows.

Below each other: header lines that repeat exactly begin another table; the label and blank lines
directly above them belong to it. Next to each other: if the last header line repeats the same names
from the left edge on, with or without an empty column between them, each repetition is a table
(spec: realhitbench.md section 1, nested sub-tables and joined tables; the repeated header is our
reading of its classes).
"""

from __future__ import annotations

from dataclasses import replace

from pytest_tablebench.tables.content import AnyTable, Span, TableContent
from pytest_tablebench.tables.hierarchy.grid import fit
from pytest_tablebench.tables.hierarchy.layout import to_table
from pytest_tablebench.tables.hierarchy.paths import indents, one_line


def parts_of(table: AnyTable) -> tuple[AnyTable, ...]:
    """Return the tables in a sheet; a single table returns itself."""
    starts = _stacked(table)
    if len(starts) > 1:
        ends = [*starts[1:], len(table.lines)]
        width = len(table.header)
        cuts = [
            cut(table, range(start, end), range(width))
            for start, end in zip(starts, ends, strict=True)
        ]
        return tuple(part for piece in cuts for part in parts_of(piece))
    blocks = _side_by_side(table)
    if len(blocks) > 1:
        lines = range(len(table.captions), len(table.lines) - len(table.notes))
        return tuple(cut(table, lines, block) for block in blocks)
    return (table,)


def read_again(table: AnyTable) -> AnyTable:
    """Return the table that is read from the lines, merged cells and indents alone."""
    return cut(table, range(len(table.lines)), range(len(table.header)))


def _stacked(table: TableContent) -> list[int]:
    """Return the first line of each table; the captions belong to the first table."""
    first, lines = len(table.captions), table.lines
    depth = len(table.header_rows) + 1
    header = lines[first : first + depth]
    if sum(bool(one_line(cell)) for line in header for cell in line) < 2:
        return [0]
    starts = [0]
    for line in range(first + depth, len(lines) - depth):
        if lines[line : line + depth] == header:
            start = line
            while start > starts[-1] + depth and _is_title(lines[start - 1]):
                start -= 1
            starts.append(start)
    return starts


def _is_title(line: tuple[object, ...]) -> bool:
    return sum(bool(one_line(cell)) for cell in line) == bool(one_line(line[0]))


def _side_by_side(table: TableContent) -> list[range]:
    """Return the columns of each of several tables with equal names; [] for a single table."""
    names = [one_line(cell) for cell in table.header]
    count = len(names)
    top, bottom = len(table.captions), len(table.captions) + len(table.header_rows) + 1
    for width in range(2, count // 2 + 1):
        for gap in (0, 1):
            if (count + gap) % (width + gap):
                continue
            blocks = [range(start, start + width) for start in range(0, count, width + gap)]
            same = all([names[start] for start in block] == names[:width] for block in blocks)
            if not (same and all(names[:width])) or len(set(names[:width])) < width:
                continue
            inside = any(
                top <= span.row < bottom and _crosses(span, blocks) for span in table.spans
            )
            if not inside and not any(
                one_line(line[block.start - 1])
                for line in table.lines[top:]
                for block in blocks[1:]
                if gap
            ):
                return blocks
    return []


def _crosses(span: Span, blocks: list[range]) -> bool:
    return any(span.column < block.start < span.column + span.columns for block in blocks)


def cut(table: AnyTable, lines: range, columns: range) -> AnyTable:
    """Return the table in a range of lines and columns, with the structure that is read there."""
    values = {
        (number, column - columns.start): cells[column]
        for number, cells in enumerate(table.lines[lines.start : lines.stop])
        for column in columns
    }
    spans = [
        Span(span.row - lines.start, span.column - columns.start, span.rows, span.columns)
        for span in table.spans
        if span.row in lines
        and span.row + span.rows <= lines.stop
        and span.column in columns
        and span.column + span.columns <= columns.stop
    ]
    levels = {
        (line - lines.start, column - columns.start): level
        for (line, column), level in indents(table).items()
        if line in lines and column in columns
    }
    grid = fit(values, spans, table.label)
    return to_table(replace(grid, indents=levels, name=table.name), type(table))
