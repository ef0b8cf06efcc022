"""Read one table from text, with one function per layout, each in linear time.

A layout is what a text serializer writes. A reader receives the text from the table's first
character on. It returns header, rows and the number of characters read, or None if the text has
another layout. Nothing is evaluated.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

MAX_COLUMNS = 500
"""Further columns are dropped: real tables have fewer, hostile text may have more."""

MAX_CELLS = 50_000
"""Rows after this number of cells are dropped, so that a huge table takes limited time."""


class Parsed(NamedTuple):
    """A parsed table. `end` is the number of characters that belong to it."""

    header: list[str]
    rows: list[list[str]]
    end: int


_TAG = re.compile(r"<(/?)(table|thead|tbody|tr|th|td)\b[^<>]*>", re.IGNORECASE)


def read_html(text: str) -> Parsed | None:
    """Read `<table>…</table>`; markup inside cells stays, as serializers write it."""
    if not text.startswith("<"):
        return None
    lines: list[list[str]] = []
    cell_start = -1
    end = len(text)
    for tag in _TAG.finditer(text):
        closing, name = tag[1], tag[2].lower()
        if cell_start >= 0 and (closing or name in ("td", "th", "tr")):
            if not lines:
                lines.append([])
            lines[-1].append(text[cell_start : tag.start()])
            cell_start = -1
        if name == "table" and closing:
            end = tag.end()
            break
        if not closing and name == "tr":
            lines.append([])
        elif not closing and name in ("td", "th"):
            cell_start = tag.end()
    lines = [line for line in lines if line]
    if not lines:
        return None
    return Parsed(lines[0], lines[1:], end)


def _cell(value: Any) -> str:
    """Return a JSON value as the text that a reader sees; null and NaN are empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=lambda _: "")


def _decode(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Decode the JSON object at `start`; None if it is invalid, empty or nested too deeply."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return (value, end) if isinstance(value, dict) and value else None


def read_json(text: str) -> Parsed | None:
    """Read `{"0": {column: cell, …}, "1": {…}, …}`."""
    decoded = _decode(text, 0) if text.startswith("{") else None
    if decoded is None:
        return None
    lines = [line for line in decoded[0].values() if isinstance(line, dict)]
    header: dict[str, None] = {}
    for line in lines:
        if len(header) < MAX_COLUMNS:
            header.update(dict.fromkeys(line))
    names = list(header)[:MAX_COLUMNS]
    if not names:
        return None
    kept = lines[: MAX_CELLS // len(names) + 1]
    return Parsed(names, [[_cell(line.get(name)) for name in names] for line in kept], decoded[1])


_DF_OPEN = re.compile(r"(?:pd\.|pandas\.)?DataFrame\(\s*(?=\{)")
_DF_CLOSE = re.compile(r"\s*,?\s*(?:index\s*=\s*\[[^\]]*\]\s*)?\)")


def read_dataframe(text: str) -> Parsed | None:
    """Read `pd.DataFrame({column: [cells]}, index=[…])` without evaluating it."""
    opening = _DF_OPEN.match(text)
    decoded = _decode(text, opening.end()) if opening else None
    if decoded is None:
        return None
    columns = {
        name: cells
        for name, cells in list(decoded[0].items())[:MAX_COLUMNS]
        if isinstance(cells, list)
    }
    if not columns:
        return None
    height = min(max(map(len, columns.values())), MAX_CELLS // len(columns) + 1)
    rows = [
        [_cell(cells[number]) if number < len(cells) else "" for cells in columns.values()]
        for number in range(height)
    ]
    closing = _DF_CLOSE.match(text, decoded[1])
    return Parsed(list(columns), rows, closing.end() if closing else decoded[1])


_RULE = re.compile(r"\|(?:[ ]?:?-{3,}:?[ ]?\|)+[ ]*(?:\n|$)")


def read_markdown(text: str) -> Parsed | None:
    """Read a pipe table. Line ends inside cells are kept; pipes inside cells split them."""
    if not text.startswith("|"):
        return None
    source = text.rstrip().split("\n")
    lines: list[list[str]] = []
    pending: list[str] = []
    pipes = 0
    ruled = False
    for number, line in enumerate(source):
        if not pending and not ruled and lines and _RULE.match(line):
            ruled = True
            continue
        pending.append(line)
        pipes += line.count("|")
        open_row = number + 1 < len(source) and not source[number + 1].startswith("|")
        if open_row and lines and pipes <= len(lines[0]):
            continue
        if pipes >= 2 and line.rstrip().endswith("|"):
            whole = "\n".join(pending).strip().removeprefix("|").removesuffix("|")
            lines.append([cell.strip(" ") for cell in whole.split("|")])
            pending, pipes = [], 0
    if not ruled or not lines:
        return None
    return Parsed(lines[0], lines[1:], len(text))


def read_row_major(text: str) -> Parsed | None:
    """Read `col : a | b row 1 : x | y row 2 : …`; the row numbers must count up from 1."""
    if not text.startswith("col :"):
        return None
    pieces: list[str] = []
    start, number = len("col :"), 1
    while True:
        mark = f" row {number} :"
        mark_place = text.find(mark, start)
        if mark_place < 0:
            break
        pieces.append(text[start:mark_place])
        start, number = mark_place + len(mark), number + 1
    if not pieces:
        return None
    pieces.append(text[start:].rstrip())
    lines = []
    for piece in pieces:
        whole = piece.removeprefix(" ")
        lines.append((whole + " " if whole.endswith(" |") else whole).split(" | "))
    return Parsed(lines[0], lines[1:], len(text))


def read_csv(text: str) -> Parsed | None:
    """Read comma separated lines: at least two, and at least half as wide as the first.

    A single column is accepted only if each line has one cell.
    """
    try:
        # Only LF ends a line; splitlines() would also split at other characters.
        source = io.StringIO(text.strip().replace("\r", " "), newline="\n")
        lines = [line for line in csv.reader(source) if line]
    except csv.Error:
        return None
    if len(lines) < 2:
        return None
    width = len(lines[0])
    regular = sum(len(line) == width for line in lines)
    if regular < (0.5 if width > 1 else 1.0) * len(lines):
        return None
    return Parsed(lines[0], lines[1:], len(text))


# The lengths of arguments are limited, so that hostile text takes linear time.
_COLUMNS = r"\{[^{}\n]{0,200}(?:\{[^{}\n]{0,200}\}[^{}\n]{0,200}){0,20}\}"
_PIECE = re.compile(
    rf"""\\begin\{{tabular\}}(?:\[[^\]\n]{{0,9}}\])?(?:{_COLUMNS})?(?P<begin>)
    |\\end\{{tabular\}}(?P<end>)
    |\\multicolumn\{{(?P<columns>\d{{1,3}})\}}(?:{_COLUMNS})
    |\\multirow\{{[^{{}}\n]{{0,9}}\}}\{{[^{{}}\n]{{0,99}}\}}
    |\\(?:cell|row)color(?:\[[^\]\n]{{0,9}}\])?\{{[^{{}}\n]{{0,99}}\}}
    |\\\\(?P<row>)
    |\\(?P<escaped>[&%$\#_{{}}])
    |\\(?:[A-Za-z]+\*?|.)(?:\[[^\]\n]{{0,99}}\])?
    |(?P<cell>&)
    |(?<!\\)%[^\n]*\n?
    |[{{}}]
    """,
    re.VERBOSE | re.DOTALL,
)
_FIRST = re.compile(r"(?:[ \t]*%[^\n]*\n|\s)*\\begin\{(?:table|tabular)\}")


def read_tabular(text: str) -> Parsed | None:
    """Read the first `tabular`; None without one.

    Text in braces stays, commands are removed; a `tabular` in a cell is one text.
    """
    if _FIRST.match(text) is None:
        return None
    lines: list[list[str]] = []
    line: list[str] = []
    cell: list[str] = []
    depth = blank = place = 0
    for piece in _PIECE.finditer(text):
        if depth:
            cell.append(text[place : piece.start()])
        place = piece.end()
        if piece["begin"] is not None:
            depth += 1
        elif piece["end"] is not None:
            depth -= 1
            if depth <= 0:
                break
        elif piece["escaped"]:
            cell.append(piece["escaped"])
        elif piece["columns"]:
            blank = int(piece["columns"]) - 1
        elif depth > 1:
            cell.append(" ")
        elif piece["cell"] or piece["row"] is not None:
            line += [" ".join("".join(cell).split()), *[""] * blank]
            cell, blank = [], 0
            if piece["row"] is not None:
                lines.append(line)
                line = []
    line += [" ".join("".join(cell).split()), *[""] * blank]
    lines += [line] if any(line) else []
    return Parsed(lines[0], lines[1:], place) if lines else None


READERS: dict[str, Callable[[str], Parsed | None]] = {
    "html": read_html,
    "json": read_json,
    "df": read_dataframe,
    "markdown": read_markdown,
    "indexed_row_major": read_row_major,
    "latex": read_tabular,
    "csv": read_csv,
}
"""Layouts by serializer, the most recognizable first."""

CLOSED = frozenset({"html", "json", "df", "latex"})
"""Layouts that mark their own end."""
