"""How a cell is read: as a number, as an answer, as what sums up others.

Of numbers are read an optional currency sign, an optional minus, digits
with or without separators between thousands, a decimal point, and one unit behind it:
"1,234", "12.5%", "12 km", "$ -3.4 m", "9.50 €", "96 m³/s". Not read, hence text: a plus
sign, leading zeros, ordinals ("3rd"), other scripts' digits, more than 15 digits.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(
    r"(?P<before>[$€£¥₹] ?)?"
    r"(?P<sign>-)?"
    r"(?P<whole>0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)"
    r"(?P<fraction>\.[0-9]+)?"
    r"(?P<after> ?(?:[%‰°℃$€£¥₹]|°[CF]|[^\W\d_]{1,10}[²³]?(?:/[^\W\d_]{1,6}[²³]?)?))?"
)
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_QUOTES = "\"'`“”‘’«»„"
_SUMMARY_WORDS = frozenset(
    {"total", "totals", "subtotal", "sum", "mean", "average", "avg", "all", "overall", "combined"}
)
_SUMMARY_SIGNS = ("合计", "总计", "小计", "平均", "均值")


@dataclass(frozen=True)
class ParsedNumber:
    """A cell's value and its written form.

    Arguments:
        value: the number.
        before: what stands before the sign and digits, with its space.
        after: what stands behind the digits, with its space.
        decimals: digits behind the point, for a typed float without trailing zeros.
    """

    value: Decimal
    before: str = ""
    after: str = ""
    decimals: int = 0

    @property
    def form(self) -> tuple[str, str]:
        """What has to be equal in all cells of a numeric column."""
        return self.before, self.after


def is_empty(cell: Any) -> bool:
    """Tell whether a cell holds nothing: None, not-a-number or blank text."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and not cell.strip()


def parse_number(cell: Any) -> ParsedNumber | None:
    """Read a cell as a number, or return None for one that is not; booleans are not."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    match = _NUMBER.fullmatch(str(cell))
    if match is None or (match["after"] or "").strip() in _ORDINALS:
        return None
    whole, fraction = match["whole"].replace(",", ""), (match["fraction"] or ".")[1:]
    if len(whole + fraction) > 15:  # what a float, the second way's number, keeps apart
        return None
    value = Decimal(f"{match['sign'] or ''}{whole}.{fraction}")
    return ParsedNumber(
        value,
        match["before"] or "",
        match["after"] or "",
        len(fraction if isinstance(cell, str) else fraction.rstrip("0")),
    )


def answer_text(cell: Any) -> str | None:
    """Return a cell as an answer item, or None where its written form is not certain.

    Serializers write booleans, missing values and floats like 12.0 in different ways, and
    replies are read as lists separated by comma and space, without quotes or a full stop.
    """
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    if isinstance(cell, float) and (not math.isfinite(cell) or cell.is_integer()):
        return None
    text = str(cell)
    plain = text == " ".join(text.split()) and all(
        unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Cn", "Co"} for letter in text
    )
    if not text or not plain or ", " in text or "|" in text:
        return None
    if text[0] in _QUOTES or text[-1] in _QUOTES + ".," or text.casefold().startswith("answer:"):
        return None
    return text


def cell_key(cell: Any) -> tuple[str, ...]:
    """Return what makes two cells the same to a reader: value and unit, or folded text."""
    number = parse_number(cell)
    if number is None:
        folded = unicodedata.normalize("NFKC", str(cell)).casefold()
        return ("text", " ".join(folded.split()))
    value = number.value.normalize() + 0
    return ("number", f"{value:f}", number.before.strip(), number.after.strip().casefold())


def is_summary(text: str) -> bool:
    """Tell whether a short text says that something is summed up (spec: treb.md section 6).

    Any text counts as a label, since nothing says which column holds them; rejecting a
    table too many costs a few questions, a total counted as an entry makes them wrong.
    """
    words = re.findall(r"[^\W\d_]+", text.casefold())
    if any(sign in text for sign in _SUMMARY_SIGNS):
        return True
    return len(words) <= 4 and any(word in _SUMMARY_WORDS for word in words)
