"""The answer that a rule computes on the table: a look-up, sum, mean, count or extreme value.

A rule speaks only if every word of the question is explained: by the operation, by the heading of
one column, by the label of one row, by the title, or as a function word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.evidence.columns import cell_number, heading_words, named_words
from pytest_tablebench.audit.normal_form import (
    decimals_of,
    normal_form,
    number_in,
    shown_number,
    words_of,
)
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.generate.values import is_summary
from pytest_tablebench.tables.table import Table

_AGAINST = {"sum": 1.8, "mean": 1.8, "count": 1.5, "extreme": 1.8, "look-up": 1.2}
"""Weights of a difference: the logarithm of 1 / (share of right golds that the rule misses)."""

_FOR = -1.5
"""The weight if the gold is the derived answer: a wrong gold rarely is."""

# fmt: off
_FUNCTION = frozenset(words_of(
    "what which whom whose how many much is are was were be been being do does did the a "
    "an of in on at by for from to with and all any each every per there their its it this that "
    "these those has have had according given shown listed table chart list data number amount "
    "value entry row column overall if you as together please find calculate compute show get me "
    "i tell"
)) | {"who"}
_SUM = frozenset(words_of("total sum combined altogether"))
_MEAN = frozenset(words_of("average mean"))
_HIGH = frozenset(words_of("highest most largest greatest biggest maximum max"))
_LOW = frozenset(words_of("lowest least fewest smallest minimum min"))
# fmt: on


@dataclass(frozen=True)
class Derived:
    """An answer that a rule computes.

    Arguments:
        rule: a key of the weights.
        text: how it is computed, for readers.
        number: its value; None for an answer in words.
        cells: the cells that it reads, as in `Suspect`.
    """

    rule: str
    text: str
    answer: str
    number: Fraction | None
    cells: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class _TableQuestion:
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
        return " ".join(str(self.table.header[column]).replace("\\n", " ").split())

    def numbers(self, column: int) -> list[Fraction] | None:
        """Return the numbers of a column; None if it has other cells."""
        numbers = [cell_number(self.table.rows[row][column]) for row in self.rows]
        return (
            [number for number in numbers if number is not None]
            if all(number is not None for number in numbers)
            else None
        )

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


def derivation(
    example: AuditedExample,
    groups: Sequence[AnswerGroup],  # noqa: ARG001 - all reasons have one signature
) -> Iterator[Evidence]:
    """Yield the derived answer: against a gold that differs, for a gold that is equal."""
    derived = derived_answer(example)
    if derived is None:
        return
    if _is_gold(derived, example):
        yield Evidence("derivation", f"{derived.text}, as the gold", example.gold_text, _FOR)
        return
    if (number_in(example.gold_text) is None) != (derived.number is None):
        return  # the gold is of another kind, so the rule has misread the question
    text = f"{derived.text}, the gold is {example.gold_text}"
    yield Evidence("derivation", text, derived.answer, _AGAINST[derived.rule])


def derived_answer(example: AuditedExample) -> Derived | None:
    """Return the answer of the only rule that speaks; None without any."""
    if len(example.tables) != 1 or len(example.gold) != 1 or example.further_text.count(" ") > 60:
        return None
    [table] = example.tables
    width = len(table.header)
    if table.is_structured or not width or any(len(row) != width for row in table.rows):
        return None
    question = _question(example.example.question, table)
    answers = [answer for rule in RULES if (answer := rule(question)) is not None]
    return answers[0] if len({answer.answer for answer in answers}) == 1 else None


def _question(text: str, table: Table) -> _TableQuestion:
    words = words_of(text)
    columns = tuple(named_words(heading_words(name), words) for name in table.header)
    rows = tuple(
        number
        for number, row in enumerate(table.rows)
        if any(str(cell or "").strip() for cell in row)
        and not any(is_summary(str(cell)) for cell in row[:2])
    )
    explained = _FUNCTION | frozenset(words_of(table.title or ""))
    return _TableQuestion(table, words, explained, columns, rows)


def _is_gold(derived: Derived, example: AuditedExample) -> bool:
    gold = number_in(example.gold_text)
    if gold is None or derived.number is None:
        return normal_form(derived.answer) == example.gold_form
    room = Fraction(1, 2 * 10 ** decimals_of(example.gold_text)) if derived.rule == "mean" else 0
    return abs(gold - derived.number) <= room


def _aggregate(
    question: _TableQuestion, trigger: frozenset[str]
) -> tuple[int, list[Fraction]] | None:
    """Return the one numeric column that a question aggregates over all rows."""
    if trigger.isdisjoint(question.words) or len(question.rows) < 2:
        return None
    for column in question.named():
        words = question.columns[column] or frozenset()
        if trigger.isdisjoint(set(question.words) - words):
            continue  # the word belongs to the heading: `Total`
        # Other headings may be named as the things that are counted: `of all routes`.
        others = frozenset[str]().union(*filter(None, question.columns))
        if question.rest(trigger, others) or len(question.named()) > 2:
            continue
        numbers = question.numbers(column)
        if numbers is not None and len(numeric_named(question)) == 1:
            has_total = len(numbers) > 2 and sum(numbers[:-1]) == numbers[-1]  # in any language
            return column, numbers[:-1] if has_total else numbers
    return None


def numeric_named(question: _TableQuestion) -> list[int]:
    """Return the named columns that contain only numbers."""
    return [column for column in question.named() if question.numbers(column) is not None]


def _cells(question: _TableQuestion, *columns: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((0, row, column) for row in question.rows for column in columns)


def _sum(question: _TableQuestion) -> Derived | None:
    aggregate = _aggregate(question, _SUM)
    if aggregate is None:
        return None
    column, numbers = aggregate
    if not _MEAN.isdisjoint(question.rest(question.columns[column])):
        return None
    total = sum(numbers, Fraction())
    text = f"the sum of {question.heading(column)!r} over {len(numbers)} rows is"
    shown = shown_number(total)
    return Derived("sum", f"{text} {shown}", shown, total, _cells(question, column))


def _mean(question: _TableQuestion) -> Derived | None:
    aggregate = _aggregate(question, _MEAN)
    if aggregate is None or not _SUM.isdisjoint(question.words):
        return None
    column, numbers = aggregate
    mean = sum(numbers, Fraction()) / len(numbers)
    text = f"the mean of {question.heading(column)!r} over {len(numbers)} rows is"
    shown = shown_number(mean)
    return Derived("mean", f"{text} {shown}", shown, mean, _cells(question, column))


def _count(question: _TableQuestion) -> Derived | None:
    """Count the rows: `how many festivals are listed?`."""
    if question.words[:2] != ("how", "many") or not (_SUM | _MEAN).isdisjoint(question.words):
        return None
    named = question.named()
    if len(named) != 1 or question.rest(question.columns[named[0]]):
        return None
    if question.numbers(named[0]) is not None:
        return None  # `how many goals` asks for a sum
    labels = {normal_form(question.table.rows[row][named[0]]) for row in question.rows}
    if len(labels) != len(question.rows) or "" in labels:
        return None  # rows or different labels: both readings are possible
    count = Fraction(len(question.rows))
    text = f"the table has {count} rows of {question.heading(named[0])!r}"
    return Derived("count", text, str(count), count, _cells(question, named[0]))


def _extreme(question: _TableQuestion) -> Derived | None:
    """Find the label of the largest or smallest number: `which city has the most people?`."""
    words = set(question.words)
    high, low = words & _HIGH, words & _LOW
    if len(high) + len(low) != 1 or not words & {"which", "what", "who"}:
        return None
    trigger = frozenset(high | low)
    numeric = numeric_named(question)
    labels = [column for column in question.named() if column not in numeric]
    if len(numeric) != 1 or len(labels) != 1:
        return None
    [column], [label] = numeric, labels
    if question.rest(trigger, question.columns[column], question.columns[label]):
        return None
    if not _asks_for(question, label):
        return None
    numbers = question.numbers(column) or []
    best = max(numbers) if high else min(numbers)
    rows = [row for row, number in zip(question.rows, numbers, strict=True) if number == best]
    if len(rows) != 1:
        return None
    answer = str(question.table.rows[rows[0]][label])
    order = "largest" if high else "smallest"
    text = f"the {order} {question.heading(column)!r} is {shown_number(best)}, of {answer}"
    cells = ((0, rows[0], column), (0, rows[0], label))
    return Derived("extreme", text, answer, number_in(answer), cells)


def _asks_for(question: _TableQuestion, column: int) -> bool:
    """Return whether the heading follows the question word directly: `which city`."""
    heading = question.columns[column] or frozenset()
    pairs = zip(question.words, question.words[1:], strict=False)
    return any(first in {"which", "what"} and second in heading for first, second in pairs)


def _lookup(question: _TableQuestion) -> Derived | None:
    """Read the cell of one row and one column that the question names."""
    if not (_SUM | _MEAN | _HIGH | _LOW).isdisjoint(question.words):
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
    shown = " ".join(str(question.table.rows[row][label_column]).split())
    text = f"the cell of row {shown!r} and column {question.heading(column)!r} is {answer}"
    cells = ((0, row, column), (0, row, label_column))
    return Derived("look-up", text, answer, cell_number(answer), cells)


def _labels(question: _TableQuestion) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Yield the row, column and words of cells in a row that the question names as a whole."""
    text = f" {' '.join(question.words)} "
    for column in range(len(question.table.header)):
        forms = [words_of(str(row[column])) for row in question.table.rows]
        for row in question.rows:
            words = forms[row]
            is_label = words and f" {' '.join(words)} " in text and forms.count(words) == 1
            if is_label and not question.explained.issuperset(words):
                yield row, column, frozenset(words)


RULES: Sequence[Callable[[_TableQuestion], Derived | None]] = (
    _sum,
    _mean,
    _count,
    _extreme,
    _lookup,
)
"""The rules; each returns None unless it is sure of its reading."""
