"""The currency and power of ten in a column's name: `Revenue ($ in millions)`, `千元`, `USD m`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from pytest_tablebench.metrics._typed_text import folded
from pytest_tablebench.metrics._typed_unit_names import LETTERS, MONEY_LETTERS
from pytest_tablebench.metrics._typed_units import (
    CJK_SCALE,
    Unit,
    is_currency,
    read_unit,
    scale_of,
    unit_name,
)

_LONGEST = 200
_BRACKETS = re.compile(r"[(\[（【]([^()\[\]（）【】]{1,80})[)\]）】]")
_TOKEN = re.compile(r"[^\s,;:，；：、/|_()\[\]（）【】-]+")
_DIGITS = re.compile(r"[x×]?['’]?1?(000(?:000)?)(['’]?s)?")
"""`000s`, `'000`, `1000`: thousands; with six zeros millions."""

_FILLERS = frozenset(
    {"in", "of", "en", "de", "des", "di", "von", "em", "the", "в", "x", "×", "unit", "units"}
    | {"单位", "單位", "単位", "단위", "einheit", "figures", "amounts"}
)
_PER = frozenset({"per", "pro", "par", "por", "je", "a"})
_SIGN = r"(?:[A-Za-z]{0,3}[$¢£¥€₠-₿]|[A-Z]{3}|kr|zł|Kč)"
_BEFORE = re.compile(rf"(?P<sign>{_SIGN})(?P<power>['’]?[A-Za-z0]{{1,4}}\.?(?:['’]s)?)")
_BEHIND = re.compile(rf"(?P<power>[A-Za-z]{{1,3}}\.?)(?P<sign>{_SIGN})")
_CJK_MONEY = re.compile(rf"({CJK_SCALE.pattern})([^\W\d]{{1,3}})$")
_SCALES = {
    **dict.fromkeys(("mds", "md", "mlrd"), 10**9),
    **dict.fromkeys(("mill", "mills", "milj"), 10**6),
    **dict.fromkeys(("ths", "th", "thous"), 10**3),
    **dict.fromkeys(("milliers", "milhares", "migliaia", "tausende", "duizenden"), 10**3),
    **dict.fromkeys(("cr", "crs"), 10**7),
    **dict.fromkeys(("lac", "lacs"), 10**5),
}
"""Powers of ten that occur in names of columns, and seldom behind numbers."""


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
        if unit.scale != 1 and (unit.name or is_word or tokens[start] in _FILLERS):
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
    for place, token in enumerate(tokens):
        if folded(token) == "miles" and (is_money or tokens[place + 1 : place + 2] == ["de"]):
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
    if plain in _FILLERS:
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
    return _SCALES.get(plain) or (scale_of(plain) if len(plain) > 1 else None)
