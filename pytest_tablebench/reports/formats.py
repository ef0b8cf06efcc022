"""How figures and tables are written as text: in a terminal, in Markdown, in files.

The page has typographic signs of its own (`html/_render.py`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

__all__ = ["aligned", "duration", "interval", "number", "percent", "signed"]


def number(value: float | None, digits: int = 3) -> str:
    """Return a score or measure with so many digits, a hyphen for an unknown one."""
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")  # no minus before what is shown as zero


def signed(value: float | None, digits: int = 3) -> str:
    """Return a difference, always with its sign."""
    text = number(value, digits)
    return text if text.startswith("-") else f"+{text}"


def percent(value: float | None) -> str:
    """Return a share as per cent."""
    return "-" if value is None else f"{number(100 * value, 1)} %"


def interval(bounds: Sequence[float] | None, digits: int = 3, *, sign: bool = False) -> str:
    """Return `low to high`; with `sign`, those of a difference."""
    if not bounds:
        return "-"
    low, high = ((signed if sign else number)(bound, digits) for bound in bounds)
    return f"{low} to {high}"


def duration(seconds: float) -> str:
    """Return a time in the unit that a reader thinks in."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return rows as lines of equally wide columns; those named in `left` begin at the left."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _padded(cell, widths[column], left=column in left) for column, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def _padded(text: str, width: int, *, left: bool) -> str:
    blank = " " * (width - _width(text))
    return text + blank if left else blank + text


def _width(text: str) -> int:
    """Return the columns a terminal needs: two for East Asian wide characters."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
