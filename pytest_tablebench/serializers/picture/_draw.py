"""Drawing of a table: its boxes with position, size and kind, and the picture of them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers.picture._fonts import Fonts, without_marks
from pytest_tablebench.tables.content import Cell, Span
from pytest_tablebench.tables.hierarchy.grid import owners
from pytest_tablebench.tables.hierarchy.paths import indents
from pytest_tablebench.tables.table import Table

Kind = Literal["caption", "head", "label", "section", "cell", "note"]

MOST_CELLS = 20_000
"""The most cells that are drawn: more are not readable, and drawing them takes minutes."""


@dataclass(frozen=True)
class Box:
    """One cell, merged or not.

    Arguments:
        line, column: its upper left position, from 0.
        lines, columns: the numbers of lines and columns that it covers.
        text: the drawn text.
        kind: its kind, which determines its style.
        indent: the indentation level of its text.
    """

    line: int
    column: int
    lines: int
    columns: int
    text: str
    kind: Kind
    indent: int = 0

    @property
    def bold(self) -> bool:
        """Whether its text is in bold type."""
        return self.kind in {"caption", "head", "section"}


@dataclass(frozen=True)
class DrawnSheet:
    """All boxes of a table.

    Arguments:
        boxes: the boxes, sorted by line and column.
        lines, columns: the size of the sheet.
        head: the number of leading lines that are captions and header lines.
        labels: the number of leading columns that name the rows.
    """

    boxes: tuple[Box, ...]
    lines: int
    columns: int
    head: int
    labels: int

    def part(self, lines: list[int], columns: list[int]) -> DrawnSheet:
        """Return a sheet with only some lines and columns.

        A merged cell is cut to them, and keeps its text.
        """
        line_of = {line: index for index, line in enumerate(lines)}
        column_of = {column: index for index, column in enumerate(columns)}
        boxes = []
        for box in self.boxes:
            down = [line_of[n] for n in range(box.line, box.line + box.lines) if n in line_of]
            over = range(box.column, box.column + box.columns)
            across = [column_of[n] for n in over if n in column_of]
            if down and across:
                boxes.append(
                    replace(
                        box, line=down[0], column=across[0], lines=len(down), columns=len(across)
                    )
                )
        return DrawnSheet(tuple(boxes), len(lines), len(columns), self.head, self.labels)


def sheet_of(table: Table) -> DrawnSheet:
    """Return the boxes of a table; short rows are filled with empty cells.

    Raises `TableError` for a table without columns, or too large to draw.
    """
    lines = table.lines
    columns = max(map(len, lines))
    if not columns:
        raise TableError(f"{table.label}: has no columns; serializer 'image' needs at least one")
    if len(lines) * columns > MOST_CELLS:
        raise TableError(
            f"{table.label}: {len(lines)} lines of {columns} cells; as a picture at most "
            f"{MOST_CELLS:,} cells are drawn"
        )
    merged, levels = owners(table.spans), indents(table)
    boxes = []
    for number, line in enumerate(lines):
        column = 0
        while column < columns:
            span = merged.get((number, column), Span(number, column, 1, 1))
            if span.row == number and span.column == column:
                text = _cell_text(line[column]) if column < len(line) else ""
                kind, level = _kind(table, number, column), levels.get((number, column), 0)
                box = Box(number, column, span.rows, span.columns, text, kind, level)
                if span.columns == 1 and box.text and box.kind in {"caption", "section", "note"}:
                    box = replace(box, columns=_free(line, number, column, merged))
                boxes.append(box)
                column += box.columns
            else:
                column += 1
    head = len(table.captions) + len(table.header_rows) + 1
    return DrawnSheet(tuple(boxes), len(lines), columns, head, table.row_headers)


def _free(
    line: tuple[Cell, ...], number: int, column: int, merged: dict[tuple[int, int], Span]
) -> int:
    """Return how many columns a text may cover, as in a spreadsheet: up to the next text."""
    end = column + 1
    while end < len(line) and _cell_text(line[end]) == "" and (number, end) not in merged:
        end += 1
    return end - column


def _cell_text(cell: Cell) -> str:
    return "" if cell is None else without_marks(str(cell)).strip("\n")


def _kind(table: Table, number: int, column: int) -> Kind:
    row = number - len(table.captions) - len(table.header_rows) - 1
    if number < len(table.captions):
        return "caption"
    if row < 0:
        return "head"
    if row >= len(table.rows):
        return "note"
    if row in table.sections:
        return "section"
    return "label" if column < table.row_headers else "cell"


_ACROSS, _DOWN = 6, 4
"""Pixels between the text of a cell and its edges."""
_MARGIN = 8
_SHADES = {"head": 218, "section": 232, "label": 244}
_EDGE, _INK, _FAINT = 150, 0, 70


def column_widths(sheet: DrawnSheet, fonts: Fonts, most: int) -> list[int]:
    """Return the width of each column, in pixels, with texts up to `most` times the font size.

    If the longest word of a merged cell needs more, the columns it covers are widened equally.
    """
    limit, least = most * fonts.size, fonts.size + 2 * _ACROSS
    widths = [least] * sheet.columns
    for box in sheet.boxes:
        if box.columns == 1 and box.text:
            wide = max(fonts.width(line, bold=box.bold) for line in box.text.split("\n"))
            wide = min(wide, limit) + box.indent * fonts.size + 2 * _ACROSS
            widths[box.column] = max(widths[box.column], wide)
    for box in sheet.boxes:
        if box.columns > 1 and box.text:
            word = max(fonts.width(word, bold=box.bold) for word in box.text.split() or [""])
            _widen(widths, box, min(word, limit) + 2 * _ACROSS)
    return widths


def _widen(widths: list[int], box: Box, width: int) -> None:
    over = range(box.column, box.column + box.columns)
    missing = width - sum(widths[column] for column in over)
    for index, column in enumerate(over):
        if missing > 0:
            share = -(-missing // (box.columns - index))
            widths[column] += share
            missing -= share


@dataclass(frozen=True)
class Measured:
    """The text of each box as lines, and the heights of the sheet's lines in pixels."""

    texts: list[list[str]]
    heights: list[int]


def line_heights(sheet: DrawnSheet, fonts: Fonts, widths: Sequence[int]) -> Measured:
    """Break the text of each box to its width, and measure the heights of the lines."""
    texts: list[list[str]] = []
    heights = [fonts.line + 2 * _DOWN] * sheet.lines
    for box in sheet.boxes:
        room = sum(widths[box.column : box.column + box.columns]) - 2 * _ACROSS
        room -= box.indent * fonts.size
        texts.append(fonts.wrapped(box.text, max(room, fonts.size), bold=box.bold))
        if box.lines == 1:
            heights[box.line] = max(heights[box.line], _high(texts[-1], fonts))
    for box, text in zip(sheet.boxes, texts, strict=True):
        last = box.line + box.lines - 1
        missing = _high(text, fonts) - sum(heights[box.line : last + 1])
        heights[last] += max(0, missing)
    return Measured(texts, heights)


def _high(lines: Sequence[str], fonts: Fonts) -> int:
    return len(lines) * fonts.line + 2 * _DOWN


def draw(
    sheet: DrawnSheet, fonts: Fonts, widths: Sequence[int], measured: Measured, note: str = ""
) -> bytes:
    """Return the sheet as PNG in shades of grey, with the note above it."""
    from PIL import Image, ImageDraw

    above = _MARGIN + (fonts.line + _DOWN if note else 0)
    lefts = [*accumulate(widths, initial=_MARGIN)]
    tops = [*accumulate(measured.heights, initial=above)]
    wide = max(lefts[-1], _MARGIN + fonts.width(note) if note else 0) + _MARGIN + 1
    image = Image.new("L", (wide, tops[-1] + _MARGIN + 1), 255)
    canvas = ImageDraw.Draw(image)
    if note:
        _write(canvas, fonts, (_MARGIN, _MARGIN), note, ink=_FAINT)
    for box, lines in zip(sheet.boxes, measured.texts, strict=True):
        left, right = lefts[box.column], lefts[box.column + box.columns]
        top, bottom = tops[box.line], tops[box.line + box.lines]
        if box.kind not in {"caption", "note"}:
            shade = _SHADES.get(box.kind, 255)
            canvas.rectangle((left, top, right, bottom), fill=shade, outline=_EDGE)
        down = top + max(_DOWN, (bottom - top - len(lines) * fonts.line) // 2)
        for line in lines:
            across = left + _ACROSS + box.indent * fonts.size
            if box.kind == "head" and box.columns > 1:
                across = left + (right - left - fonts.width(line, bold=True)) // 2
            ink = _FAINT if box.kind == "note" else _INK
            _write(canvas, fonts, (across, down), line, ink=ink, bold=box.bold)
            down += fonts.line
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _write(
    canvas: object,
    fonts: Fonts,
    corner: tuple[int, int],
    text: str,
    *,
    ink: int,
    bold: bool = False,
) -> None:
    across, down = corner
    for font, piece in fonts.runs(text, bold=bold):
        canvas.text((across, down + fonts.ascent), piece, fill=ink, font=font, anchor="ls")  # type: ignore[attr-defined]
        across += fonts.width(piece, bold=bold)
