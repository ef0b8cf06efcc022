"""Numbers as people write them in answers, read the same way by every fixed metric."""

from __future__ import annotations

import re

__all__ = ["canonical_number"]

_NUMBER = re.compile(
    r"(?P<sign>[-+\u2212]?)(?=\.?[0-9])"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?P<fraction>\.[0-9]+)?"
)


def canonical_number(text: str) -> str | None:
    """Return `1,234.50` as `1234.5`, `5.0` as `5`, `+3` as `3`; None for what is no number.

    ASCII digits, thousands commas at every third digit and a decimal point; a typographic
    minus counts as a minus. Exponents, units and percent signs make it text.
    """
    match = _NUMBER.fullmatch(text)
    return None if match is None else _canonical(match)


def _canonical(match: re.Match[str]) -> str:
    # By the digits themselves, so that a number of any length keeps its value.
    whole = (match["digits"] or "").replace(",", "").lstrip("0") or "0"
    fraction = (match["fraction"] or "").rstrip("0").rstrip(".")
    is_negative = match["sign"] in {"-", "\u2212"} and (whole, fraction) != ("0", "")
    return f"{'-' if is_negative else ''}{whole}{fraction}"
