"""The expected answer in all forms in which a reply may give it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from pytest_tablebench.metrics._typed_same import (
    Decision,
    Surroundings,
    Terms,
    compared,
    unclear,
    wrong,
)
from pytest_tablebench.metrics._typed_text import folded, loose_forms, spellings, unwrapped, words
from pytest_tablebench.metrics._typed_words import VERDICTS, unexplained
from pytest_tablebench.metrics.typed_dates import Moment, Period, read_moment, read_period
from pytest_tablebench.metrics.typed_numbers import Quantity, read_quantity
from pytest_tablebench.tables.table_file import SameTable

_ARTICLE = re.compile(r"^(?:the|a|an|der|die|das|le|la|les|el|los|las|il|lo|gli|het|de|l')\s+|^l'")
_RANK = re.compile(r"\b\d+(?:st|nd|rd|th)\b")
_MOST_ROWS = 2_000
"""Rows of the largest table whose cells are searched in the question."""

_FOURS = re.compile(r"[1-9]\d{0,3},\d{4}")
_AGES = frozenset({"years", "year", "jahre", "ans", "points", "percent"})


@dataclass(frozen=True)
class Expected:
    """One expected answer: its text, its kind and the terms of its question."""

    text: str
    kind: str
    terms: Terms = field(default_factory=Terms)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The answer and its aliases."""
        return (self.text, *self.terms.aliases.get(self.text, ()))

    @cached_property
    def spellings(self) -> frozenset[str]:
        """The folded forms of the answer and its aliases."""
        return frozenset().union(*map(spellings, self.texts))

    @cached_property
    def loose(self) -> frozenset[str]:
        """The forms of the answer without accents, full stops of abbreviations and the like."""
        return frozenset().union(*map(loose_forms, self.spellings))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The answer and its aliases as numbers."""
        numbers = (read_quantity(text, self.terms.decimal) for text in self.texts)
        return tuple(number for number in numbers if number is not None)

    @cached_property
    def moments(self) -> frozenset[Moment]:
        """The answer and its aliases as dates or times."""
        moments = (read_moment(text, self.terms.day_first) for text in self.texts)
        return frozenset(moment for moment in moments if moment is not None)

    @cached_property
    def periods(self) -> frozenset[Period]:
        """The answer and its aliases as quarters, halves, seasons, months or weekdays."""
        return frozenset(period for text in self.texts if (period := read_period(text)) is not None)

    @cached_property
    def verdict(self) -> bool | None:
        """The answer as a yes or no."""
        return VERDICTS.get(folded(self.text).strip(" ."))

    @cached_property
    def around(self) -> Surroundings:
        """The question and the columns around the answer."""
        names = self.names
        return Surroundings(self.terms, names, (*names, *self._key_names), lambda: self.cells)

    def equals_text(self, text: str) -> bool:
        """Return whether a whole text is the answer, except for wraps and a full stop."""
        return len(text) <= 2 * self._longest + 100 and any(map(self._is, unwrapped(text)))

    @cached_property
    def _longest(self) -> int:
        return max(len(self.text), *map(len, self.spellings), 100)

    def _is(self, text: str) -> bool:
        if folded(text) in self.spellings:
            return True
        if self.kind == "number":
            number = read_quantity(text, self.terms.decimal)
            return number is not None and self.compare(number).is_right
        if self.kind == "date" and read_moment(text, self.terms.day_first) in self.moments:
            return True
        if len(text) >= 400 or self.kind == "yes_no":
            return False
        if self.periods and read_period(text) in self.periods:
            return True
        return self.kind in {"text", "date"} and self._is_loosely(text)

    def _is_loosely(self, text: str) -> bool:
        """Return whether a text is the answer but for accents, articles, labels or a unit."""
        plain = folded(text)
        if self.is_form(text) or self.is_form(_ARTICLE.sub("", plain)):
            return True
        label, colon, rest = plain.partition(":")
        if colon and not self.unexplained(label):
            return any(map(self.is_form, unwrapped(rest)))
        first, _, last = plain.rpartition(" ")
        if first[-1:].isdigit() and last in _AGES and first in self.spellings:
            return True
        return self._is_amount(text) or self._is_rank(plain) or self._is_letter(plain)

    def is_form(self, text: str) -> bool:
        """Return whether a text is a form of the answer, and not one of another cell as well."""
        if folded(text) in self.spellings:
            return True
        forms = loose_forms(text)
        if forms.isdisjoint(self.loose):
            return False
        return not any(
            not forms.isdisjoint(loose_forms(cell)) for cell in self.cells - self.spellings
        )

    def _is_amount(self, text: str) -> bool:
        """Return whether both texts are the same number, such as `5M` and `5 million`."""
        if not any(number.scale != 1 for number in self.quantities):
            return False
        number = read_quantity(text, self.terms.decimal)
        return number is not None and self.compare(number).is_right

    def _is_rank(self, plain: str) -> bool:
        """Return whether both texts are the same rank, in digits or words: `1st`, `first`."""
        if not (_RANK.search(plain) or any(map(_RANK.search, self.spellings))):
            return False
        from text_to_num import alpha2digit

        return alpha2digit(plain, "en", threshold=1) in {
            alpha2digit(text, "en", threshold=1) for text in self.spellings
        }

    def _is_letter(self, plain: str) -> bool:
        """Return whether the answer is `Y` or `N` in a column of these, and a text the word."""
        if not self.spellings <= {"y", "n"} or not self.cells <= {"y", "n"}:
            return False
        return VERDICTS.get(plain) is ("y" in self.spellings)

    def compare(self, number: Quantity) -> Decision:
        """Decide whether a number is the expected one, or one of its aliases."""
        decisions = (compared(number, expected, self.around) for expected in self.quantities)
        no_number = wrong(f"{self.text[:60]!r} is no number")
        return min(
            decisions,
            key=lambda decision: ("right", "unclear", "wrong").index(decision.state),
            default=no_number,
        )

    def refusal_of(self, text: str) -> Decision:
        """Decide about a whole text that is a number but not the expected one."""
        number = read_quantity(text, self.terms.decimal)
        other = read_quantity(text, self.terms.other_decimal)
        if _FOURS.fullmatch(text.strip()):  # as in China, or a decimal comma
            other = read_quantity(text.replace(",", ""))
        if number is None:
            return wrong(f"read {text[:60]}, expected {self.text[:60]}")
        decision = self.compare(number)
        if other is not None and other != number and self.compare(other).is_right:
            sign = {".": "point", ",": "comma"}[self.terms.decimal]
            return unclear(decision.why.replace(",", f" (decimal {sign}),", 1))
        return decision

    @cached_property
    def cells(self) -> frozenset[str]:
        """The folded texts of the columns that contain the answer."""
        return frozenset().union(*(column for _, column in self._columns)) - {""}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that contain the answer."""
        return tuple(name for name, _ in self._columns)

    @cached_property
    def _columns(self) -> list[tuple[str, frozenset[str]]]:
        """The columns that contain the answer."""
        return [
            (str(name), column)
            for table in self.terms.tables
            for name, column in zip(table.header, _columns(SameTable(table)), strict=True)
            if not self.spellings.isdisjoint(column)
        ]

    @cached_property
    def _key_names(self) -> tuple[str, ...]:
        """The names of the columns with a cell that the question names."""
        question = folded(self.terms.question[:4_000])
        return tuple(
            str(name)
            for table in self.terms.tables
            if len(table.rows) <= _MOST_ROWS
            for name, column in zip(table.header, _columns(SameTable(table)), strict=True)
            if any(len(cell) > 2 and cell in question for cell in column)
        )

    @cached_property
    def _same_rows(self) -> list[list[str]]:
        rows = (row for table in self.terms.tables for row in _rows(SameTable(table)))
        return [row for row in rows if not self.spellings.isdisjoint(row)]

    @cached_property
    def row_words(self) -> frozenset[str]:
        """The words of the rows that contain the answer."""
        return frozenset(part for row in self._same_rows for cell in row for part in words(cell))

    @property
    def is_in_one_row(self) -> bool:
        """Whether one row of the tables contains the answer."""
        return len(self._same_rows) == 1

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The words of all cells."""
        rows = (row for table in self.terms.tables for row in _rows(SameTable(table)))
        return frozenset(part for row in rows for cell in row for part in words(cell))

    def unexplained(self, text: str) -> list[str]:
        """Return the words of a folded text that neither question nor grammar explains."""
        return unexplained(words(text), self.around.words)


@lru_cache(maxsize=8)  # many questions are about few tables
def _rows(key: SameTable) -> list[list[str]]:
    return [[folded(str(cell)[:200]) for cell in row] for row in key.table.rows]


@lru_cache(maxsize=8)
def _columns(key: SameTable) -> list[frozenset[str]]:
    rows = _rows(key)
    return [
        frozenset(row[index] for row in rows if index < len(row))
        for index in range(len(key.table.header))
    ]
