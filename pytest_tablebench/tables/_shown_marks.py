"""Raised, lowered and struck text as plain text, which does not join the text around it."""

from __future__ import annotations

import re
from collections.abc import Callable

_RAISED = str.maketrans("0123456789+-\N{MINUS SIGN}=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾")
_LOWERED = str.maketrans("0123456789+-\N{MINUS SIGN}=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_NUMBERS = re.compile(r"[0-9+\-\N{MINUS SIGN}=()]+(?:, ?[0-9]+)*")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|ers|res|ème|eme)", re.IGNORECASE)
_SIGNS = re.compile(r"(?:TM|SM|MC|[^\w^])(?:.*)", re.DOTALL)


def raised(text: str, before: str) -> str:
    """Return raised text: digits as superscript characters, other text after `^`.

    `before` is the text before it. An ordinal's ending (`1st`) and text that begins with a sign
    (`[3]`, `*`) need no mark.
    """
    if _NUMBERS.fullmatch(text):
        return text.translate(_RAISED)
    is_ordinal = before[-1:].isdecimal() and _ORDINAL.fullmatch(text)
    return text if not text or is_ordinal or _SIGNS.fullmatch(text) else f"^{text}"


def lowered(text: str, before: str) -> str:
    """Return lowered text: its digits as subscript characters after a digit or a slash."""
    follows_digit = (before[-1:].isdecimal() or before[-1:] in {"/", "⁄"}) and _NUMBERS.fullmatch(
        text
    )
    return text.translate(_LOWERED) if follows_digit else text


def apart(mark: Callable[[str], str], text: str, edges: str = " \t\r\n") -> str:
    """Return a text with a mark; its outer characters of `edges` stay outside of the mark."""
    inner = text.strip(edges)
    start, _, end = text.partition(inner) if inner else (text, "", "")
    return start + mark(inner) + end


def struck(text: str) -> str:
    """Return struck text between the marks of Markdown."""
    return f"~~{text}~~" if text else ""
