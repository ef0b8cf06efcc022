"""Compares two numbers with their units."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from pytest_tablebench.metrics._typed_text import folded, words
from pytest_tablebench.metrics._typed_units import (
    Unit,
    converted,
    is_currency,
    is_known,
    read_unit,
    same_currency,
    unit_name,
)
from pytest_tablebench.metrics._typed_words import (
    COUNTED,
    MEASURE_VERBS,
    RATIOS,
    counts_rows,
    is_bounded,
    is_question,
    question_words,
    unexplained,
)
from pytest_tablebench.metrics.typed_columns import unit_in_brackets, unit_in_name
from pytest_tablebench.metrics.typed_numbers import Quantity, numbers_in, read_quantity

if TYPE_CHECKING:
    from pytest_tablebench.tables.table import Table

_IN_BRACKETS = re.compile(r"[(\[（【]([^()\[\]（）【】]{1,20})[)\]）】]")
_HOW_MANY = re.compile(
    r"\b(?:how many|how often|number of|count of|wie ?viele|wie oft|anzahl|combien d|nombre de"
    r"|cuánt[oa]s|quant[ei]|quant[oa]s|hoeveel|ile|сколько)\b|多少(?:个|人|家|件|名)|几|いくつ|何人|몇"
)
_PERCENT = re.compile(
    r"%|\b(?:percent|percentage|per cent|prozent\w*|pourcentage|porcentaje)\b|百分"
)
_VERBS = frozenset({"won", "try"})
"""Words that are seldom the currency."""

_LONGEST_NOUN = 3
"""Words of the longest noun phrase behind a number."""

_CELLS = 200
"""Cells of a table that are searched for a currency."""


@dataclass(frozen=True)
class Decision:
    """Whether a reply is right, wrong or unclear, and the reason in one line."""

    state: Literal["right", "unclear", "wrong"]
    why: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the reply gives the answer."""
        return self.state == "right"


RIGHT = Decision("right")
unclear = partial(Decision, "unclear")
wrong = partial(Decision, "wrong")


@dataclass(frozen=True)
class Terms:
    """How the answers of a question are written: arguments of `typed_answer`, and the tables."""

    tolerance: str = ""
    unit: str = ""
    decimal: str = "."
    day_first: bool | None = None
    percent: str = ""
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    question: str = ""
    tables: Sequence[Table] = ()

    @property
    def other_decimal(self) -> str:
        """The sign that is not the column's decimal sign."""
        return "," if self.decimal == "." else "."

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the tables' columns."""
        return tuple(str(name) for table in self.tables for name in table.header)


@dataclass(frozen=True)
class Surroundings:
    """The question and the columns around an expected number, which name its unit.

    Arguments:
        terms: of the question.
        names: the names of the columns with the answer.
        context_names: these, and the names of columns with a cell that the question names.
        cells: returns the cells of the columns with the answer.
    """

    terms: Terms
    names: tuple[str, ...]
    context_names: tuple[str, ...]
    cells: Callable[[], Collection[str]]

    @cached_property
    def folded_question(self) -> str:
        """The folded question."""
        return folded(self.terms.question[:4_000])

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the question and of the columns' names."""
        return frozenset(question_words(self.terms.question, self.context_names))

    @cached_property
    def column(self) -> Unit:
        """The unit of the column."""
        return unit_in_brackets(self.terms.unit) if self.terms.unit else Unit()

    @cached_property
    def _units_in_names(self) -> tuple[Unit, ...]:
        return tuple(map(unit_in_name, self.names or self.terms.names))

    @cached_property
    def units(self) -> frozenset[str]:
        """The units in brackets behind the names of columns."""
        names = self.names or self.terms.names
        matches = (match[1] for name in names for match in _IN_BRACKETS.finditer(name[:200]))
        return frozenset(unit.name for unit in map(unit_in_brackets, matches) if unit.scale == 1)

    @cached_property
    def currencies(self) -> frozenset[str]:
        """The currencies that the question, the column's name or its cells name."""
        named = {self.column.name, *self.units, *(unit.name for unit in self._units_in_names)}
        for text in (self.terms.question, *(self.names or self.terms.names)):
            parts = re.findall(r"[^\s\d(),;:?!._]+", text[:4_000])
            named |= {unit_name(part) for part in parts if part.casefold() not in _VERBS}
        numbers = (
            read_quantity(cell, self.terms.decimal) for cell in sorted(self.cells())[:_CELLS]
        )
        named |= {number.unit for number in numbers if number is not None}
        return frozenset(name for name in named if is_currency(name))

    @cached_property
    def column_scales(self) -> frozenset[int]:
        """The powers of ten in which the cells of the answer's columns are written."""
        units = (self.column, *(self._units_in_names if self.names else ()))
        return frozenset(unit.scale for unit in units) - {1}

    @cached_property
    def scales(self) -> frozenset[int]:
        """The powers of ten in which the question or a column's name asks for the number.

        The columns of other cells have none for `How many ...`.
        """
        names = self.names or (() if self.is_count else self.terms.names)
        units = {name: unit_in_name(name).scale for name in names}
        others = [folded(name) for name, scale in units.items() if scale == 1]
        text = " ".join([self.folded_question, *others])
        parts = re.findall(r"(?<![\d.,] )(?<![\d.,])(?<!per )\b[^\W\d_]{3,}", text)
        scales = {read_unit(f"{part} x").scale for part in parts if len(part) < 20}
        return frozenset(scales - {1, 12, 100}) | {*units.values(), *self.column_scales} - {1}

    @cached_property
    def is_count(self) -> bool:
        """Whether the question asks how many things there are."""
        return _HOW_MANY.search(self.folded_question) is not None

    @cached_property
    def is_in_percent(self) -> bool:
        """Whether the question asks for a percentage."""
        return _PERCENT.search(self.folded_question) is not None

    def explains(self, noun: str) -> bool:
        """Return whether a noun behind a number says only what is counted."""
        parts = [word for word in words(noun) if word not in MEASURE_VERBS]
        is_noun = noun[:1].isalpha() and (len(noun) > 2 or not noun.isascii())
        is_other = is_bounded(noun, 0, 0) or is_question(noun) or counts_rows(noun, self.words)
        if not is_noun or is_other or not 0 < len(parts) <= _LONGEST_NOUN:
            return False
        # `How many are there?` asks for nothing that only a column's name mentions.
        question = words(self.folded_question) if self.is_count else self.words
        return all(part in COUNTED for part in parts) or not unexplained(parts, question)

    def names_unit(self, unit: str) -> bool:
        """Return whether the question contains a unit, or asks for it: `How old`, for years."""
        parts = words(unit)
        return bool(parts) and not unexplained(parts, self.words)


def compared(reply: Quantity, expected: Quantity, around: Surroundings) -> Decision:
    """Decide whether a number is the expected one; its unit may be missing, but not different."""
    comparison = f"read {written(reply)}, expected {written(expected)}"
    tolerance, percent = around.terms.tolerance.strip(), around.terms.percent
    room = Fraction(tolerance.removesuffix("%") or 0)
    if tolerance.endswith("%"):
        room *= abs(expected.value) / 100
    name = expected.unit or around.column.name
    value, scale = expected.value, expected.scale
    is_bare = not reply.unit and reply.scale == 1
    if percent and not expected.unit:
        if percent == "share":
            if is_bare and abs(reply.value - value) <= room:
                return RIGHT
            value, room = value * 100, room * 100
        name = "%"
    if is_bare and reply.is_ratio and not expected.is_ratio and name in RATIOS:
        is_near = abs(reply.value * RATIOS[name] - value) <= room
        return RIGHT if is_near else wrong(comparison)
    scales = around.scales if scale == 1 else frozenset()
    factors = {scale, *scales}
    if is_bare:
        is_near = any(abs(reply.value - value * size) <= room * size for size in factors)
        return RIGHT if is_near else wrong(comparison)
    number, doubt = reply.size, None
    if (
        reply.unit
        and reply.unit != name
        and (name or around.is_count or reply.unit not in around.units)
    ):
        is_asked = around.is_in_percent and reply.unit == "%" and not name
        if is_asked and abs(number - value) <= room:
            return RIGHT
        outcome = _in_unit(number, reply.unit, name, around)
        if isinstance(outcome, Decision):
            doubt = outcome
        else:
            number = outcome
    is_near = any(abs(number - value * size) <= room * size for size in factors)
    is_scaled = any(abs(number - value * size) <= room * size for size in scales)
    if is_near and not is_scaled and not expected.unit and around.column_scales & scales:
        # `$513` is the cell with its currency, or an amount without the column's millions.
        doubt = unclear(f"{comparison} in units of {min(around.column_scales):,}")
    return (doubt or RIGHT) if is_near else wrong(comparison)


def _in_unit(number: Fraction, unit: str, target: str, around: Surroundings) -> Fraction | Decision:
    """Return a number in the expected unit, or the decision if its unit is another one."""
    if unit in RATIOS and not target:
        return number / RATIOS[unit]
    if (other := converted(number, unit, target)) is not None:
        return other
    another = f"unit {unit} where {target or 'none'} was expected"
    if is_currency(unit):
        return _in_currency(number, unit, target, around, another)
    if is_known(unit):
        fits = not target and around.names_unit(unit)
        return number if fits else wrong(another)
    if around.explains(unit) and (not target or not is_currency(target) or unit in COUNTED):
        return number
    return unclear(another)


def _in_currency(
    number: Fraction, unit: str, target: str, around: Surroundings, another: str
) -> Fraction | Decision:
    if target and (is_known(target) or target in RATIOS):
        # A sign such as `$` is also short for another dollar.
        is_dollar = same_currency("dollar", target) and same_currency("dollar", unit)
        return unclear(another) if is_dollar and unit == "USD" else wrong(another)
    if around.is_count and not around.names_unit(unit) and not _names_currency(unit, around):
        return unclear(another)
    if around.currencies:
        fits = any(same_currency(unit, name) for name in around.currencies)
        return number if fits else wrong(f"unit {unit} where {min(around.currencies)} was expected")
    return unclear(another) if target else number


def _names_currency(unit: str, around: Surroundings) -> bool:
    """Return whether a question names a currency: `How many euros ...`."""
    return any(same_currency(unit, unit_name(part)) for part in around.folded_question.split())


def written(number: Quantity) -> str:
    """Return a number for readers: `12500`, `1.5 million kg`."""
    value = number.size
    digits = str(value) if value.denominator == 1 else f"{float(value):.12g}"
    if len(digits) > 40:
        digits = f"{float(value):.6g}"
    unit = number.unit[:30]
    return f"{digits}{'' if unit in {'', '%', '‰'} else ' '}{unit}"


def sizes_in(text: str, decimal: str) -> set[Fraction]:
    """Return the sizes, without sign and unit, of all numbers of a folded text in any reading."""
    other = "," if decimal == "." else "."
    return {
        abs(size)
        for sign in (decimal, other)
        for *_, number in numbers_in(text, sign)
        for size in (number.value, number.size)
    }
