"""Excel's number formats: the text that a spreadsheet program shows for a cell's value.

The grammar is ECMA-376, part 1, section 18.8.31. Signs and month names are English, because a
workbook does not record the language of its author's program.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

from pytest_tablebench.tables import _date_formats as date_formats
from pytest_tablebench.tables._date_formats import Token, UnreadableFormatError, sections_of

_MOST_DECIMALS = 30
_GENERAL_DIGITS = 11
"""Characters of a number in the format General."""

_OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class _Section:
    """One of up to four parts of a format code; `[>=100]` is the condition (">=", 100)."""

    tokens: tuple[Token, ...]
    condition: tuple[str, Decimal] | None = None

    def accepts(self, value: Decimal) -> bool:
        if self.condition is None:
            return False
        sign, bound = self.condition
        return bool(_OPERATORS[sign](value, bound))

    @property
    def is_for_negatives(self) -> bool:
        """Whether only negative numbers meet the condition; they are shown without a sign."""
        if self.condition is None:
            return False
        sign, bound = self.condition
        return (sign in {"<", "<=", "="} and bound < 0) or (sign == "<" and bound == 0)


def shown_text(value: object, code: str) -> str | None:
    """Return the text that a spreadsheet program shows for a value with a format code.

    The value is a number, a text, a boolean, a date, a time or a duration, the code as in the
    workbook: `0.0%`, `#,##0.00 "euro"`, `dd.mm.yyyy`. Returns None for a format that is not
    supported or depends on the computer's settings (the short and the long date).
    """
    try:
        sections = _sections(code)
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return _shown_string(value, sections)
        if isinstance(value, dt.date | dt.time | dt.timedelta):
            return date_formats.shown_moment(value, sections[0].tokens, code)
        if isinstance(value, int | float):
            return _shown_number(value, sections)
    except (UnreadableFormatError, ArithmeticError, ValueError):
        return None
    return None


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[_Section, ...]:
    sections = []
    for tokens in sections_of(code):
        condition = None
        rest = []
        for token in tokens:
            match = _CONDITION.fullmatch(token.text) if token.kind == "bracket" else None
            if match:
                condition = match[1], Decimal(match[2])
            elif token.kind == "bracket":
                raise UnreadableFormatError(token.text)
            else:
                rest.append(token)
        sections.append(_Section(tuple(rest), condition))
    if len(sections) > 4:
        raise UnreadableFormatError(code)
    return tuple(sections)


def _shown_string(value: str, sections: Sequence[_Section]) -> str:
    """Return a shown text; a format changes it only in its fourth section, or one with `@`."""
    last = sections[-1].tokens
    if len(sections) < 4 and all(token.kind != "text" for token in last):
        return value
    return "".join(value if token.kind in {"text", "general"} else token.text for token in last)


def _shown_number(number: float, sections: Sequence[_Section]) -> str:
    value = Decimal(f"{number:.15g}")
    if not value.is_finite():
        raise UnreadableFormatError(str(number))
    section, is_absolute = _chosen(value, sections)
    if date_formats.has_date(section.tokens):
        raise UnreadableFormatError("a number that is no date")
    sign = "-" if value < 0 and not is_absolute else ""
    if not section.tokens:
        # An empty section hides its numbers; an empty format is General.
        return "" if len(sections) > 1 else sign + _general(abs(value))
    return (sign + _shown(abs(value), section.tokens)).strip()


def _chosen(value: Decimal, sections: Sequence[_Section]) -> tuple[_Section, bool]:
    """Return the section for a value, and whether it shows negative numbers without a sign."""
    numeric = sections[:3]
    if len(numeric) > 1 and all(token.kind == "text" for token in numeric[-1].tokens):
        numeric = numeric[:-1] if numeric[-1].tokens else numeric
    if any(section.condition for section in numeric):
        for section in numeric:
            if section.accepts(value):
                return section, section.is_for_negatives
        rest = [section for section in numeric if section.condition is None]
        if not rest:
            raise UnreadableFormatError("no section fits")
        # `[>=100]0;-0;0.0`: the first section without a condition is for negative numbers.
        if len(rest) == 2 and value < 0:
            return rest[0], True
        return rest[-1], len(numeric) == 2 and numeric[0].accepts(abs(value)) and value < 0
    if value > 0 or len(numeric) == 1:
        return numeric[0], False
    if value < 0:
        return numeric[1], True
    return (numeric[2] if len(numeric) > 2 else numeric[0]), False


def _shown(value: Decimal, tokens: Sequence[Token]) -> str:
    kinds = [token.kind for token in tokens]
    value *= Decimal(100) ** kinds.count("percent")
    if "general" in kinds or "text" in kinds:
        digits = _general(value)
        return "".join(digits if t.kind in {"general", "text"} else t.text for t in tokens)
    if "exponent" in kinds:
        return _scientific(value, tokens, kinds.index("exponent"))
    if "slash" in kinds:
        return _fraction(value, tokens, kinds.index("slash"))
    return _decimal(value, tokens)


def _general(value: Decimal) -> str:
    """Return a positive number as General shows it: in 11 characters, or with an exponent."""
    if value == 0:
        return "0"
    power = value.adjusted()
    if power >= _GENERAL_DIGITS or power < -9:
        digits = f"{value:.5E}"
        mantissa, _, exponent = digits.partition("E")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}E{exponent[0]}{int(exponent[1:]):02d}"
    places = max(0, _GENERAL_DIGITS - 1 - max(1, power + 1))
    text = f"{_rounded(value, places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _split(tokens: Sequence[Token]) -> tuple[list[int], list[int], int, bool]:
    """Return the places of the digits before and after the point, the scale and the grouping.

    The scale is the number of commas after the last digit before the point: `0,` shows thousands.
    """
    points = [index for index, token in enumerate(tokens) if token.kind == "point"]
    if len(points) > 1:
        raise UnreadableFormatError("two points")
    point = points[0] if points else len(tokens)
    digits = [index for index, token in enumerate(tokens) if token.kind == "digit"]
    whole = [index for index in digits if index < point]
    decimals = [index for index in digits if index > point]
    commas = [index for index, token in enumerate(tokens) if token.kind == "comma"]
    last = digits[-1] if digits else -1
    scale = sum((bool(whole) and whole[-1] < index < point) or index > last for index in commas)
    is_grouped = any(whole and whole[0] < index < whole[-1] for index in commas)
    if len(decimals) > _MOST_DECIMALS or len(whole) > _MOST_DECIMALS:
        raise UnreadableFormatError("too many digits")
    return whole, decimals, scale, is_grouped


def _decimal(value: Decimal, tokens: Sequence[Token]) -> str:
    whole, decimals, scale, is_grouped = _split(tokens)
    value = _rounded(value.scaleb(-3 * scale), len(decimals))
    before, _, after = f"{value:f}".partition(".")
    written = _placed_whole("" if before == "0" else before, whole, tokens, is_grouped)
    written |= _placed_decimals(after, decimals, tokens)
    if not whole and not decimals:
        return "".join(
            token.text for token in tokens if token.kind in {"literal", "language", "percent"}
        )
    parts = []
    for index, token in enumerate(tokens):
        if token.kind == "digit":
            parts.append(written[index])
        elif token.kind == "point" and not whole and before != "0":
            parts.append(f"{before}.")  # `.00` shows 12.50 too
        elif token.kind != "comma":
            parts.append(token.text)
    return "".join(parts)


def _placed_whole(
    digits: str, places: Sequence[int], tokens: Sequence[Token], is_grouped: bool
) -> dict[int, str]:
    """Return the text at each place before the point; the first place has all further digits."""
    written, count = {}, 0
    for index in reversed(places):
        if digits and index == places[0]:
            taken, digits = digits, ""
        elif digits:
            taken, digits = digits[-1], digits[:-1]
        else:
            taken = {"0": "0", "?": " ", "#": ""}[tokens[index].text]
        text = ""
        for digit in reversed(taken):
            separator = "," if is_grouped and count and count % 3 == 0 and digit != " " else ""
            text = digit + separator + text
            count += 1
        written[index] = text
    return written


def _placed_decimals(digits: str, places: Sequence[int], tokens: Sequence[Token]) -> dict[int, str]:
    """Return the text at each place after the point; `#` shows no zero at the end."""
    significant = len(digits.rstrip("0"))
    return {
        index: digit
        if number < significant or tokens[index].text == "0"
        else {"?": " ", "#": ""}[tokens[index].text]
        for number, (index, digit) in enumerate(zip(places, digits, strict=True))
    }


def _scientific(value: Decimal, tokens: Sequence[Token], index: int) -> str:
    """Return `1.5E+03`; the exponent is a multiple of the number of digits before the point."""
    mantissa, exponent = tokens[:index], tokens[index + 1 :]
    whole, decimals, _, _ = _split(mantissa)
    step = max(1, len(whole))
    power = 0
    if value:
        power = value.adjusted() // step * step
        if _rounded(value.scaleb(-power), len(decimals)).adjusted() >= step:
            power += step
    sign = "-" if power < 0 else "+" if "+" in tokens[index].text else ""
    width = sum(token.kind == "digit" for token in exponent)
    rest = "".join(token.text for token in exponent if token.kind not in {"digit", "comma"})
    return f"{_decimal(value.scaleb(-power), mantissa)}E{sign}{abs(power):0{width}d}{rest}"


def _fraction(value: Decimal, tokens: Sequence[Token], index: int) -> str:
    """Return `1 1/2`; the part after `/` limits or fixes the denominator."""
    below = [token.text for token in tokens[index + 1 :] if token.kind == "digit"]
    fixed = "".join(t.text for t in tokens[index + 1 :] if t.kind == "literal").strip()
    # The numerator's digits end at `/`; digits before a blank belong to the whole number.
    start = index
    while start and tokens[start - 1].kind == "digit":
        start -= 1
    has_whole = any(token.kind == "digit" for token in tokens[:start])
    if fixed.isdecimal() and len(fixed) <= 4 and not below:
        denominator = int(fixed)
        if not denominator:
            raise UnreadableFormatError("a fraction over 0")
        numerator = int(_rounded(value * denominator, 0))
    elif below and len(below) <= 4 and set(below) <= {"?", "#"}:
        near = Fraction(value).limit_denominator(10 ** len(below) - 1)
        numerator, denominator = near.numerator, near.denominator
    else:
        raise UnreadableFormatError("a fraction")
    if not has_whole:
        return f"{numerator}/{denominator}"
    whole, rest = divmod(numerator, denominator)
    if not rest:
        return str(whole)
    return f"{whole} {rest}/{denominator}" if whole else f"{rest}/{denominator}"
