"""Reads a workbook with calamine in a process of its own: JSON on the standard output.

    python -m pytest_tablebench.tables._calamine_cells MOST
    python -m pytest_tablebench.tables._calamine_cells rows

The first writes the cells of all sheets, the second the rows of one, a line each; see `rows`.

A sheet with two distant cells makes calamine allocate the area between them, so this process has a
limit of memory and of processor time.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import re
import sys
from itertools import islice
from typing import Any

MEMORY, SECONDS = 2 << 30, 60
"""The most bytes of memory and seconds of processor time."""

_EXACT = 2**53
_DURATION = re.compile(r"PT(\d{1,6})H(\d{1,2})M(\d{1,2}(?:\.\d{1,9})?)S")
"""A duration as calamine returns it from an .ods file."""


def _limit() -> None:
    with contextlib.suppress(ImportError):  # no such limits on this system
        import resource

        for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS)):
            ceiling = resource.getrlimit(kind)[1]
            soft = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
            resource.setrlimit(kind, (soft, ceiling))


def _written(value: Any) -> Any:
    """Return a value as JSON has it; a list of a type and a text for dates and durations."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        hours, minutes, seconds = map(float, match.groups())
        return ["timedelta", str(3600 * hours + 60 * minutes + seconds)]
    if isinstance(value, dt.timedelta):
        return ["timedelta", str(value.total_seconds())]
    if isinstance(value, dt.date | dt.time):
        return [type(value).__name__, value.isoformat()]
    return value


def main(most: int) -> None:
    """Write the sheets of the workbook on the standard input, with at most `most` values."""
    import python_calamine

    _limit()
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    sheets, count = [], 0
    visible = python_calamine.SheetVisibleEnum.Visible
    kinds = python_calamine.SheetTypeEnum
    for facts in book.sheets_metadata:
        if facts.typ != kinds.WorkSheet:
            continue
        sheet = book.get_sheet_by_name(facts.name)
        top, left = sheet.start or (0, 0)
        cells = []
        for line, row in enumerate(sheet.to_python(skip_empty_area=True), start=top + 1):
            for column, value in enumerate(row, start=left + 1):
                if value != "":
                    cells.append([line, column, _written(value)])
            if count + len(cells) > most:
                raise SystemExit(f"more than {most:,} cells; no more are read")
        count += len(cells)
        entry = {"name": facts.name, "is_visible": facts.visible == visible, "cells": cells}
        sheets.append(entry | {"merged": sheet.merged_cell_ranges or []})
    json.dump(sheets, sys.stdout, allow_nan=False)


def rows() -> None:
    """Write the facts of a sheet, then its rows.

    The first line of the input is the sheet's name as JSON; "" for the first visible sheet.
    Facts are the `sheet`, the names of `visible` and `hidden` sheets, and of a visible sheet
    whether cells are `merged`, and the `first` row and column with a value, from 1, if any.
    """
    import python_calamine

    _limit()
    name = json.loads(sys.stdin.buffer.readline())
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    visible: list[str] = []
    hidden: list[str] = []
    for entry in book.sheets_metadata:
        if entry.typ == python_calamine.SheetTypeEnum.WorkSheet:
            is_visible = entry.visible == python_calamine.SheetVisibleEnum.Visible
            (visible if is_visible else hidden).append(entry.name)
    chosen = name or (visible or hidden)[0]
    facts = {"sheet": chosen, "visible": visible, "hidden": hidden}
    if chosen not in visible:
        json.dump(facts, sys.stdout)
        return
    sheet = book.get_sheet_by_name(chosen)
    top, left = sheet.start or (0, 0)
    first = [top + 1, left + 1] if sheet.start else None
    json.dump(facts | {"merged": bool(sheet.merged_cell_ranges), "first": first}, sys.stdout)
    for row in islice(sheet.iter_rows(), top, None):
        values = [None if value == "" else _written(value) for value in row]
        sys.stdout.write(f"\n{json.dumps(values, allow_nan=False)}")


if __name__ == "__main__":
    if sys.argv[1] == "rows":
        rows()
    else:
        main(int(sys.argv[1]))
