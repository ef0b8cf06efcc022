"""Perturbations that write numbers in another format or unit, in tables and answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.perturbations._base import Question, of_questions
from pytest_tablebench.tables.table import Table

_NUMBER = re.compile(r"-?(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d{0,29})(?:\.\d{1,30})?")
"""A number without leading zeros, which only codes have."""
_YEAR = re.compile(r"[12]\d{3}")


def _scientific(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits))
    power = len(text) - 1 + int(exponent)
    rest = text[1:] if int(exponent) < 0 else text[1:].rstrip("0")
    return f"{'-' if sign else ''}{text[0]}{'.' if rest else ''}{rest}e{power}"


STYLES: dict[str, Callable[[Decimal], str]] = {
    "thousands": lambda value: f"{value:,f}",
    "plain": lambda value: f"{value:f}",
    "scientific": _scientific,
}

_UNITS: dict[str, tuple[str, int]] = {
    "km": ("m", 1000),
    "km²": ("m²", 1_000_000),
    "kg": ("g", 1000),
    "tonnes": ("kg", 1000),
    "hours": ("minutes", 60),
    "minutes": ("seconds", 60),
    "million": ("thousand", 1000),
    "millions": ("thousands", 1000),
    "billion": ("million", 1000),
    "billions": ("millions", 1000),
    "亿元": ("万元", 10_000),
    "万元": ("元", 10_000),
    "万人": ("人", 10_000),
    "公里": ("米", 1000),
    "千米": ("米", 1000),
    "吨": ("千克", 1000),
    "公斤": ("克", 1000),
    "千克": ("克", 1000),
    "小时": ("分钟", 60),
}
_BRACKETS = re.compile(r"[(（\[]([^()（）\[\]]*)[)）\]]")


@of_questions
def number_format(question: Question, *, seed: int = 0, style: str = "thousands") -> Question:  # noqa: ARG001
    """Write numbers as 1,000 (`thousands`), 1000 (`plain`) or 1e3 (`scientific`).

    Cells that are only a number are rewritten, except years and codes that begin with 0. An answer
    that is such a cell is rewritten too.
    """
    if style not in STYLES:
        raise SettingsError(f"style must be one of {', '.join(STYLES)}, not {style!r}")

    def write(cell: Cell) -> Cell:
        value = _value(cell)
        new = None if value is None else STYLES[style](value)
        return cell if new is None or new == str(cell) else new

    def columns(table: Table) -> dict[int, Callable[[Cell], Cell]]:
        return {n: write for n in range(len(table.header)) if not _is_years(_cells(table, n))}

    return _rewritten(question, columns)


@of_questions
def change_units(question: Question, *, seed: int = 0) -> Question:  # noqa: ARG001 - all share one signature
    """Convert columns of numbers to a smaller unit if the name has one in brackets: (km) to (m).

    Tables stay unchanged if this could change the meaning: the question contains a number or names
    the unit, or an answer is a number that is not in a cell.
    """
    units = {_unit(name) for table in question.tables for name in map(str, table.header)}
    names_unit = any(unit and unit in question.text for unit in units)
    if names_unit or re.search(r"\d", question.text):
        return question

    def columns(table: Table) -> dict[int, Callable[[Cell], Cell]]:
        return {
            n: _multiplied(_UNITS[unit][1], any("," in str(cell) for cell in _cells(table, n)))
            for n, unit in _convertible(table).items()
        }

    changed = _rewritten(question, columns)
    old = {str(cell) for table in question.tables for row in table.rows for cell in row}
    worked_out = [text for text in question.answers if text not in old and re.search(r"\d", text)]
    if worked_out:
        return question
    converted = _answers_in_their_unit(question, changed)
    if converted is None:
        return question
    tables = []
    for before, table in zip(question.tables, changed.tables, strict=True):
        new = {n: _renamed(str(table.header[n]), unit) for n, unit in _convertible(before).items()}
        header = tuple(new.get(n, name) for n, name in enumerate(table.header))
        tables.append(replace(table, header=header))
    return replace(converted, tables=tuple(tables))


def _answers_in_their_unit(before: Question, changed: Question) -> Question | None:
    """Return the changed question with the unit and tolerance of its answers converted.

    Return None if the answers are from columns with different conversions, if their unit differs
    from the column's, or if an alias contains a number.
    """
    units = {
        unit
        for table in before.tables
        for column, unit in _convertible(table).items()
        if any(str(cell) in before.answers for cell in _cells(table, column))
    }
    if not units:
        return changed
    numbers = (
        name for names in before.aliases.values() for name in names if re.search(r"\d", name)
    )
    if len(units) > 1 or any(numbers) or (before.unit and before.unit not in units):
        return None
    new_unit, factor = _UNITS[units.pop()]
    tolerance = before.tolerance
    if tolerance and not tolerance.endswith("%"):
        tolerance = _multiplied(factor, False)(tolerance)
    return replace(changed, unit=before.unit and new_unit, tolerance=tolerance)


def _convertible(table: Table) -> dict[int, str]:
    """Return the unit of each column that can be converted."""
    units = {}
    for column, name in enumerate(table.header):
        unit = _unit(str(name))
        cells = [cell for cell in _cells(table, column) if cell not in ("", None)]
        if unit and cells and all(_value(cell) is not None for cell in cells):
            units[column] = unit
    return units


def _unit(name: str) -> str:
    """Return the known unit in a column's name, or ""."""
    words = (word for inside in _BRACKETS.finditer(name) for word in inside[1].split())
    return next((word for word in words if word in _UNITS), "")


def _renamed(name: str, unit: str) -> str:
    pattern = rf"(?<![^\s(（\[]){re.escape(unit)}(?![^\s)）\]])"
    return re.sub(pattern, _UNITS[unit][0], name)


def _multiplied(factor: int, thousands: bool) -> Callable[[Cell], Cell]:
    def write(cell: Cell) -> Cell:
        value = _value(cell)
        if value is None:
            return cell
        text = f"{value * factor:,f}" if thousands else f"{value * factor:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    return write


def _rewritten(
    question: Question, columns: Callable[[Table], dict[int, Callable[[Cell], Cell]]]
) -> Question:
    """Rewrite columns, and the answers that are cells of them.

    If an answer would be rewritten in two ways, the question stays unchanged.
    """
    new_texts: dict[str, set[str]] = {}
    tables = []
    for table in question.tables:
        writers = columns(table)
        rows = []
        for row in table.rows:
            new = tuple(writers[n](cell) if n in writers else cell for n, cell in enumerate(row))
            rows.append(new)
            for before, after in zip(row, new, strict=True):
                new_texts.setdefault(str(before), set()).add(str(after))
        tables.append(replace(table, rows=tuple(rows)))
    if any(len(new_texts.get(text, ())) > 1 for text in question.answers):
        return question
    answers = {text: min(new_texts.get(text, {text})) for text in question.answers}
    return replace(question.with_answers(answers), tables=tuple(tables))


def _cells(table: Table, column: int) -> list[Cell]:
    return [row[column] for row in table.rows if column < len(row)]


def _value(cell: Cell) -> Decimal | None:
    """Return the value of a cell that is only a number, or None."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    text = str(cell)
    return Decimal(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def _is_years(cells: Iterable[Cell]) -> bool:
    texts = [str(cell) for cell in cells if cell not in ("", None)]
    return bool(texts) and all(_YEAR.fullmatch(text) for text in texts)
