"""Tables as pictures, drawn without a browser; equal libraries give equal bytes.

A picture is at most 768 by 1,536 pixels, in either direction, because some models scale larger
pictures down. Letters are 16 pixels high, or 14 or 12 if the table then fits. A larger table is
shown in parts. Each part repeats the header lines and row headers, and has a note above it with its
number and range.
"""

from __future__ import annotations

import io

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.serializers.picture._draw import (
    DrawnSheet,
    Measured,
    column_widths,
    draw,
    line_heights,
    sheet_of,
)
from pytest_tablebench.serializers.picture._fonts import Fonts, fonts
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted

__all__ = ["pictures", "squared", "squares", "to_png"]

_FRAME = 17
LONG, SHORT = 1536 - _FRAME, 768 - _FRAME
"""The most pixels of a table inside the frame; a single higher line is not cut."""
SIZES, PART_SIZE = (16, 14, 12), 14
MOST_PARTS = 20
"""The most pictures of a table: more are not readable, and some providers accept no more."""
_WIDTHS = (20, 14, 10, 7)
"""Maximum widths of a column's text, in units of the font size; the widest that fits is used."""
_PNG = "image/png"
MOST_SQUARE = 10_000
"""The longest side of a square, in pixels: 100 MB in memory in shades of grey."""


def to_png(table: Table) -> bytes:
    """Return the whole table as one PNG, of any size.

    Raises `TableError` for a table with more than 20,000 cells, without columns, or with characters
    that the fonts do not have.
    """
    try:
        sheet = sheet_of(table)
        return draw(*(_fitted(sheet) or _laid_out(sheet)))
    except TableError as error:
        raise _named(table, error) from None


def pictures(table: Table) -> tuple[Image, ...]:
    """Return the table as one picture, or in parts if it is too large for one.

    Raises `TableError` as `to_png` does, and for a table with more than 20 parts.
    """
    try:
        sheet = sheet_of(table)
        if (fitted := _fitted(sheet)) is not None:
            return (Image(_PNG, draw(*fitted)),)
        return tuple(Image(_PNG, part) for part in _parts(*_laid_out(sheet)))
    except TableError as error:
        raise _named(table, error) from None


def squares(table: Table) -> tuple[Image, ...]:
    """Return `pictures(table)`, each stretched to a square. Raises `TableError` as that does."""
    return tuple(map(squared, pictures(table)))


def squared(image: Image) -> Image:
    """Return a picture stretched to a square with the length of its longer side.

    The published scripts do this for models with open weights (spec: realhitbench.md section 2).

    Raises:
        TableError: if it is not a picture, or a side would have more than 10,000 pixels.
    """
    from PIL import Image as Pictures

    try:
        with Pictures.open(io.BytesIO(image.data)) as picture:
            side = max(picture.size)
            if side > MOST_SQUARE:
                raise TableError(f"as a square it would have {side} pixels a side")
            drawn = io.BytesIO()
            picture.resize((side, side), Pictures.Resampling.BICUBIC).save(drawn, "PNG")
    except TableError:
        raise
    except (OSError, SyntaxError, ValueError, Pictures.DecompressionBombError):
        raise TableError("it cannot be read as a picture") from None
    return Image(_PNG, drawn.getvalue())


def _named(table: Table, error: TableError) -> TableError:
    text = str(error)
    return error if text.startswith(table.label) else TableError(f"{table.label}: {text}")


def _fitted(sheet: DrawnSheet) -> tuple[DrawnSheet, Fonts, list[int], Measured] | None:
    """Return the arguments of `draw` for one picture; None if the table is too large for one."""
    for size in SIZES:
        if sheet.lines * size > LONG:
            continue
        chosen = fonts(size)
        widths = column_widths(sheet, chosen, _WIDTHS[0])
        if sum(widths) > LONG:
            continue
        measured = line_heights(sheet, chosen, widths)
        if sum(measured.heights) <= (LONG if sum(widths) <= SHORT else SHORT):
            return sheet, chosen, widths, measured
    return None


def _laid_out(sheet: DrawnSheet) -> tuple[DrawnSheet, Fonts, list[int], Measured]:
    """Return the arguments of `draw` for a table that is too large for one picture."""
    chosen, widths = fonts(PART_SIZE), list[int]()
    for most in _WIDTHS:
        widths = column_widths(sheet, chosen, most)
        if sum(widths) <= LONG:
            break
    return sheet, chosen, widths, line_heights(sheet, chosen, widths)


def _parts(sheet: DrawnSheet, fonts: Fonts, widths: list[int], measured: Measured) -> list[bytes]:
    across = _bands(widths, sheet.labels or 1, LONG)
    limit = LONG if sum(widths) <= SHORT else SHORT
    down = _bands(measured.heights, sheet.head, limit - 2 * fonts.line)
    count = len(across) * len(down)
    if count > MOST_PARTS:
        raise TableError(
            f"as a picture it would have {counted(count, 'part')}; at most {MOST_PARTS} are shown"
        )
    drawn: list[bytes] = []
    for lines in down:
        for columns in across:
            part = sheet.part(lines, columns)
            part_widths = [widths[column] for column in columns]
            labels = [f"Part {len(drawn) + 1} of {count}"]
            if len(down) > 1:
                labels.append(_left_out_note("row", lines, sheet.lines, sheet.head))
            if len(across) > 1:
                labels.append(_left_out_note("column", columns, sheet.columns, 0))
            drawn.append(
                draw(
                    part,
                    fonts,
                    part_widths,
                    line_heights(part, fonts, part_widths),
                    ", ".join(labels),
                )
            )
    return drawn


def _left_out_note(unit: str, lines: list[int], total: int, first: int) -> str:
    """Return the range of a part's lines or columns as text, as `rows 1 to 20 of 60`.

    `first` is the number of header lines, which are not counted.
    """
    new = [row - first + 1 for row in lines if row >= first]
    runs = [row for row in new if row - 1 not in new], [n for n in new if n + 1 not in new]
    spans = [f"{a} to {b}" if a < b else f"{a}" for a, b in zip(*runs, strict=True)]
    return f"{unit}s {' and '.join(spans)} of {total - first}"


def _bands(sizes: list[int], first: int, limit: int) -> list[list[int]]:
    """Return the lines (or columns) of each part: all `first` ones, and some of the others."""
    first = min(first, len(sizes) - 1) if len(sizes) > 1 else 0
    again = list(range(first))
    room = max(limit - sum(sizes[:first]), limit // 3)
    bands: list[list[int]] = []
    used = room + 1
    for index in range(first, len(sizes)):
        if used + sizes[index] > room:
            bands.append([*again])
            used = 0
        bands[-1].append(index)
        used += sizes[index]
    return bands
