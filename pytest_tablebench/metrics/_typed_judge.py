"""Compares a reply with the expected answer: a number, a date, a yes or no, or a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_tablebench.metrics._typed_replies import (
    AnswerText,
    before_note,
    before_reason,
    bold_texts,
    is_bounded,
    is_open,
    is_word,
    links,
    says_nothing_more,
    sentences,
)
from pytest_tablebench.metrics._typed_text import CJK, folded, spellings, unwrapped, words
from pytest_tablebench.metrics._typed_units import read_unit
from pytest_tablebench.metrics._typed_verdicts import VERDICTS, read_verdict
from pytest_tablebench.metrics.typed_dates import Moment, moments_in, read_moment
from pytest_tablebench.metrics.typed_numbers import (
    Quantity,
    numbers_in,
    read_quantity,
    same_quantity,
    with_digits,
)

if TYPE_CHECKING:
    from pytest_tablebench.tables.table import Table

_IN_BRACKETS = re.compile(r"[(\[（【]([^()\[\]（）【】]{1,20})[)\]）】]")
_CLAUSE = re.compile(r",? (?:who|which|whose|because|since|der|die|das|weil|qui|car)\b")
_SUM = re.compile(r"\(?[\d\s.,$€£%]+(?:[-+*/×÷][\d\s.,$€£%]+)+\)?")
_COUNTED = re.compile(r"\s*((?:[^\W\d_]+ ?){1,2})[.!]?")
_ROW = re.compile(r"\b(?:row|line|column|zeile|spalte|ligne|colonne)s? $|第$")
"""Words before a number that names a place in the table."""
_COMPARED = re.compile(
    r"\s?(less|more|fewer|higher|lower|mehr|weniger|plus|moins) (?:than|als|que)\b"
)
_LONGEST_VALUE = 200
_LONGEST_SENTENCE = 1_000
_LONGEST_REPLY = 4_000
"""Characters of the longest reply that is searched for an answer without a mark."""


@dataclass(frozen=True)
class Terms:
    """How the answers of a question are written.

    Arguments:
        tolerance: of numbers: `0.5`, or `2%` of the expected number.
        unit: of the expected number, if its text has none.
        decimal: the column's decimal sign, "." or ",".
        day_first: whether `5/3/2024` is in March; None if the column does not show it.
        percent: "points" or "share" if the column is in percent and the answer has no sign.
        aliases: for an expected text, other texts that are equally right.
        question: the question's text; a reply may repeat it.
        tables: the question's tables; a sentence that names two cells of a column has two answers.
    """

    tolerance: str = ""
    unit: str = ""
    decimal: str = "."
    day_first: bool | None = None
    percent: str = ""
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    question: str = ""
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Expected:
    """One expected answer: its text, its kind and the terms of its question."""

    text: str
    kind: str
    terms: Terms = field(default_factory=Terms)

    @cached_property
    def spellings(self) -> frozenset[str]:
        """The folded forms of the answer and its aliases."""
        texts = (self.text, *self.terms.aliases.get(self.text, ()))
        return frozenset().union(*map(spellings, texts))

    @cached_property
    def quantity(self) -> Quantity | None:
        """The answer as a number."""
        return read_quantity(self.text, self.terms.decimal)

    @cached_property
    def moment(self) -> Moment | None:
        """The answer as a date or time."""
        return read_moment(self.text, self.terms.day_first)

    @cached_property
    def verdict(self) -> bool | None:
        """The answer as a yes or no."""
        return VERDICTS.get(folded(self.text).strip(" ."))

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
            return number is not None and self.equals(number)
        if self.kind == "date":
            moment = read_moment(text, self.terms.day_first)
            return moment is not None and moment == self.moment
        if self.kind == "text" and len(text) < 400:
            return self._is_with_noun(folded(text))
        return False

    def _is_with_noun(self, text: str) -> bool:
        """Return whether a text is the answer with an article, a label or a unit."""
        text = re.sub(r"^(?:the|a|an|der|die|das|le|la|les|l')\s+|^l'", "", text)
        if text in self.spellings:
            return True
        label, colon, rest = text.partition(":")
        if colon and says_nothing_more(words(label), self._question_words):
            return any(folded(form) in self.spellings for form in unwrapped(rest))
        last = text.rpartition(" ")
        return (
            last[0] in self.spellings
            and last[0][-1:].isdigit()
            and last[2] in {"years", "year", "jahre", "ans", "points", "percent"}
        )

    @cached_property
    def _question_words(self) -> list[str]:
        names = [str(name) for table in self.terms.tables for name in table.header]
        return words(folded(" ".join([self.terms.question, *names])[:4_000]))

    def equals(self, number: Quantity) -> bool:
        """Return whether a number is the expected one."""
        terms = self.terms
        return self.quantity is not None and same_quantity(
            number,
            self.quantity,
            unit=terms.unit,
            tolerance=terms.tolerance,
            percent=terms.percent,
            question=terms.question,
            units=self._units,
        )

    @cached_property
    def _units(self) -> frozenset[str]:
        names = [str(name)[:200] for table in self.terms.tables for name in table.header]
        units = (read_unit(match[1]) for name in names for match in _IN_BRACKETS.finditer(name))
        return frozenset(unit.name for unit in units if unit.scale == 1)

    def is_given_by(self, reply: AnswerText) -> bool:
        """Return whether a reply gives this answer and no other."""
        if self.kind == "yes_no":
            return self.verdict is not None and read_verdict(reply) is self.verdict
        whole = len(reply.text) <= 2 * len(self.text) + 400
        if whole and (self.equals_text(reply.text) or self.equals_text(reply.answer)):
            return True
        if reply.is_taken_back:
            return False
        if self.equals_text(reply.line) or self._is_before_note(reply):
            return not self._has_rival(reply)
        marked = [text for text in bold_texts(reply.answer) if self._may_be_answer(text)]
        parts = sentences(reply.answer)
        if len(set(map(folded, marked))) == 1:
            return self.equals_text(marked[0]) and not any(
                marked[0] in part and self._is_hedged(folded(part), folded(marked[0]))
                for part in parts
            )
        if len(reply.answer) > _LONGEST_REPLY or any(len(t) > _LONGEST_SENTENCE for t in parts):
            return False
        return self._is_in(parts)

    def _is_before_note(self, reply: AnswerText) -> bool:
        """Return whether the first line is the answer and then a reason or a harmless note."""
        if len(reply.line) > _LONGEST_SENTENCE:
            return False
        if reply.is_marked and self.equals_text(before_reason(reply.line)):
            return True
        value, note = before_note(reply.line)
        note = folded(note)
        if not note or is_open(note) or not self.equals_text(value):
            return False
        if self.kind == "text":
            return not any(_mentions(note, cell) for cell in self._cells if cell in note)
        if _SUM.fullmatch(note[:_LONGEST_VALUE]):
            return True
        return all(_ROW.search(note[:start]) for start, *_ in numbers_in(note, self.terms.decimal))

    def _is_hedged(self, sentence: str, mention: str) -> bool:
        place = sentence.find(mention)
        roughly = bool(self.terms.tolerance)
        return is_open(sentence) or is_bounded(
            sentence.replace("*", " "), place, place + len(mention), roughly=roughly
        )

    def _may_be_answer(self, text: str) -> bool:
        """Return whether a bold text or a line may be an answer of this kind."""
        if len(text) > _LONGEST_VALUE:
            return False
        if self.kind == "number":
            return any(read_quantity(form, self.terms.decimal) for form in unwrapped(text))
        if self.kind == "date":
            return any(read_moment(form, self.terms.day_first) for form in unwrapped(text))
        return not text.endswith(":")

    def _has_rival(self, reply: AnswerText) -> bool:
        """Return whether a later line of a reply is another answer of the same kind."""
        rest = [line.strip() for line in reply.answer.split("\n")[1:] if line.strip()]
        if self.kind in {"number", "date"}:
            return any(self._may_be_answer(line) and not self.equals_text(line) for line in rest)
        cells = self._cells
        return any(
            not spellings(line).isdisjoint(cells) and not self.equals_text(line)
            for line in rest
            if len(line) <= _LONGEST_VALUE
        )

    @cached_property
    def _cells(self) -> frozenset[str]:
        """The folded texts of the columns that contain the answer."""
        cells: set[str] = set()
        for table in self.terms.tables:
            for place in range(len(table.header)):
                column = {folded(str(row[place])[:200]) for row in table.rows if place < len(row)}
                if not self.spellings.isdisjoint(column):
                    cells |= column
        return frozenset(cells) - {""}

    def _is_in(self, parts: Sequence[str]) -> bool:
        if self.kind == "number":
            return self._is_number_in(parts)
        if self.kind == "date":
            return self._is_date_in(parts)
        return self.kind == "text" and self._is_text_in(parts)

    def _is_number_in(self, parts: Sequence[str]) -> bool:
        """Return whether sentences contain this number, and no others except the question's."""
        terms = self.terms
        amounts = {
            (number.value, number.scale)
            for *_, number in numbers_in(folded(terms.question), terms.decimal)
        }
        places: list[tuple[Quantity, str, int, int]] = []
        for part in parts:
            text = folded(part.replace("**", ""))
            for start, end, _ in moments_in(text, terms.day_first):
                text = text[:start] + " " * (end - start) + text[end:]
            text = re.sub(r"^\d{1,2}[.)] (?=\w)", "", text)
            for start, end, number in list(numbers_in(text, terms.decimal)):
                places.append((number, text, start, end))
                text = text[:start] + " " * (end - start) + text[end:]
            spoken = with_digits(text) if len(text) < 600 else text
            places += [
                (number, spoken, start, end)
                for start, end, number in numbers_in(spoken, terms.decimal)
            ]
        claims = [
            item
            for item in places
            if (item[0].value, item[0].scale) not in amounts and not _ROW.search(item[1][: item[2]])
        ]
        values = {(number.value, number.unit, number.scale) for number, *_ in claims or places}
        if len(values) != 1:
            return False
        roughly, question = bool(terms.tolerance), folded(terms.question)
        return all(
            self.equals(number)
            and not is_open(text)
            and not self._is_difference(text[end : end + 30])
            and (number.unit or not self._counts_others(text[:start], text[end:]))
            and not is_bounded(text, start, end, roughly=roughly, question=question)
            for number, text, start, end in claims or places
        )

    def _counts_others(self, before: str, after: str) -> bool:
        """Return whether a reply counts something that the question does not name."""
        counted = _COUNTED.fullmatch(after[:80])
        if before.strip() or counted is None:
            return False
        return not says_nothing_more(words(counted[1]), self._question_words)

    def _is_difference(self, after: str) -> bool:
        """Return whether a number is a difference that the question does not ask for."""
        compared = _COMPARED.match(after)
        return compared is not None and compared[1] not in folded(self.terms.question)

    def _is_date_in(self, parts: Sequence[str]) -> bool:
        moments = [
            (moment, text, start, end)
            for text in (folded(part.replace("**", "")) for part in parts)
            for start, end, moment in moments_in(text, self.terms.day_first)
        ]
        question = folded(self.terms.question)
        return len({moment for moment, *_ in moments}) == 1 and all(
            moment is not None
            and moment == self.moment
            and not is_open(text)
            and not is_bounded(text, start, end, question=question)
            for moment, text, start, end in moments
        )

    def _is_text_in(self, parts: Sequence[str]) -> bool:
        """Return whether sentences name this text and no other cell of its column."""
        names = sorted((name for name in self.spellings if _is_name(name)), key=len, reverse=True)
        question = folded(self.terms.question)
        question_words = words(question)
        is_named = False
        for part in parts:
            sentence = folded(part.replace("**", ""))
            rest = sentence
            for name in names:
                if name in rest:
                    is_named = is_named or self._is_named(sentence, name, question_words)
                    rest = (
                        re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "\x00", rest)
                        if name.isascii()
                        else rest.replace(name, "\x00")
                    )
            others = [cell for cell in self._cells if cell in rest and _mentions(rest, cell)]
            if any(cell not in question for cell in others):
                return False
        return is_named

    def names_another(self, text: str, others: Sequence[Expected]) -> bool:
        """Return whether a text contains another cell of the answers' column."""
        expected = frozenset().union(*(item.spellings for item in others))
        text = folded(text[:_LONGEST_REPLY])
        return any(_mentions(text, cell) for cell in self._cells - expected if cell in text)

    def _is_named(self, sentence: str, name: str, question_words: Sequence[str]) -> bool:
        if is_open(sentence.replace(name, " ")):
            return False
        for match in re.finditer(re.escape(name), sentence[:2_000]):
            before, after = sentence[: match.start()], sentence[match.end() :]
            is_part = (is_word(before[-1:]) and is_word(name[0])) or (
                is_word(after[:1]) and is_word(name[-1])
            )
            if is_part or re.match(r"'\w|-\w", after) or before.endswith("-"):
                continue
            if is_bounded(sentence, match.start(), match.end(), roughly=False):
                return False
            if (
                (not before and _CLAUSE.match(after))
                or links(before, after)
                or says_nothing_more(words(f"{before} {after}"), question_words)
            ):
                return True
        return False


def _is_name(text: str) -> bool:
    """Return whether a text is distinctive enough to be found inside a sentence."""
    return (
        len(text) > 2
        or any(sign.isdigit() for sign in text)
        or (re.search(f"[{CJK}]", text) is not None)
    )


def _mentions(sentence: str, cell: str) -> bool:
    if len(cell) < 2 and cell.isascii():
        return False
    for match in re.finditer(re.escape(cell), sentence[:2_000]):
        before, after = sentence[: match.start()][-1:], sentence[match.end() :][:1]
        if not ((is_word(before) and is_word(cell[0])) or (is_word(after) and is_word(cell[-1]))):
            return True
    return False
