"""Answer a question from a table with rules that are sure of their reading.

A rule answers only if every word of the question is explained: by the operation, by the heading of
one column, by the label of one row, by the title, or as a function word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pytest_tablebench.generate.pair import is_summary
from pytest_tablebench.metrics.normal_form import normal_form, number_in, shown_number, words_of
from pytest_tablebench.tables.table import Table

# fmt: off
_FUNCTION = frozenset(words_of(
    "what which whom whose how many much is are was were be been being do does did the a "
    "an of in on at by for from to with and all any each every per there their its it this that "
    "these those has have had according given shown listed table chart list data number amount "
    "value entry row column overall if you as together please find calculate compute show get me "
    "i tell"
)) | {"who"}
SUM = frozenset(words_of("total sum combined altogether"))
MEAN = frozenset(words_of("average mean"))
HIGH = frozenset(words_of("highest most largest greatest biggest maximum max"))
LOW = frozenset(words_of("lowest least fewest smallest minimum min"))
# fmt: on


_NOTE = re.compile(r"\[[^\]]*\]|[*†‡]")


def cell_number(cell: Any) -> Fraction | None:
    """Return the number of a cell, without footnote marks."""
    return number_in(_NOTE.sub("", str(cell)))


_OPTIONAL = frozenset(
    {"no", "number", "of", "the", "in", "a", "an", "and", "to", "for", "at", "by"}
)


def heading_words(heading: Any) -> tuple[str, ...]:
    """Return the words of a heading that a question has to name: without its unit in brackets."""
    text = re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", str(heading).replace("\\n", " "))
    words = words_of(text)
    return tuple(word for word in words if word not in _OPTIONAL) or words


_VOWELS = frozenset("aeiou")


def is_short_for(short: str, word: str) -> bool:
    """Return whether a word of a heading abbreviates a word: `flts` for flights, `avg`."""
    if short == word:
        return True
    if len(short) < 3 or len(short) >= len(word) or short[0] != word[0] or not short.isalpha():
        return False
    letters = iter(word)
    return _VOWELS.isdisjoint(short[1:]) and all(letter in letters for letter in short)


def named_words(heading: Sequence[str], words: Sequence[str]) -> frozenset[str] | None:
    """Return the words of a text that name a heading; None if the text does not name it whole."""
    names = set()
    for part in heading:
        match = next((word for word in words if is_short_for(part, word)), None)
        if match is None:
            return None
        names.add(match)
    return frozenset(names) or None


@dataclass(frozen=True)
class Derived:
    """An answer that a rule computes.

    Arguments:
        rule: `sum`, `mean`, `count`, `extreme` or `look-up`.
        text: how it is computed, for readers.
        number: its value; None for an answer in words.
        cells: the table, row and column of each cell that it reads.
    """

    rule: str
    text: str
    answer: str
    number: Fraction | None
    cells: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class TableQuestion:
    """A question about a table.

    Arguments:
        words: of the question.
        explained: words that need no rule.
        columns: the words of the question that name each column; None for a column not named.
        rows: the numbers of the rows that count.
    """

    table: Table
    words: tuple[str, ...]
    explained: frozenset[str]
    columns: tuple[frozenset[str] | None, ...]
    rows: tuple[int, ...]

    def rest(self, *explained: frozenset[str] | None) -> set[str]:
        """Return the words that remain unexplained."""
        return set(self.words) - self.explained.union(*filter(None, explained))

    def heading(self, column: int) -> str:
        """Return the heading of a column in one line."""
        return " ".join(str(self.table.header[column]).replace("\\n", " ").split())

    def numbers(self, column: int, rows: Sequence[int] = ()) -> dict[int, Fraction]:
        """Return the numbers of a column, by row; without `rows`, of all that count."""
        cells = {row: cell_number(self.table.rows[row][column]) for row in rows or self.rows}
        return {row: number for row, number in cells.items() if number is not None}

    def is_numeric(self, column: int) -> bool:
        """Return whether a column contains only numbers."""
        return len(self.numbers(column)) == len(self.rows)

    def named(self, *without: frozenset[str]) -> list[int]:
        """Return the columns that the question names, without those that a longer name contains."""
        used = frozenset[str]().union(*without)
        names = {
            column: words
            for column, words in enumerate(self.columns)
            if words and not words <= used
        }
        return [
            column
            for column, words in names.items()
            if not any(words < other for other in names.values())
        ]


def table_question(text: str, table: Table) -> TableQuestion:
    """Match the words of a question with the headings and rows of a table."""
    words = words_of(text)
    columns = tuple(named_words(heading_words(name), words) for name in table.header)
    rows = tuple(
        number
        for number, row in enumerate(table.rows)
        if any(str(cell or "").strip() for cell in row)
        and not any(is_summary(str(cell)) for cell in row[:2])
    )
    explained = _FUNCTION | frozenset(words_of(table.title or ""))
    return TableQuestion(table, words, explained, columns, rows)


def _cells(question: TableQuestion, *columns: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((0, row, column) for row in question.rows for column in columns)


def _aggregate(question: TableQuestion) -> Derived | None:
    """Compute the sum or the mean of the one numeric column that a question aggregates."""
    rule, trigger = ("mean", MEAN) if SUM.isdisjoint(question.words) else ("sum", SUM)
    named = question.named()
    numeric = [column for column in named if question.is_numeric(column)]
    if len(question.rows) < 2 or len(numeric) != 1 or len(named) > 2:
        return None
    [column] = numeric
    # Other headings may be named as the things that are counted: `of all routes`.
    others = frozenset[str]().union(*filter(None, question.columns))
    if (
        trigger.isdisjoint(set(question.words) - (question.columns[column] or frozenset()))
        or question.rest(trigger, others)
        or (rule == "sum" and not MEAN.isdisjoint(question.rest(question.columns[column])))
    ):
        return None
    numbers = list(question.numbers(column).values())
    if len(numbers) > 2 and sum(numbers[:-1]) == numbers[-1]:  # a total, in any language
        numbers.pop()
    number = sum(numbers, Fraction()) / (len(numbers) if rule == "mean" else 1)
    total = shown_number(number)
    text = f"the {rule} of {question.heading(column)!r} over {len(numbers)} rows is {total}"
    return Derived(rule, text, total, number, _cells(question, column))


def _count(question: TableQuestion) -> Derived | None:
    """Count the rows: `how many festivals are listed?`."""
    if question.words[:2] != ("how", "many") or not (SUM | MEAN).isdisjoint(question.words):
        return None
    named = question.named()
    if len(named) != 1 or question.rest(question.columns[named[0]]):
        return None
    if question.is_numeric(named[0]):
        return None  # `how many goals` asks for a sum
    labels = {normal_form(question.table.rows[row][named[0]]) for row in question.rows}
    if len(labels) != len(question.rows) or "" in labels:
        return None  # rows or different labels: both readings are possible
    count = Fraction(len(question.rows))
    text = f"the table has {count} rows of {question.heading(named[0])!r}"
    return Derived("count", text, str(count), count, _cells(question, named[0]))


def _extreme(question: TableQuestion) -> Derived | None:
    """Find the label of the largest or smallest number: `which city has the most people?`."""
    words = set(question.words)
    high, low = words & HIGH, words & LOW
    if len(high) + len(low) != 1 or not words & {"which", "what", "who"}:
        return None
    trigger = frozenset(high | low)
    numeric = [column for column in question.named() if question.is_numeric(column)]
    labels = [column for column in question.named() if column not in numeric]
    if len(numeric) != 1 or len(labels) != 1:
        return None
    [column], [label] = numeric, labels
    if question.rest(trigger, question.columns[column], question.columns[label]):
        return None
    if not _asks_for(question, label):
        return None
    numbers = question.numbers(column)
    best = max(numbers.values()) if high else min(numbers.values())
    rows = [row for row, number in numbers.items() if number == best]
    if len(rows) != 1:
        return None
    answer = str(question.table.rows[rows[0]][label])
    order = "largest" if high else "smallest"
    text = f"the {order} {question.heading(column)!r} is {shown_number(best)}, of {answer}"
    cells = ((0, rows[0], column), (0, rows[0], label))
    return Derived("extreme", text, answer, number_in(answer), cells)


def _asks_for(question: TableQuestion, column: int) -> bool:
    """Return whether the heading follows the question word directly: `which city`."""
    heading = question.columns[column] or frozenset()
    pairs = zip(question.words, question.words[1:], strict=False)
    return any(first in {"which", "what"} and second in heading for first, second in pairs)


def _lookup(question: TableQuestion) -> Derived | None:
    """Read the cell of one row and one column that the question names."""
    if not (SUM | MEAN | HIGH | LOW).isdisjoint(question.words):
        return None
    labels = list(_labels(question))
    if len({row for row, _, _ in labels}) != 1:
        return None
    row, label_column, label = max(labels, key=lambda item: len(item[2]))
    named = [column for column in question.named(label) if column != label_column]
    if len(named) != 1:
        return None
    [column] = named
    label_heading = question.columns[label_column]
    if question.rest(label, question.columns[column], label_heading):
        return None
    answer = " ".join(str(question.table.rows[row][column]).split())
    if not answer or normal_form(answer) in {"-", "n/a", "—", "–"}:
        return None
    row_label = " ".join(str(question.table.rows[row][label_column]).split())
    text = f"the cell of row {row_label!r} and column {question.heading(column)!r} is {answer}"
    cells = ((0, row, column), (0, row, label_column))
    return Derived("look-up", text, answer, cell_number(answer), cells)


def _labels(question: TableQuestion) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Yield the row, column and words of cells in a row that the question names as a whole."""
    text = f" {' '.join(question.words)} "
    for column in range(len(question.table.header)):
        forms = [words_of(str(row[column])) for row in question.table.rows]
        counts = Counter(forms)
        for row in question.rows:
            words = forms[row]
            is_label = words and f" {' '.join(words)} " in text and counts[words] == 1
            if is_label and not question.explained.issuperset(words):
                yield row, column, frozenset(words)


def derive(question: str, table: Table) -> Derived | None:
    """Return the answer of the rules, None if none is sure or if two differ."""
    width = len(table.header)
    if not width or any(len(row) != width for row in table.rows):
        return None
    matched = table_question(question, table)
    rules = (_aggregate, _count, _extreme, _lookup)  # each is None unless it is sure
    answers = [answer for rule in rules if (answer := rule(matched)) is not None]
    return answers[0] if len({answer.answer for answer in answers}) == 1 else None
