"""Numbers as people write them in answers, read the same way by every fixed metric."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["canonical_number"]

_NUMBER = re.compile(
    r"(?P<sign>[-+\u2212]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+)?(?P<fraction>\.\d+)?"
)


def canonical_number(text: str) -> str | None:
    """Return `1,234.50` as `1234.5`, `5.0` as `5`, `+3` as `3`; None for what is no number.

    ASCII digits, thousands commas at every third digit and a decimal point; a typographic
    minus counts as a minus. Exponents, units and percent signs make it text.
    """
    match = _NUMBER.fullmatch(text)
    if match is None or (not text.isascii() and "\u2212" not in text) or len(text) > 100:
        return None
    if not (match["digits"] or match["fraction"]):
        return None
    digits = (match["digits"] or "0").replace(",", "")
    value = Decimal(digits + (match["fraction"] or "")).normalize()
    written = f"{value:f}"
    negative = match["sign"] in {"-", "\u2212"} and value != 0
    return f"-{written}" if negative else written
