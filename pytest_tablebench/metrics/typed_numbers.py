"""Numbers with their units, read in the format of a table's column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from pytest_tablebench.metrics._typed_digits import (
    fractions_as_digits,
    number_in_words,
    value_of,
    without_cjk_sums,
)
from pytest_tablebench.metrics._typed_text import CJK, folded
from pytest_tablebench.metrics._typed_units import (
    Unit,
    converted,
    is_currency,
    is_known,
    read_unit,
    unit_name,
)
from pytest_tablebench.metrics._typed_words import MONEY_LETTERS

_LONGEST = 200
"""Characters of the longest text that is read as a number."""

_POWER = (
    r"(?:\s?[×x*·]\s?10\s?(?:\^|\*\*)\s?\{?(?P<power>[-+]?\d{1,3})\}?|e(?P<e>[-+]?\d{1,3})(?!\w))"
)
_SIGN = "$¢£¤¥֏؋৳฿៛₠-₿﷼"
_BEFORE = rf"(?:[a-z]{{1,3}}\$|[{_SIGN}]|[^\W\d_]{{2,3}}\.?(?=[\s\d-])|s/)"
_SHAPE = re.compile(
    rf"(?P<sign>[-+]?)\s?(?P<before>{_BEFORE}?)\s?(?P<sign2>[-+]?)\s?"
    rf"(?P<number>[.,]?\d(?:[\d.,'_ ]*\d)?){_POWER}?(?P<after>.*)",
    re.DOTALL | re.IGNORECASE,
)
_RATIO = re.compile(
    rf"(?P<sign>[-+]?)\s?(?P<before>{_BEFORE}?)\s?(?P<sign2>[-+]?)"
    r"(?:(?P<whole>\d{1,9})(?: | and |-))?"
    r"(?P<number>(?!0)\d{1,9})\s?/\s?(?P<below>(?!0)\d{1,9})(?P<after>(?![\d/.,]).*|)",
    re.DOTALL,
)
_DATE = re.compile(r"0?\d{1,2}\s?/\s?(?:19|20)\d\d|(?:19|20)\d\d\s?/\s?\d{2,4}")
"""A month of a year or a season, which is no fraction: `3/2024`, `2019/20`."""

_MINUS = re.compile(rf"(?:minus|negative|moins|menos|meno|负|零下|マイナス)\s?(?=[\d{_SIGN}.])")
_BRACKETS = re.compile(
    rf"\((\s*(?:[{_SIGN}]|[a-z]{{3}}\s)?\s?[\d.,' ]*\d\s*%?)\)\s*(.*)", re.IGNORECASE
)
_PERCENT_OF = re.compile(r"(?:百|千)分之\s?")
# A unit has digits only as the power of a letter, or in a formula: `km2`, `t CO2`.
_AFTER = re.compile(r"\s?(?:[^\d]|(?<=[^\W\d])[23]|(?<=[^\W\d]\^)-?\d|(?<=[^\W\d])-\d)*")
_COMPOUND = re.compile(r"(\d[\d.,]*)\s?([^\W\d_]+\.?)(?:,? (?:and |und |et |y |e )?)?")
_COMPOUNDS = re.compile(
    r"(?<![\w.,])\d[\d.,]*\s?[^\W\d_]{1,12}\.?"
    r"(?:,? (?:and |und |et |y |e )?\d[\d.,]*\s?[^\W\d_]{1,12}\.?(?!\w)){1,3}"
)
_LATIN = "a-z\u00df-\u024f"
_IN_TEXT = re.compile(
    rf"(?<![{_LATIN}\d_])(?<![{_LATIN}\d][-.,/:'^])(?:(?<=[\s(\[=:])-|^-|\+)?"
    rf"(?:(?:[a-z]{{1,3}}\$|[{_SIGN}])\s?|\b[^\W\d_]{{2,3}}\.?\s(?=[-\d]))?-?"
    r"(?:(?:\d{1,9} )?(?!0)\d{1,9}\s?/\s?(?!0)\d{1,9}(?![-/:.,]?\d)"
    r"|(?:\d[\d.,']*(?<![.,'])(?:\s\d{3}(?!\d))*(?:,\d+)?|[.,]\d+)"
    r"(?:\s?[×x*·]\s?10\s?(?:\^|\*\*)\s?\{?[-+]?\d{1,3}\}?|e[-+]?\d{1,3}(?!\w))?"
    r"(?![-/:]\d|\d))"
)
_SIGN_OF_UNIT = r"(?:[^\s\d(),;:!?。，；、（）]|(?:(?<=[^\W\d])|(?<=[^\W\d]\^))[23](?![.,]?\d))"
_TAIL = re.compile(rf"\s?({_SIGN_OF_UNIT}{{1,24}}(?:\s{_SIGN_OF_UNIT}{{1,24}}){{0,2}})")
_TERM = rf"[({{]?[{_SIGN}]?[\d.,]++%?[)}}]?"
_LAST_TERM = _TERM.replace("++", "+")  # its trailing comma may belong to the sentence
_SUM = re.compile(rf"{_TERM}(?:\s?[-+*/×÷·]\s?{_TERM})*+(?:\s[^\W\d]+)?\s?[=≈]")
_SUM_IN_WORDS = re.compile(
    rf"{_TERM}(?:\s?(?:[-+*/×÷·]|plus|minus|times|divided by|and|und|et|y)\s?{_TERM})++"
    r"\s(?:is|are|gives?|makes?|equals?|ergeben|ergibt|ist|sind|font|fait|égale?|son)\b"
)
_RESULT_FIRST = re.compile(rf"({_TERM})\s?=\s?{_TERM}(?:\s?[-+*/×÷·]\s?{_LAST_TERM})+(?!\s?[\d=≈])")
_RANK = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")


_POINTS_BETWEEN_THOUSANDS = frozenset(
    {"IDR", "VND", "CLP", "COP", "PYG", "ARS", "BRL", "TRY", "DKK", "ISK", "kr", "peso", "KRW"}
)
"""Currencies of countries that write `5.000` for five thousand."""


@dataclass(frozen=True)
class Quantity:
    """A number, its unit, and its factor in words: `1.5 million` has the scale 10**6.

    `is_ratio` is true for a fraction such as `1/2`, which is 50%.
    """

    value: Fraction
    unit: str = ""
    scale: int = 1
    is_ratio: bool = False

    @property
    def size(self) -> Fraction:
        """The number with its scale."""
        return self.value * self.scale


@lru_cache(maxsize=20_000)
def read_quantity(text: str, decimal: str = ".") -> Quantity | None:
    """Return the number that a whole text is, with its unit; None for any other text.

    Arguments:
        text: `1,234.5`, `(1,200)`, `-3 kg`, `25 %`, `$5`, `1.5e3`, `1.5 million`, `2 1/2`,
            `1 h 30 min`, `twelve`.
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
    match = _RATIO.fullmatch(plain) if "/" in plain else None
    if match is None or _DATE.fullmatch(plain):
        match = _SHAPE.fullmatch(plain)
    if match is None:
        return None
    if not _AFTER.fullmatch(match["after"]):
        return None if match["before"] or match["sign"] else _compound(plain, decimal)
    before, after = match["before"].strip(), match["after"].strip()
    if before and not is_currency(unit_name(_code(before))):
        return None
    unit = _unit(before, after, text)
    value = _value(match, unit, decimal)
    if value is None or (match["sign"] and match["sign2"]):
        return None
    if "-" in (match["sign"], match["sign2"]):
        sign = -sign
    return Quantity(sign * value, unit.name, unit.scale, "below" in match.groupdict())


def _value(match: re.Match[str], unit: Unit, decimal: str) -> Fraction | None:
    parts = match.groupdict()
    if below := parts.get("below"):
        return int(parts["whole"] or 0) + Fraction(int(parts["number"]), int(below))
    if unit.name in _POINTS_BETWEEN_THOUSANDS and re.fullmatch(r"\d{1,3}\.\d{3}", parts["number"]):
        decimal = ","
    value = value_of(parts["number"], decimal)
    power = int(parts["power"] or parts["e"] or 0)
    return value if value is None or not power else value * Fraction(10) ** power


def _plain(text: str) -> str:
    plain = without_cjk_sums(folded(text))
    if "分之" in plain:
        sign = "‰" if "千分之" in plain else "%"
        plain = _PERCENT_OF.sub("", plain)
        words = None if plain[:1].isdigit() else number_in_words(plain)
        plain = f"{words[0]}{words[1]}{sign}" if words else plain + sign
    return _MINUS.sub("-", plain)


def _code(text: str) -> str:
    return text.upper() if len(text) == 3 and text.isalpha() and text.isascii() else text


def _unit(before: str, after: str, text: str) -> Unit:
    # Case matters here: M is a million, m a metre, CHF a currency.
    written = " ".join(text.split())
    if after and written.casefold().endswith(after):
        after = written[-len(after) :]
    if not before:
        return read_unit(after)
    name = unit_name(_code(before))
    if scale := MONEY_LETTERS.get(after.casefold()):
        return Unit(name, scale)
    unit = read_unit(after)
    return Unit(name if unit.name in {"", name} else f"{name} {unit.name}", unit.scale)


def _compound(plain: str, decimal: str) -> Quantity | None:
    """Return the sum of a compound such as `1 h 30 min`, in its last unit."""
    total, last, position = Fraction(0), "", 0
    for match in _COMPOUND.finditer(plain):
        value, unit = value_of(match[1].rstrip(".,"), decimal), unit_name(match[2])
        if unit == "m" and converted_one(last, "h"):  # `1h30m`
            unit = "min"
        if match.start() != position or value is None or not is_known(match[2]):
            return None
        position = match.end()
        former = converted(total, last, unit) if last else Fraction(0)
        # Parts become smaller, and each is less than one of the part before it.
        if former is None or unit == last or (last and value >= (converted_one(last, unit) or 0)):
            return None
        total, last = former + value, unit
    return Quantity(total, last) if position == len(plain) and last else None


def _summed(match: re.Match[str]) -> str:
    """Return a compound in its last unit, any other text unchanged."""
    total = _compound(match[0].rstrip("."), ".")
    if total is None or total.value.denominator != 1:
        return match[0]
    return f"{total.value} {total.unit}"


def converted_one(name: str, target: str) -> Fraction | None:
    """Return how many of the target unit one unit is."""
    return converted(Fraction(1), name, target)


def _spoken(plain: str) -> Quantity | None:
    """Return a number in words with its unit: `twelve products`, `two and a half`."""
    if len(plain) > 60:
        return None
    sign = 1
    for word in ("minus ", "negative ", "moins ", "menos ", "meno "):
        if plain.startswith(word):
            sign, plain = -1, plain.removeprefix(word)
    digits = fractions_as_digits(plain)
    if digits != plain:
        number = read_quantity(digits)
        return None if number is None else replace(number, value=sign * number.value)
    spoken = {"half": Fraction(1, 2), "die hälfte": Fraction(1, 2), "la moitié": Fraction(1, 2)}
    if plain in spoken:
        return Quantity(spoken[plain], is_ratio=True)
    if (words := number_in_words(plain)) is None:
        return None
    unit = read_unit(words[1])
    return Quantity(sign * words[0], unit.name, unit.scale)


def without_compounds(text: str) -> str:
    """Return a folded text with `1亿2000万` and `1 h 30 min` as one number each."""
    return _COMPOUNDS.sub(_summed, without_cjk_sums(text))


def plain_numbers(text: str) -> str:
    """Return a folded sentence without what hides its numbers: ranks, and the terms of sums.

    The length changes only at numbers such as `1亿2000万` and `1 h 30 min`.
    """
    text = without_compounds(text)
    text = _MINUS.sub(lambda match: " " * (len(match[0]) - 1) + "-", text)
    text = _RANK.sub(lambda match: " " * len(match[0]), text)
    if "=" in text or "≈" in text:
        text = _RESULT_FIRST.sub(lambda match: match[1].ljust(len(match[0])), text)
        text = _SUM.sub(lambda match: " " * (len(match[0]) - 1) + match[0][-1], text)
    return _SUM_IN_WORDS.sub(lambda match: " " * len(match[0]), text)


def numbers_in(text: str, decimal: str = ".") -> Iterator[tuple[int, int, Quantity]]:
    """Yield (start, end, quantity) of the numbers of a folded text; of sums only the results.

    A number inside a name (`A-17`), a range or a time of day does not count. The positions are
    those in `plain_numbers(text)`.
    """
    text = plain_numbers(text)
    for match in _IN_TEXT.finditer(text):
        written, end = match[0], match.end()
        if "/" in written and _DATE.fullmatch(written.strip()):
            continue
        unit = Unit()
        tail = _TAIL.match(text, end)
        if tail is not None:
            unit, length = _leading_unit(tail[1])
            end = tail.start(1) + length if length else end
        start = match.start()
        code = re.match(r"([^\W\d_]{2,3}\.?)\s", written)
        if code and not is_currency(unit_name(_code(code[1]))):
            start, written = start + code.end(), written[code.end() :]  # `row 2` has no currency
        if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
            written = f"({written.strip()})"
        number = read_quantity(written, decimal)
        if number is not None:
            if is_currency(number.unit) and (size := MONEY_LETTERS.get(text[match.end() : end])):
                unit = Unit("", size)
            name = number.unit if unit.name in {"", number.unit} else unit.name
            yield start, end, replace(number, unit=name, scale=unit.scale)


def _leading_unit(text: str) -> tuple[Unit, int]:
    """Return the longest unit at the start of a text, and its length."""
    ends: Sequence[int] = range(min(len(text), 6), 0, -1)
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
