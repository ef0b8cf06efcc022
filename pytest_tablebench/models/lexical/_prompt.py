"""Find the last table and the last question or statement of a prompt."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_tablebench.metrics.normal_form import words_of
from pytest_tablebench.models.lexical._readers import MAX_CELLS, read_lines
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
    [
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
    ]
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
