"""Tests for cells that are numbers, years, or parts of a year."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[-+−(<>~]?\s?[£$€]?\s?[-+]?\d[\d.,:/\s-]*[%)*]*")
_YEAR = re.compile(r"(18|19|20|21)\d\d([/-]\d\d(\d\d)?)?")
_PERIOD = re.compile(
    r"q[1-4]|[1-4](?:st|nd|rd|th) quarter|(?:first|second|third|fourth) quarter"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?",
    re.IGNORECASE,
)
_NO_VALUE = frozenset({"-", "–", "—", ".", "..", ". .", "...", ":", "n/a", "NA"})


def is_numeric(cell: object) -> bool:
    """Return whether a cell is a number, the text of one, or a mark for a missing number."""
    if isinstance(cell, str):
        text = cell.strip()
        return text in _NO_VALUE or (len(text) < 40 and _NUMBER.fullmatch(text) is not None)
    return isinstance(cell, int | float)


def is_year(cell: object) -> bool:
    """Return whether a cell is a year, or two as in 2005/06; headers often are."""
    return _YEAR.fullmatch(str(cell).strip()) is not None


def is_period(cell: object) -> bool:
    """Return whether a cell is a part of a year: a quarter or a month in English."""
    return _PERIOD.fullmatch(str(cell).strip()) is not None
