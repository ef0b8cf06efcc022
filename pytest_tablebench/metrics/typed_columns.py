"""The format of a table's column: its decimal sign, and the order of day and month.

Verdicts, `tablebench check` and generated questions read a column by this one function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

_LOOKED_AT = 1_000
"""The number of cells per column that are read."""

_NUMBER = re.compile(
    r"\D*?(?P<number>\d[\d.,]*(?:[ '\u2019\u00a0\u202f\u2009]\d{3})*(?:[.,]\d+)?)"
    r"(?:\D*|\D*[^\W\d_][23]\b)"
)
_DATE = re.compile(r"\d{1,4}\.\d{1,2}\.\d{2,4}")
_SLASHES = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{4}\b.*")


@dataclass(frozen=True)
class ColumnFormat:
    """How numbers and dates of columns are written.

    Arguments:
        decimal: the decimal sign, "." or ",".
        is_open: whether cells such as `12.500` can be read both ways, and no cell shows which.
        day_first: whether `5/3/2024` begins with the day; None if no date shows it.
    """

    decimal: Literal[".", ","] = "."
    is_open: bool = False
    day_first: bool | None = None


def column_format(
    columns: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]] = ()
) -> ColumnFormat:
    """Return the format of columns.

    Arguments:
        columns: the cells of the columns that are read together.
        others: the cells of further columns of the same tables. Their decimal sign counts if the
            columns themselves leave theirs open.
    """
    comma, point, is_open = _signs(columns)
    if not (comma or point) and is_open:
        comma, point, _ = _signs(others)
        is_open = comma == point
    decimal: Literal[".", ","] = "," if comma and not point else "."
    return ColumnFormat(decimal, is_open and not (comma or point), _day_first(columns))


def _texts(columns: Sequence[Sequence[Any]]) -> Iterator[str]:
    texts = (cell for cells in columns for cell in cells[:_LOOKED_AT] if isinstance(cell, str))
    return (text.strip()[:200] for text in texts)


def _signs(columns: Sequence[Sequence[Any]]) -> tuple[bool, bool, bool]:
    """Return whether cells show a decimal comma, a decimal point, and points of either kind."""
    comma = point = is_open = False
    for text in _texts(columns):
        match = _NUMBER.fullmatch(text)
        if match is None or _DATE.search(text):
            continue
        sign = _decimal_sign(match["number"])
        comma, point = comma or sign == ",", point or sign == "."
        is_open = is_open or sign == "?"
    return comma, point, is_open


def _decimal_sign(number: str) -> str:
    """Return the decimal sign that a number shows; "?" for `12.500`, "" if it shows none."""
    signs = [sign for sign in number if sign in ".,"]
    if not signs or not number[-1].isdigit():
        return ""
    last = signs[-1]
    other = "." if last == "," else ","
    if other in signs:
        return last if signs.count(last) == 1 else ""
    if len(signs) > 1:
        return other if re.fullmatch(rf"\d{{1,3}}(?:\{last}\d{{3}})+", number) else ""
    if re.fullmatch(rf"[1-9]\d{{0,2}}\{last}\d{{3}}", number):
        # Few tables have three decimals after a comma, so `1,234` is not open.
        return "?" if last == "." else ""
    return last


def _day_first(columns: Sequence[Sequence[Any]]) -> bool | None:
    """Return whether dates such as `5/3/2024` begin with the day; None if no date shows it.

    A number above 12 is a day.
    """
    dates = [match for text in _texts(columns) if (match := _SLASHES.fullmatch(text))]
    first = any(int(match[1]) > 12 for match in dates)
    second = any(int(match[2]) > 12 for match in dates)
    return first if first != second else None
