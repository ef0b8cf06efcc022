"""Rows as CSV, and texts that no spreadsheet executes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

_FORMULA = tuple("=+-@＝＋－＠")


def as_csv(rows: Iterable[Iterable[Any]], delimiter: str = ",", line_end: str = "\n") -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return text.getvalue()


def guarded(text: str) -> str:
    """Return a text that no spreadsheet executes as a formula (OWASP, CSV injection)."""
    if text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA):
        return f"'{text}"
    return text
