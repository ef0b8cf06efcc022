"""Answers of WikiTableQuestions (spec: torr.md sections 7.3, 8.2, 8.3 and 9, rows 1 and 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from operator import eq
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score, needs
from pytest_tablebench.metrics._f1 import f1_strings, flat, token_f1
from pytest_tablebench.metrics._normal import canonical_number
from pytest_tablebench.metrics._plain_words import plain_words
from pytest_tablebench.tables.table import Table

Words = tuple[str, ...]

_LINE_END = "\\n"
"""A line end inside a cell of the dataset's tables: these two characters."""

_MOST_NOTES = 5
_OTHER_ANSWER = re.compile(r"\s*(?:or|not|and|either|maybe|perhaps)\b", re.IGNORECASE)


@needs("spacy")
def wikitq(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    table: Table | None = None,
    question: str = "",
    **_: Any,
) -> Score:
    r"""Return token F1 (the score) and exact match of a WikiTableQuestions answer.

    `reference`: both sides are texts of Python lists, whose brackets and quotes take part in F1.
    The exact match compares the sorted characters of the prediction and the first reference
    (sections 7.3 and 8.3).

    `fixed`: plain words are compared (see `plain_words`). The exact match is 1 if the reply gives
    every reference and nothing else: the references in any order, the words of each in theirs, so
    `6-10` is not `10-6`. If a cell of `table` (or any text, without a table) has lines separated by
    a written `\n`, it counts as one or several of its lines in a row. Notes after an answer do not
    count, `11[1]` or `Clay (i)`, unless the reference has notes too; nor does a unit that
    `question` names. Only an exact match scores 1. For the right words in another order, the score
    is the share of words at their place.
    """
    if compat == "reference":
        score = f1_strings(prediction, references, compat=compat).value
        first = str(references[0]) if references else ""
        exact = float(sorted(str(prediction)) == sorted(first))
        return _judged(exact, score)
    pieces = [piece for piece in flat([prediction]) if piece.strip()]
    expected = [", ".join(flat([reference])) for reference in references]
    words, right = plain_words(", ".join(pieces)), plain_words(", ".join(expected))
    if right and (words == right or _gives_each(pieces, expected, table, question)):
        return _judged(1.0, 1.0)
    score = token_f1(right, words)
    if score and Counter(right) == Counter(words):
        score = sum(map(eq, right, words)) / len(right)
    return _judged(0.0, score)


def _judged(exact: float, f1: float) -> Score:
    return Score(f1, {"unsorted_list_exact_match": exact, "f1_strings": f1}, "f1_strings")


def _gives_each(
    pieces: Sequence[str], expected: Sequence[str], table: Table | None, question: str
) -> bool:
    """Return whether the pieces of a reply are the references in any order, each given once."""
    remaining = Counter(filter(None, map(plain_words, expected)))
    # A reference may contain the separator `, `, and a date may be written with or without it.
    counts = {text.count(", ") + 1 for text in expected}
    lengths = sorted({count + step for count in counts for step in (-1, 0, 1)} - {0})
    if len(expected) == 1:
        lengths = [len(pieces)]
    units = frozenset(map(_singular, plain_words(question)))
    while pieces and remaining:
        runs = [", ".join(pieces[:length]) for length in lengths if length <= len(pieces)]
        match = _as_it_is(runs[::-1], remaining, units) or _as_a_cell(runs, remaining, table)
        if match is None:
            return False
        words, run = match
        remaining -= Counter([words])
        pieces = pieces[run.count(", ") + 1 :]
    return not pieces and not remaining


def _as_it_is(
    runs: Sequence[str], remaining: Counter[Words], units: frozenset[str]
) -> tuple[Words, str] | None:
    """Return the reference that a run of pieces gives, and the run."""
    bare = {_without_unit(words, units): words for words in remaining}
    for run in runs:
        plain = plain_words(run)
        for words in (plain, plain_words(_without_notes(run))):
            if words in remaining:
                return words, run
            if (cell := bare.get(_without_unit(words, units))) is not None:
                return cell, run
    return None


def _without_unit(words: Words, units: frozenset[str]) -> Words:
    """Return only the number if all words after it are in the question."""
    number, *unit = words or ("",)
    is_number = canonical_number(number) is not None
    return words[:1] if is_number and units.issuperset(map(_singular, unit)) else words


def _singular(word: str) -> str:
    return word.removesuffix("s")


def _without_notes(text: str) -> str:
    """Return a text without footnote marks and brackets at its end: `11[1]`, `Clay (i)`.

    A bracket with another answer, `(or 12)`, is no note.
    """
    kept = text.rstrip()
    for _ in range(_MOST_NOTES):
        kept = kept.rstrip("†‡•♦").rstrip()
        opening = {")": "(", "]": "["}.get(kept[-1:])
        start = kept.rfind(opening) if opening else -1
        is_apart = opening == "[" or kept[start - 1 : start].isspace()
        if start <= 0 or not is_apart or _OTHER_ANSWER.match(kept, start + 1):
            break
        kept = kept[:start].rstrip()
    return kept or text


def _as_a_cell(
    runs: Sequence[str], remaining: Counter[Words], table: Table | None
) -> tuple[Words, str] | None:
    """Return the reference that lines of a copied cell give, and the run of pieces with it."""
    for run in runs:
        if _LINE_END in run and (table is None or _has_cell(table, plain_words(run))):
            lines = [line for line in map(plain_words, run.split(_LINE_END)) if line]
            for words in remaining:
                if _among(lines, words):
                    return words, run
    return None


def _has_cell(table: Table, words: Words) -> bool:
    cells = (str(cell) for row in (table.header, *table.rows) for cell in row)
    return any(plain_words(cell) == words for cell in cells if _LINE_END in cell)


def _among(lines: Sequence[Words], words: Words) -> bool:
    """Return whether one or several lines in a row are these words."""
    for start in range(len(lines)):
        run: Words = ()
        for line in lines[start : start + len(words)]:
            if len(run) < len(words):
                run += line
        if run == words:
            return True
    return False
