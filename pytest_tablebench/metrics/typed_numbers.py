"""Numbers with their units, read in the format of a table's column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pytest_tablebench.metrics._typed_text import CJK, folded, words
from pytest_tablebench.metrics._typed_units import Unit, converted, is_known, read_unit, unit_name

_LONGEST = 200
"""Characters of the longest text that is read as a number."""

_POWER = (
    r"(?:\s?[×x*·]\s?10\s?(?:\^|\*\*)\s?\{?(?P<power>[-+]?\d{1,3})\}?|e(?P<e>[-+]?\d{1,3})(?!\w))"
)
_BEFORE = r"(?:us\$|[$€£¥₹]|[a-z]{3}(?=[\s\d-]))"
_SHAPE = re.compile(
    rf"(?P<sign>[-+]?)\s?(?P<before>{_BEFORE}?)\s?(?P<sign2>[-+]?)\s?"
    rf"(?P<number>[.,]?\d(?:[\d.,' ]*\d)?){_POWER}?(?P<after>.*)",
    re.DOTALL | re.IGNORECASE,
)
_MINUS = re.compile(r"(?:minus|negative|moins|负|零下)\s?(?=[\d$€£¥₹.])")
_BRACKETS = re.compile(r"\((\s*(?:[$€£¥₹]|[a-z]{3}\s)?\s?[\d.,' ]*\d\s*%?)\)\s*(.*)", re.IGNORECASE)
_PERCENT_OF = re.compile(r"百分之\s?(?=[\d.])")
# A unit has digits only as the power of a letter, or in a formula: `km2`, `t CO2`.
_AFTER = re.compile(r"\s?(?:[^\d]|(?<=[^\W\d])[23]|(?<=[^\W\d]\^)-?\d|(?<=[^\W\d])-\d)*")
_LATIN = "a-z\u00df-\u024f"
_IN_TEXT = re.compile(
    rf"(?<![{_LATIN}\d_])(?<![{_LATIN}\d][-.,/:'^])(?:(?<=[\s(\[=:])-|^-|\+)?"
    rf"(?:(?:us\$|[$€£¥₹])\s?|\b[a-z]{{3}}\s(?=[-\d]))?-?(?:\d[\d.,']*(?<![.,'])(?:\s\d{{3}}(?!\d))*(?:,\d+)?|[.,]\d+)"
    rf"(?:\s?[×x*·]\s?10\s?(?:\^|\*\*)\s?\{{?[-+]?\d{{1,3}}\}}?|e[-+]?\d{{1,3}}(?!\w))?"
    r"(?![-/:]\d|\d)"
)
_TAIL = re.compile(r"\s?([^\s\d(),;:!?。，；、（）]{1,24}(?:\s[^\s\d(),;:!?]{1,24}){0,2})")
_SUM = re.compile(r"(?:[$€£]?[\d.,]+%?)(?:\s?[-+*/×÷]\s?[$€£]?[\d.,]+%?)+(?:\s[^\W\d]+)?\s?=")
_CHINESE_NUMBER = re.compile("[零〇一二两三四五六七八九十百千万亿]{1,12}")
_SPOKEN = ("en", "de", "fr")
_RANK = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")


@dataclass(frozen=True)
class Quantity:
    """A number, its unit, and its factor in words: `1.5 million` has the scale 10**6."""

    value: Fraction
    unit: str = ""
    scale: int = 1


@lru_cache(maxsize=20_000)
def read_quantity(text: str, decimal: str = ".") -> Quantity | None:
    """Return the number that a whole text is, with its unit; None for any other text.

    Arguments:
        text: `1,234.5`, `(1,200)`, `-3 kg`, `25 %`, `$5`, `1.5e3`, `1.5 million`, `twelve`.
        decimal: the decimal sign of the column, "." or ","; the other sign separates thousands. A
            single sign that cannot separate thousands is a decimal sign, too.
    """
    if len(text) > _LONGEST:
        return None
    plain = _plain(text)
    if not any(sign.isdigit() for sign in plain):
        return _spoken(plain)
    sign = -1 if (negative := _BRACKETS.fullmatch(plain)) else 1
    if negative is not None:
        plain = f"{negative[1].strip()} {negative[2]}".strip()
    match = _SHAPE.fullmatch(plain)
    if match is None or not _AFTER.fullmatch(match["after"]):
        return None
    value = _value(match["number"], decimal)
    before, after = match["before"].strip(), match["after"].strip()
    if value is None or (before and not is_known(_code(before))):
        return None
    if match["sign"] and match["sign2"]:
        return None
    if "-" in (match["sign"], match["sign2"]):
        sign = -sign
    value *= sign * Fraction(10) ** int(match["power"] or match["e"] or 0)
    unit = _unit(before, after, text)
    return Quantity(value, unit.name, unit.scale)


def _plain(text: str) -> str:
    plain = folded(text)
    if "百分之" in plain:
        plain = _PERCENT_OF.sub("", plain) + "%"
    return _MINUS.sub("-", plain)


def _code(text: str) -> str:
    return text.upper() if len(text) == 3 and text.isalpha() else text


def _unit(before: str, after: str, text: str) -> Unit:
    # Case matters here: M is a million, m a metre, CHF a currency.
    written = " ".join(text.split())
    if after and written.casefold().endswith(after):
        after = written[-len(after) :]
    unit = read_unit(after)
    if not before:
        return unit
    name = unit_name(_code(before))
    return Unit(name if unit.name in {"", name} else f"{name} {unit.name}", unit.scale)


def _value(text: str, decimal: str) -> Fraction | None:
    thousands = "," if decimal == "." else "."
    d, t = re.escape(decimal), re.escape(thousands)
    usual = (
        rf"(?:\d{{1,3}}(?:{t}\d{{3}})+|\d{{1,2}}(?:{t}\d{{2}})+{t}\d{{3}}"
        rf"|\d{{1,3}}(?:[ ']\d{{3}})+|\d*)(?:{d}\d+)?"
    )
    if re.fullmatch(usual, text):
        return _fraction(re.sub(rf"[ '{t}]", "", text).replace(decimal, "."))
    # With blanks or apostrophes between thousands, either sign can be the decimal sign.
    if re.fullmatch(rf"\d{{1,3}}(?:[ ']\d{{3}})+{t}\d+", text):
        return _fraction(re.sub("[ ']", "", text).replace(thousands, "."))
    # Thousands come in threes, and not after a zero, so the sign is a decimal sign.
    if re.fullmatch(rf"\d+{t}(?:\d{{1,2}}|\d{{4,}})|(?:0|\d{{4,}}){t}\d+", text):
        return _fraction(text.replace(thousands, "."))
    return None


def _fraction(text: str) -> Fraction | None:
    return Fraction(text if text[0] != "." else f"0{text}") if text else None


def _spoken(plain: str) -> Quantity | None:
    """Return a number in words with its unit: `twelve products`."""
    if len(plain) > 60:
        return None
    sign = 1
    if chinese := _CHINESE_NUMBER.match(plain):
        value = _chinese_number(chinese[0])
        unit = read_unit(plain[chinese.end() :])
        return None if value is None else Quantity(Fraction(value), unit.name)
    for word in ("minus ", "negative ", "moins "):
        if plain.startswith(word):
            sign, plain = -1, plain.removeprefix(word)
    parts = plain.split(" ")
    for length in range(min(len(parts), 5), 0, -1):
        value = _number_of_words(" ".join(parts[:length]))
        if value is not None:
            unit = read_unit(" ".join(parts[length:]))
            return Quantity(Fraction(sign * value), unit.name, unit.scale)
    return None


@lru_cache(maxsize=1024)
def _number_of_words(text: str) -> int | None:
    if not text.replace("-", "").replace(" ", "").isalpha() or not text.islower():
        return None
    from text_to_num import text2num

    for language in _SPOKEN:
        try:
            return int(text2num(text, language))
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _chinese_number(text: str) -> int | None:
    digits = {sign: place for place, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
    total = part = digit = 0
    for sign in text:
        if sign in digits:
            if digit:
                return None
            digit = digits[sign]
        elif sign in "十百千":
            part += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[sign]
            digit = 0
        else:
            total = (total + part + digit) * {"万": 10**4, "亿": 10**8}[sign]
            part = digit = 0
    return total + part + digit


def numbers_in(text: str, decimal: str = ".") -> Iterator[tuple[int, int, Quantity]]:
    """Yield (start, end, quantity) of the numbers of a folded text; of sums only the results.

    A number inside a name (`A-17`), a range or a time of day does not count.
    """
    text = _MINUS.sub(lambda match: " " * (len(match[0]) - 1) + "-", text)
    text = _RANK.sub(lambda match: " " * len(match[0]), text)
    text = _SUM.sub(lambda match: " " * len(match[0]), text)
    for match in _IN_TEXT.finditer(text):
        written, end = match[0], match.end()
        unit = Unit()
        tail = _TAIL.match(text, end)
        if tail is not None:
            unit, length = _leading_unit(tail[1])
            end = tail.start(1) + length if length else end
        start = match.start()
        if written[:3].isalpha() and not is_known(written[:3].upper()):
            start, written = start + 4, written[4:]  # `row 2` has no currency
        if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
            written = f"({written.strip()})"
        number = read_quantity(written, decimal)
        if number is not None:
            name = number.unit if unit.name in {"", number.unit} else unit.name
            yield start, end, Quantity(number.value, name, unit.scale)


def _leading_unit(text: str) -> tuple[Unit, int]:
    """Return the longest unit at the start of a text, and its length."""
    ends = list(range(min(len(text), 5), 0, -1))
    if not re.match(rf"[%‰°]?[{CJK}]", text):
        ends = sorted({len(text), *(match.start() for match in re.finditer(r"\s", text))})[::-1]
    for end in ends:
        part = text[:end].rstrip(".,。")
        unit = read_unit(part)
        if is_known(part) or (unit.scale != 1 and is_known(unit.name)):
            return unit, len(part)
        if unit.scale != 1 and " " not in part and not unit.name:
            return unit, len(part)
    first = read_unit(re.split(rf"\s|(?<=[{CJK}])", text)[0])
    return (Unit("", first.scale), 1) if first.scale != 1 else (Unit(), 0)


def with_digits(text: str) -> str:
    """Return a folded text with its numbers in words above one as digits: `three` as `3`."""
    from text_to_num import alpha2digit

    for language in _SPOKEN:
        if (other := alpha2digit(text, language, threshold=1)) != text:
            return str(other)
    return text


def same_quantity(
    reply: Quantity,
    expected: Quantity,
    *,
    unit: str,
    tolerance: str,
    percent: str = "",
    question: str = "",
    units: Collection[str] = (),
) -> bool:
    """Return whether a number is the expected one; its unit may be missing, but not different.

    Arguments:
        reply: the number of the reply.
        expected: the expected number.
        unit: of the expected number, if its text has none.
        tolerance: the largest difference: `0.5`, or `2%` of the expected number; "" for none.
        percent: for a column in percent and an answer without the sign: "points" for 37.5, "share"
            for 0.375.
        question: a noun of the question may follow the number.
        units: of the table's columns, for an expected number without a unit.
    """
    room = Fraction(tolerance.strip().removesuffix("%") or 0)
    if tolerance.strip().endswith("%"):
        room *= abs(expected.value) / 100
    column = read_unit(unit) if unit else Unit()
    name = expected.unit or column.name
    value, scale = expected.value, expected.scale
    is_bare = not reply.unit and reply.scale == 1
    if percent and not expected.unit:
        if percent == "share":
            if is_bare and _near(reply.value, value, room):
                return True
            value, room = value * 100, room * 100
        name = "%"
    if is_bare:
        scales = {scale, scale * (column.scale if scale == 1 else 1)}
        return any(_near(reply.value, value * size, room * size) for size in scales)
    whole = scale if scale != 1 else column.scale
    number = reply.value * reply.scale
    if reply.unit and reply.unit != name and (name or reply.unit not in units):
        number_in = _in_unit(number, reply.unit, name, question)
        if number_in is None:
            return False
        number = number_in
    return _near(number, value * whole, room * whole)


def _in_unit(number: Fraction, unit: str, target: str, question: str) -> Fraction | None:
    if unit == "%" and not target:
        return number / 100
    if (other := converted(number, unit, target)) is not None:
        return other
    nouns: Collection[str] = words(unit)
    if nouns and not (target and is_known(unit)) and (not is_known(unit) or not target):
        question_text = folded(question)
        if question_text and all(noun in question_text for noun in nouns):
            return number
    return None


def _near(number: Fraction, expected: Fraction, room: Fraction) -> bool:
    return abs(number - expected) <= room
