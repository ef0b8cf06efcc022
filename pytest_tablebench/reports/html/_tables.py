"""A question with its tables for the page, cut to fit a screen, with merged cells."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.results.texts import ExampleText

_CELL_LIMIT, _ROW_LIMIT, _COLUMN_LIMIT = 400, 200, 60
_OTHER_LIMIT = 20
"""The most captions, header lines, and notes, each."""
_DEEPEST = 8
"""The number of different levels of indentation."""
_WIDE = {"caption", "section", "note"}
"""Kinds of lines whose texts extend over the empty cells after them, as in a spreadsheet."""


def shown_example(example: ExampleText) -> dict[str, Any]:
    """Return a question, its length, and up to five tables cut to fit a screen."""
    tables = [shown_table(table) for table in example.tables[:5]]
    return {
        "id": example.id,
        "question": example.question[:4000],
        "length": len(example.question),
        "tables": tables,
        "table_count": len(example.tables),
    }


def is_cut(example: ExampleText) -> bool:
    """Return whether rows, columns or tables of an example are not shown."""
    if len(example.tables) > 5:
        return True
    return any(
        len(table["rows"]) > _ROW_LIMIT
        or max([len(table["header"]), *map(len, table["rows"])], default=0) > _COLUMN_LIMIT
        for table in example.tables
    )


def shown_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return title, header and rows, and the numbers of all rows and columns.

    A table with structure has `lines` and no rows. A line has a kind (`caption`, `head`, `row`,
    `section`, `note`) and the cells that no merged cell covers. A cell has its text, the lines
    (`down`) and columns (`across`) that it covers if more than one, whether it is a header
    (`is_header`), and its indentation (`level`).
    """
    rows, header = table["rows"], table["header"]
    width = max([len(header), *map(len, rows)], default=0)
    title = table.get("title")
    shown: dict[str, Any] = {
        "title": None if title is None else str(title)[:_CELL_LIMIT],
        "header": [cell_text(cell) for cell in header[:_COLUMN_LIMIT]],
        "rows": [],
        "row_count": len(rows),
        "column_count": width,
    }
    structure = table.get("structure")
    if isinstance(structure, Mapping):
        return {**shown, "lines": _lines(table, structure, min(width, _COLUMN_LIMIT))}
    shown["rows"] = [[cell_text(cell) for cell in row[:_COLUMN_LIMIT]] for row in rows[:_ROW_LIMIT]]
    return shown


def _lines(
    table: Mapping[str, Any], structure: Mapping[str, Any], width: int
) -> list[dict[str, Any]]:
    """Return the shown lines; a merged cell at the edge is cut."""
    shown_lines = list(_kept(table, structure))
    place = {number: at for at, (number, _, _, _) in enumerate(shown_lines)}
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    covered: set[tuple[int, int]] = set()
    for row, column, rows, columns in _spans(structure):
        if row not in place:
            continue
        down = [place[n] for n in range(row, min(row + rows, shown_lines[-1][0] + 1)) if n in place]
        across = range(column, min(column + columns, width))
        if not down or not across:
            continue
        sizes[down[0], column] = len(down), len(across)
        covered |= {(line, over) for line in down for over in across}
    names = _number(structure.get("row_headers"))
    lines = []
    for at, (_, kind, level, line) in enumerate(shown_lines):
        cells = line[:width]
        labels = [n for n, cell in enumerate(cells[:names]) if not _is_empty(cell)]
        shown, end = [], 0
        for column, cell in enumerate(cells):
            size = sizes.get((at, column))
            if column < end or (size is None and (at, column) in covered):
                continue
            if size is None and kind in _WIDE and not _is_empty(cell):
                end = column + 1
                while end < len(cells) and _is_empty(cells[end]) and (at, end) not in covered:
                    end += 1
                size = 1, end - column
            head = kind == "head" or (kind in {"row", "section"} and column < names)
            indent = level if column == (labels[-1] if labels else 0) else 0
            down_by, across_by = size or (1, 1)
            facts = {"down": down_by, "across": across_by, "is_header": head, "level": indent}
            usual = {"down": 1, "across": 1, "is_header": False, "level": 0}
            marked = {name: value for name, value in facts.items() if value != usual[name]}
            shown.append({"text": cell_text(cell), **marked})
        lines.append({"kind": kind, "cells": shown})
    return lines


def _is_empty(cell: Any) -> bool:
    return cell is None or cell == ""


def _kept(
    table: Mapping[str, Any], structure: Mapping[str, Any]
) -> Iterator[tuple[int, str, int, Sequence[Any]]]:
    """Yield the shown lines: number in the sheet, kind, level, cells."""
    captions, above = _listed(structure, "captions"), _listed(structure, "header_rows")
    sections, levels = set(structure.get("sections") or ()), structure.get("row_levels") or ()
    heads = [*above[:_OTHER_LIMIT], table["header"]]
    at = len(captions) + len(above) + 1
    for number, line in enumerate(captions[:_OTHER_LIMIT]):
        yield number, "caption", 0, line
    for number, line in enumerate(heads, len(captions)):
        # The last header line keeps its number if header lines above it are left out.
        yield (at - 1 if line is heads[-1] else number), "head", 0, line
    for row, line in enumerate(table["rows"][:_ROW_LIMIT]):
        level = min(_number(levels[row]), _DEEPEST) if row < len(levels) else 0
        yield at + row, "section" if row in sections else "row", level, line
    notes = _listed(structure, "notes")[:_OTHER_LIMIT]
    for number, line in enumerate(notes, at + len(table["rows"])):
        yield number, "note", 0, line


def _listed(structure: Mapping[str, Any], name: str) -> list[list[Any]]:
    return [line for line in structure.get(name) or () if isinstance(line, list)]


def _spans(structure: Mapping[str, Any]) -> Iterator[list[int]]:
    for span in structure.get("spans") or ():
        if len(span) == 4 and all(isinstance(n, int) and n >= 0 for n in span):
            yield span


def _number(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0


def cell_text(value: Any, limit: int = _CELL_LIMIT) -> str | None:
    """Return a cell as prompts show it, cut to `limit` characters; None for an empty one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        text = value
    elif isinstance(value, int | float):
        text = str(value)  # as prompts show it
    else:
        text = json.dumps(value, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"
