"""The format of a table's column: its decimal sign, its order of day and month, its unit.

Verdicts, `tablebench check` and generated questions read a column by this one function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pytest_tablebench.metrics._typed_text import folded
from pytest_tablebench.metrics._typed_units import (
    CJK_SCALE,
    Unit,
    is_currency,
    read_unit,
    scale_of,
    unit_name,
)
from pytest_tablebench.metrics._typed_words import COLUMN_SCALES, FILLERS, LETTERS, MONEY_LETTERS

_LOOKED_AT = 1_000
"""The number of cells per column that are read."""

_NUMBER = re.compile(
    r"\D*?(?P<number>\d[\d.,]*(?:[ '\u2019\u00a0\u202f\u2009]\d{3})*(?:[.,]\d+)?)"
    r"(?:\D*|\D*[^\W\d_][23]\b)"
)
_DATE = re.compile(r"\d{1,4}\.\d{1,2}\.\d{2,4}")
_SLASHES = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{4}\b.*")


@dataclass(frozen=True)
class ColumnFormat:
    """How numbers and dates of columns are written.

    Arguments:
        decimal: the decimal sign, "." or ",".
        is_open: whether cells such as `12.500` can be read both ways, and no cell shows which.
        day_first: whether `5/3/2024` begins with the day; None if no date shows it.
    """

    decimal: Literal[".", ","] = "."
    is_open: bool = False
    day_first: bool | None = None


def column_format(
    columns: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]] = ()
) -> ColumnFormat:
    """Return the format of columns.

    Arguments:
        columns: the cells of the columns that are read together.
        others: the cells of further columns of the same tables. Their decimal sign counts if the
            columns themselves leave theirs open.
    """
    comma, point, is_open = _signs(columns)
    if not (comma or point) and is_open:
        comma, point, _ = _signs(others)
        is_open = comma == point
    decimal: Literal[".", ","] = "," if comma and not point else "."
    return ColumnFormat(decimal, is_open and not (comma or point), _day_first(columns))


def column_texts(columns: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the start of each text in the first cells of columns."""
    texts = (cell for cells in columns for cell in cells[:_LOOKED_AT] if isinstance(cell, str))
    return (text.strip()[:200] for text in texts)


def _signs(columns: Sequence[Sequence[Any]]) -> tuple[bool, bool, bool]:
    """Return whether cells show a decimal comma, a decimal point, and points of either kind."""
    comma = point = is_open = False
    for text in column_texts(columns):
        match = _NUMBER.fullmatch(text)
        if match is None or _DATE.search(text):
            continue
        sign = _decimal_sign(match["number"])
        comma, point = comma or sign == ",", point or sign == "."
        is_open = is_open or sign == "?"
    return comma, point, is_open


def _decimal_sign(number: str) -> str:
    """Return the decimal sign that a number shows; "?" for `12.500`, "" if it shows none."""
    signs = [sign for sign in number if sign in ".,"]
    if not signs or not number[-1].isdigit():
        return ""
    last = signs[-1]
    other = "." if last == "," else ","
    if other in signs:
        return last if signs.count(last) == 1 else ""
    if len(signs) > 1:
        return other if re.fullmatch(rf"\d{{1,3}}(?:\{last}\d{{3}})+", number) else ""
    if re.fullmatch(rf"[1-9]\d{{0,2}}\{last}\d{{3}}", number):
        # Few tables have three decimals after a comma, so `1,234` is not open.
        return "?" if last == "." else ""
    return last


def _day_first(columns: Sequence[Sequence[Any]]) -> bool | None:
    """Return whether dates such as `5/3/2024` begin with the day; None if no date shows it.

    A number above 12 is a day.
    """
    dates = [match for text in column_texts(columns) if (match := _SLASHES.fullmatch(text))]
    first = any(int(match[1]) > 12 for match in dates)
    second = any(int(match[2]) > 12 for match in dates)
    return first if first != second else None


_LONGEST = 200
_BRACKETS = re.compile(r"[(\[（【]([^()\[\]（）【】]{1,80})[)\]）】]")
_TOKEN = re.compile(r"[^\s,;:，；：、/|_()\[\]（）【】-]+")
_DIGITS = re.compile(r"[x×]?['’]?1?(000(?:000)?)(['’]?s)?")
"""`000s`, `'000`, `1000`: thousands; with six zeros millions."""

_PER = frozenset({"per", "pro", "par", "por", "je", "a"})
_SIGN = r"(?:[A-Za-z]{0,3}[$¢£¥€₠-₿]|[A-Z]{3}|kr|zł|Kč)"
_BEFORE = re.compile(rf"(?P<sign>{_SIGN})(?P<power>['’]?[A-Za-z0]{{1,4}}\.?(?:['’]s)?)")
_BEHIND = re.compile(rf"(?P<power>[A-Za-z]{{1,3}}\.?)(?P<sign>{_SIGN})")
_CJK_MONEY = re.compile(rf"({CJK_SCALE.pattern})([^\W\d]{{1,3}})$")


@lru_cache(maxsize=1024)
def unit_in_name(name: str) -> Unit:
    """Return the currency and power of ten in a column's name; without a power of ten `Unit()`."""
    name = name[:_LONGEST]
    for content in _BRACKETS.findall(name):
        unit = unit_in_brackets(content)
        if unit.scale != 1:
            return unit
    tokens = _tokens(_BRACKETS.sub(" ", name))
    for start in range(max(0, len(tokens) - 5), len(tokens)):
        if start and folded(tokens[start - 1]) in _PER:
            break
        unit = _joined(tokens[start:]) or Unit()
        # `Top 1000` and `Group M` have no power of ten, but `in 1000` and `$ M` have.
        is_word = any(
            (len(token) > 2 and not token.isdigit()) or token.casefold() in {"bn", "mn"}
            for token in tokens[start:]
        )
        if unit.scale != 1 and (unit.name or is_word or tokens[start] in FILLERS):
            return unit
    return Unit()


@lru_cache(maxsize=1024)
def unit_in_brackets(text: str) -> Unit:
    """Return the unit that a whole text names, such as a column's name has in brackets."""
    for part in (text, *re.split(r"[,;，；](?!\d)", text)):
        unit = _joined(_tokens(part))
        if unit is not None and unit != Unit():
            return unit
    return read_unit(re.sub(r"^(?:in|en|em)\s+", "", text.strip()))


def _tokens(text: str) -> list[str]:
    text = re.sub(r"(?<=\d)[,.'’](?=000)", "", text.strip())
    text = re.sub("十億|十亿|십억", "bn ", text)
    parts = (re.sub(r"^[dD]['’]", "", token) for token in _TOKEN.findall(text))
    return [part for part in parts if part]


def _joined(tokens: Sequence[str]) -> Unit | None:
    """Return the unit that tokens name together; None if one of them is another word."""
    names, scale = set(), 1
    is_money = any(unit and unit.name for unit in map(_atom, tokens))
    for index, token in enumerate(tokens):
        if folded(token) == "miles" and (is_money or tokens[index + 1 : index + 2] == ["de"]):
            unit: Unit | None = Unit("", 10**3)
        else:
            unit = _atom(token, is_money=is_money)
        if unit is None:
            return None
        if unit.name:
            names.add(unit.name)
        scale *= unit.scale
    if names == {"USD"} and any(folded(token).strip(".") == "mil" for token in tokens):
        scale = 10**6  # `$ mil` is English, `R$ mil` is Portuguese
    return Unit(names.pop() if names else "", scale) if len(names) < 2 else None


def _atom(token: str, *, is_money: bool = False) -> Unit | None:
    """Return what one token adds to a unit; None for any other word."""
    plain = folded(token).strip(".")
    if plain in FILLERS:
        return Unit()
    if is_currency(name := unit_name(token)):
        return Unit(name)
    if (scale := _power(token, is_money=is_money)) is not None:
        return Unit("", scale)
    if match := _CJK_MONEY.search(token):
        if is_currency(name := unit_name(match[2])):
            return Unit(name, read_unit(match[0]).scale)
        return None
    for match in (_BEFORE.fullmatch(token), _BEHIND.fullmatch(token)):
        if match is None or not is_currency(name := unit_name(match["sign"])):
            continue
        # `T€` are thousands, `$T` are trillions.
        is_german = match.re is _BEHIND and match["power"] in {"T", "t"}
        scale = 10**3 if is_german else _power(match["power"], is_money=True)
        if scale is not None:
            return Unit(name, scale)
    return None


def _power(word: str, *, is_money: bool) -> int | None:
    if digits := _DIGITS.fullmatch(word):
        return int(f"1{digits[1]}")
    plain = folded(word).strip(".")
    if power := re.fullmatch(r"[x×]?10\^(\d)", plain):
        return int("1" + "0" * int(power[1]))
    if is_money and plain in MONEY_LETTERS:
        return MONEY_LETTERS[plain]
    if CJK_SCALE.fullmatch(plain) or word in LETTERS:
        return read_unit(word).scale
    return COLUMN_SCALES.get(plain) or (scale_of(plain) if len(plain) > 1 else None)
