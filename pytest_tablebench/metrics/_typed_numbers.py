"""Numbers with their units, read as the column of a table writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pytest_tablebench.metrics._unicode import normalized

_LONGEST = 200
"""Characters of the longest text that is looked at as a number."""

_SHAPE = re.compile(
    r"(?P<before>[^\d.,+\-]*)(?P<sign>[-+]?)\s?(?P<currency>[$€£¥₹]?)\s?"
    r"(?P<number>[.,]?\d(?:[\d.,' ]*\d)?)(?P<after>\D*)"
)
_UNITS = {
    **dict.fromkeys(("percent", "per cent", "pct"), "%"),
    **dict.fromkeys(("usd", "us$", "dollar", "dollars"), "$"),
    **dict.fromkeys(("eur", "euro", "euros"), "€"),
    **dict.fromkeys(("gbp",), "£"),
    **dict.fromkeys(("jpy", "yen"), "¥"),
}


@dataclass(frozen=True)
class Quantity:
    """A number and its unit, "" where it has none."""

    value: Fraction
    unit: str = ""


def unit_name(text: str) -> str:
    """Return one name for the ways a unit is written: `percent` and `%` are the same."""
    plain = " ".join(normalized("NFKC", text).casefold().split()).strip(" .")
    return _UNITS.get(plain, plain)


def read_quantity(text: str, decimal: str = ".") -> Quantity | None:
    """Return the number that a whole text is, with its unit; None for any other text.

    Arguments:
        text: `1,234.5`, `-3 kg`, `25 %`, `$5`.
        decimal: the decimal sign of the column, "." or ",": the other one stands between
            thousands. A single sign that cannot stand there is a decimal sign all the same.
    """
    if len(text) > _LONGEST:
        return None
    plain = normalized("NFKC", text).replace("\u2212", "-").replace("’", "'").strip()
    found = _SHAPE.fullmatch(plain)
    if found is None:
        return None
    value = _value(found["number"], decimal)
    if value is None:
        return None
    unit = f"{found['before'].strip()}{found['currency']} {found['after'].strip()}"
    return Quantity(-value if found["sign"] == "-" else value, unit_name(unit))


def _value(text: str, decimal: str) -> Fraction | None:
    thousands = "," if decimal == "." else "."
    d, t = re.escape(decimal), re.escape(thousands)
    usual = rf"(?:\d{{1,3}}(?:{t}\d{{3}})+|\d{{1,3}}(?:[ ']\d{{3}})+|\d*)(?:{d}\d+)?"
    if re.fullmatch(usual, text):
        return _fraction(re.sub(rf"[ '{t}]", "", text).replace(decimal, "."))
    # Thousands come in threes, and not behind a zero.
    if re.fullmatch(rf"\d+{t}(?:\d{{1,2}}|\d{{4,}})|(?:0|\d{{4,}}){t}\d+", text):
        return _fraction(text.replace(thousands, "."))
    return None


def _fraction(text: str) -> Fraction | None:
    return Fraction(text if text[0] != "." else f"0{text}") if text else None


def same_quantity(given: Quantity, wanted: Quantity, *, unit: str, tolerance: str) -> bool:
    """Whether a number is the expected one; a unit may be left out, but not be another.

    Arguments:
        given: what the reply says.
        wanted: what is expected.
        unit: of the expected one, where its text has none.
        tolerance: the largest difference, `0.5`, or in per cent of the expected number, `2%`;
            "" for none.
    """
    if given.unit and given.unit not in {wanted.unit or unit_name(unit)}:
        return False
    room = Fraction(tolerance.strip().removesuffix("%") or 0)
    if tolerance.strip().endswith("%"):
        room *= abs(wanted.value) / 100
    return abs(given.value - wanted.value) <= room
