"""Drawing of boxes: widths of columns, heights of lines, and the picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pytest_tablebench.serializers.picture._fonts import Fonts
from pytest_tablebench.serializers.picture._sheet import Box, DrawnSheet

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
    for place, column in enumerate(over):
        if missing > 0:
            share = -(-missing // (box.columns - place))
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
    place: tuple[int, int],
    text: str,
    *,
    ink: int,
    bold: bool = False,
) -> None:
    across, down = place
    for font, piece in fonts.runs(text, bold=bold):
        canvas.text((across, down + fonts.ascent), piece, fill=ink, font=font, anchor="ls")  # type: ignore[attr-defined]
        across += fonts.width(piece, bold=bold)
