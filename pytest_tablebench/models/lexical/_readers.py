"""Read a table from text in one of four layouts, each in linear time; nothing is evaluated.

A reader receives the text from the table's first character on. It returns the lines, header first,
and the number of characters read, or None if the text has another layout.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence

MAX_COLUMNS = 500
"""Further columns are dropped: real tables have fewer, hostile text may have more."""

MAX_CELLS = 50_000
"""Rows after this number of cells are dropped, so that a huge table takes limited time."""

Lines = list[list[str]]

_TAG = re.compile(r"<(/?)(table|tr|th|td)\b[^<>]*>", re.IGNORECASE)
_RULE = re.compile(r"\|(?:[ ]?:?-{3,}:?[ ]?\|)+[ ]*")
_JSON = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=lambda _: "")


def _read_html(text: str) -> tuple[Lines, int] | None:
    """Read `<table>…</table>`; markup inside cells stays, as serializers write it."""
    lines: Lines = [[]]
    start, end = -1, len(text)
    for tag in _TAG.finditer(text) if text.startswith("<") else ():
        closing, name = tag[1], tag[2].lower()
        if start >= 0:
            lines[-1].append(text[start : tag.start()])
            start = -1
        if name == "table" and closing:
            end = tag.end()
            break
        if name == "tr" and not closing:
            lines.append([])
        elif name in ("td", "th") and not closing:
            start = tag.end()
    return [line for line in lines if line], end


def _read_json(text: str) -> tuple[Lines, int] | None:
    """Read `{"0": {column: cell, …}, "1": {…}, …}`."""
    try:
        value, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    rows = list(value.values()) if isinstance(value, dict) else []
    if not all(isinstance(row, dict) for row in rows):
        return None
    names = list(dict.fromkeys(name for row in rows for name in row))[:MAX_COLUMNS]
    kept = rows[: MAX_CELLS // (len(names) or 1) + 1]
    cells = [[row.get(name) for name in names] for row in kept]
    return [names, *[["" if cell is None else str(cell) for cell in row] for row in cells]], end


def _read_markdown(text: str) -> tuple[Lines, int] | None:
    """Read a pipe table; pipes inside cells split them."""
    head, _, rest = text.partition("\n")
    rule, _, body = rest.partition("\n")
    if not head.startswith("|") or not _RULE.fullmatch(rule):
        return None
    lines = [head, *(line for line in body.split("\n") if line.startswith("|"))]
    return [line.strip().removeprefix("|").removesuffix("|").split("|") for line in lines], len(
        text
    )


def _read_csv(text: str) -> tuple[Lines, int] | None:
    """Read comma separated lines, at least half of them as wide as the first."""
    try:
        # Only LF ends a line; splitlines() would also split at other characters.
        source = io.StringIO(text.strip().replace("\r", " "), newline="\n")
        lines = [line for line in csv.reader(source) if line]
    except csv.Error:
        return None
    regular = sum(len(line) == len(lines[0]) for line in lines)
    share = 0.5 if lines and len(lines[0]) > 1 else 1.0
    return (lines, len(text)) if len(lines) > 1 and regular >= share * len(lines) else None


_READERS: Sequence[tuple[Callable[[str], tuple[Lines, int] | None], bool]] = (
    (_read_html, True),
    (_read_json, True),
    (_read_markdown, False),
    (_read_csv, False),
)
"""Each reader, and whether its layout marks its own end, so that a cell may contain a label."""


def read_lines(text: str, stop: int) -> tuple[Lines, int] | None:
    """Read the table at the start of a text, with rows as wide as the header.

    `stop` is where the text that cannot belong to the table begins.
    """
    for reader, is_closed in _READERS:
        table = reader(text if is_closed else text[:stop])
        if table is None or not any(table[0]):
            continue
        width = min(len(table[0][0]), MAX_COLUMNS)
        kept = table[0][: MAX_CELLS // (width + 1) + 2]
        lines = [[cell.strip() for cell in line[:width]] for line in kept]
        return [line + [""] * (width - len(line)) for line in lines], table[1]
    return None
