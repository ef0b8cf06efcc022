"""Find the last table and the last question or statement of a prompt.

A reader receives the text from the table's first character on, in one of four layouts. It takes
linear time and evaluates nothing. It returns the lines, header first, and the number of characters
read, or None if the text has another layout.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_tablebench.metrics.normal_form import words_of
from pytest_tablebench.tables.table import Table

MAX_QUESTION = 2000
"""Characters of a question that are read."""

_NEXT_LABEL = re.compile(
    r"\n[ \t]*+(question|query|statement|claim|answer|final answer|program|response|output"
    r"|pre-table text|post-table text|table caption|caption|description|text description"
    r"|selected column|column name|page title|section title|title|table|options|choices)[ ]?:",
    re.IGNORECASE,
)
_TABLE = re.compile(r"^[ \t]*+table:\s*", re.IGNORECASE | re.MULTILINE)
_QUESTION = re.compile(r"^[ \t]*+(question|query|statement|claim):", re.IGNORECASE | re.MULTILINE)
_MARKS = re.compile(r'<table|\{"0": \{|^\|.*\n\|[ ]?:?---', re.MULTILINE)
_TRUTH = re.compile(r"\s*(?:is it )?(?:true or false|false or true)\s*[:,?]?\s*", re.IGNORECASE)
_YES_NO = frozenset(
    {
        *("is", "are", "was", "were", "do", "does", "did"),
        *("has", "have", "had", "can", "could", "will", "would"),
    }
)


@dataclass(frozen=True)
class PromptTable:
    """The table of a prompt and its place.

    Arguments:
        table: None if its layout is not read.
        words: of such a table.
    """

    table: Table | None
    words: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class PromptQuestion:
    """The text of a question; for a statement, the words for true and false."""

    text: str
    verdicts: tuple[str, str] | None = None


def _stop(text: str, start: int) -> int:
    label = _NEXT_LABEL.search(text, start)
    return label.start() if label else len(text)


def find_table(text: str) -> PromptTable:
    """Return the table after the last `Table:`, else at the last mark of a layout."""
    labels = list(_TABLE.finditer(text))
    marks = list(_MARKS.finditer(text))
    start = labels[-1].end() if labels else marks[-1].start() if marks else 0
    stop = _stop(text, start)
    read = read_lines(text[start:], stop - start) if labels or marks else None
    if read is None:
        words = tuple(text[start:stop].split()[-MAX_CELLS:])
        return PromptTable(None, words, start, stop if labels else 0)
    [header, *rows], length = read
    return PromptTable(Table(header, rows), (), start, start + length)


def find_question(text: str, table: PromptTable) -> PromptQuestion:
    """Return the last question after the table, else before it, else the last line."""
    labels = list(_QUESTION.finditer(text, table.end))
    labels = labels or list(_QUESTION.finditer(text, 0, table.start))
    if not labels:
        outside = text[table.end :] or text[: table.start]
        lines = [line for line in outside[-MAX_QUESTION:].splitlines() if line.strip()]
        asking = [line for line in lines if line.rstrip().endswith("?")]
        return PromptQuestion((asking or lines or [""])[-1].strip())
    start = labels[-1].end()
    question = " ".join(text[start : min(_stop(text, start), start + MAX_QUESTION)].split())
    if labels[-1][1].lower() in ("statement", "claim"):
        entailed = "entailed" in text[:start] and "refuted" in text[:start]
        return PromptQuestion(question, ("entailed", "refuted") if entailed else ("true", "false"))
    if truth := _TRUTH.match(question):
        return PromptQuestion(question[truth.end() :], ("true", "false"))
    is_yes_no = not _YES_NO.isdisjoint(words_of(question)[:1]) and " or " not in question
    return PromptQuestion(question, ("yes", "no") if is_yes_no else None)


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
    cells = [line.strip().removeprefix("|").removesuffix("|").split("|") for line in lines]
    return cells, len(text)


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
