"""Reads a workbook with calamine in a process of its own: JSON on the standard output.

    python -m pytest_tablebench.tables._calamine_cells MOST

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
    """Write the sheets of the workbook on the standard input, with at most `most` values.

    The first line of the input is JSON: the name of a visible sheet, "" for the first one, or null
    for all sheets. The first line of the output maps all sheets to whether they are visible. Each
    sheet that is read follows: its facts, then a line for each row.
    """
    import python_calamine

    _limit()
    name = json.loads(sys.stdin.buffer.readline())
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    sheets = {
        entry.name: entry.visible == python_calamine.SheetVisibleEnum.Visible
        for entry in book.sheets_metadata
        if entry.typ == python_calamine.SheetTypeEnum.WorkSheet
    }
    json.dump(sheets, sys.stdout)
    chosen = [each for each, is_visible in sheets.items() if is_visible and name in {"", each}][:1]
    count = 0
    for each in sheets if name is None else chosen:
        sheet = book.get_sheet_by_name(each)
        top, left = sheet.start or (0, 0)
        merged = sheet.merged_cell_ranges or []
        facts = {"sheet": each, "first": (top + 1, left + 1), "merged": merged}
        sys.stdout.write(f"\n{json.dumps(facts)}")
        for row in islice(sheet.iter_rows(), top, None) if sheet.start else ():
            values = [None if value == "" else _written(value) for value in row]
            count += len(values) - values.count(None)
            if count > most:
                raise SystemExit(f"more than {most:,} cells; no more are read")
            sys.stdout.write(f"\n{json.dumps(values, allow_nan=False)}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
