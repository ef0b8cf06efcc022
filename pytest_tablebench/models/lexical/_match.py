"""Score how well the words of a question match the header and the cells of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from pytest_tablebench.models.lexical._question import Comparison, LexicalQuestion, find_comparisons
from pytest_tablebench.models.lexical._words import (
    STOP_WORDS,
    format_number,
    order_key,
    vocabulary,
    words,
)

_ASKS_FOR = (
    (("who", "whom", "whose"), vocabulary("name player person winner driver author")),
    (("when", "year", "date"), vocabulary("year date season when time")),
    (("where", "place"), vocabulary("location place city country venue site state")),
)
"""Question words, and header words that answer them."""


@dataclass(frozen=True)
class Match:
    """A question matched with a table.

    Arguments:
        header: the header cells. rows: the rows that are not empty.
        header_scores: for each column, how well its name matches the question.
        row_scores: for each row, how well its cells match. `hits` are the matching columns.
        conditions: on numbers, in the order of the question.
    """

    question: LexicalQuestion
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    header_scores: tuple[float, ...]
    row_scores: tuple[float, ...]
    hits: tuple[frozenset[int], ...]
    conditions: tuple[Comparison, ...]

    @property
    def best_rows(self) -> list[int]:
        """The best matching rows, in order; empty if no cell matches."""
        top = max(self.row_scores, default=0.0)
        if top <= 0:
            return []
        return [number for number, score in enumerate(self.row_scores) if score > top - 1e-9]

    @property
    def hit_columns(self) -> frozenset[int]:
        """The columns whose cells match in the first of the best rows."""
        best = self.best_rows
        return self.hits[best[0]] if best else frozenset()

    def cell(self, row: int, column: int) -> str:
        """Return one cell; short rows end in empty cells."""
        cells = self.rows[row]
        return cells[column] if column < len(cells) else ""

    def keys(self, column: int) -> list[tuple[int, float]]:
        """Return (row, ordering key) for the cells of a column that can be ordered."""
        keys = []
        for row in range(len(self.rows)):
            key = order_key(self.cell(row, column))
            if key is not None:
                keys.append((row, key))
        return keys

    def rows_that_meet(self, column: int) -> list[int]:
        """Return the rows whose cell in a column meets all conditions."""
        return [
            row
            for row, key in self.keys(column)
            if all(condition.is_met(key) for condition in self.conditions)
        ]

    def is_ordered(self, column: int) -> bool:
        """Return whether most filled cells of a column are numbers or dates."""
        filled = sum(1 for row in range(len(self.rows)) if self.cell(row, column))
        return filled > 0 and len(self.keys(column)) >= 0.6 * filled


def _header_scores(
    question: LexicalQuestion, header: tuple[str, ...], cell_words: set[str]
) -> list[float]:
    asked_words = _asked_words(question)
    kinds = [names for phrases, names in _ASKS_FOR if question.has(*phrases)]
    scores = []
    for name in header:
        parts = words(name)
        score = 0.0
        for part in dict.fromkeys(parts):
            if part in question.word_set and (part not in STOP_WORDS or len(parts) == 1):
                score += 0.4 if part in cell_words else 1.0
                score += 0.8 if part in asked_words else 0.0
        if parts and score:
            score = score / len(parts) ** 0.5
        if any(part in names for names in kinds for part in parts):
            score += 0.5
        scores.append(score)
    return scores


_ASKING = vocabulary("which what whose name list many much")


def _asked_words(question: LexicalQuestion) -> set[str]:
    """Return the words right after "which", "what", "how many", "name" or "list"."""
    asked_words: set[str] = set()
    for position, word in enumerate(question.words):
        if word in _ASKING:
            following = [w for w in question.words[position + 1 :] if w not in STOP_WORDS]
            asked_words.update(following[:2])
            break
    return asked_words


def _cell_score(
    cell: str, question: LexicalQuestion, ignored: frozenset[str]
) -> tuple[float, list[str]]:
    """Return how well one cell matches, and the question's words in it."""
    parts = words(cell)
    if not parts or len(parts) > 200:
        return 0.0, []
    shared = [w for w in parts if w in question.word_set and w not in ignored]
    telling = [w for w in shared if w not in STOP_WORDS]
    if not telling:
        return 0.0, []
    if len(shared) == len(parts):
        return len(telling) + 0.5, telling
    return len(telling) * (0.3 + 0.5 * len(shared) / len(parts)), telling


def _row_words(
    row: tuple[str, ...], score_of: Callable[[str], tuple[float, list[str]]]
) -> tuple[dict[str, float], frozenset[int]]:
    """Return the value of each of the question's words in a row, and the matching columns."""
    best: dict[str, float] = {}
    columns = set()
    for column, cell in enumerate(row):
        score, telling = score_of(cell)
        if not score:
            continue
        columns.add(column)
        share = score / len(telling)
        for word in telling:
            best[word] = max(best.get(word, 0.0), share)
    return best, frozenset(columns)


def match(
    question: LexicalQuestion, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
) -> Match:
    """Match a question with a table; empty rows are left out of the result."""
    conditions = tuple(find_comparisons(question))
    bounds = frozenset(format_number(comparison.number) for comparison in conditions)
    kept = tuple(row for row in rows if any(row))
    score_of = cache(lambda cell: _cell_score(cell, question, bounds))
    matched = [_row_words(row, score_of) for row in kept]
    scores = tuple(sum(best.values()) for best, _ in matched)
    top = max(scores, default=0.0)
    used = {
        word
        for score, (best, _) in zip(scores, matched, strict=True)
        if score and score == top
        for word in best
    }
    return Match(
        question,
        header,
        kept,
        tuple(_header_scores(question, header, used)),
        scores,
        tuple(columns for _, columns in matched),
        conditions,
    )
