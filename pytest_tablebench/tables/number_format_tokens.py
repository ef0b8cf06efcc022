"""The tokens of Excel's number formats."""

from __future__ import annotations

import re
from typing import NamedTuple

_MOST_CHARACTERS = 500
"""Excel allows 255 characters."""


class UnreadableFormatError(ValueError):
    """A number format that cannot be parsed or applied."""


class Token(NamedTuple):
    """A part of a format.

    Arguments:
        kind: `literal`, `digit`, `point`, `comma`, `percent`, `exponent`, `slash`, `text`,
            `general`, `date`, `elapsed`, `language` for a sign with a language other than English,
            `bracket`, or `end` between two sections.
        text: the text that is shown, or the format's text.
    """

    kind: str
    text: str


_TOKEN = re.compile(
    r"""
      "(?P<quoted>[^"]*)"
    | \\(?P<escaped>.)
    | _(?P<space>.)                      # as wide as the character
    | \*(?P<fill>.)                      # repeated over the width of the column
    | \[\$(?P<currency>[^\]-]*)(?:-(?P<language>[0-9A-Za-z,.-]*))?\]
    | \[(?P<elapsed>h+|m+|s+)\]
    | \[(?P<color>black|blue|cyan|green|magenta|red|white|yellow|color\s*\d{1,2})\]
    | \[(?P<bracket>[^\]]*)\]
    | (?P<general>general)
    | (?P<noon>am/pm|a/p)
    | (?P<exponent>e[+-])
    | (?P<date>y+|m+|d+|h+|s+)
    | (?P<digit>[0?\#])
    | (?P<point>\.)
    | (?P<comma>,)
    | (?P<percent>%)
    | (?P<slash>/)
    | (?P<text>@)
    | (?P<end>;)
    | (?P<literal>[^A-Za-z"\\\[\]*_])
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)

_ENGLISH = re.compile(r"09$|^en\b", re.IGNORECASE)
"""The codes of English languages end in 09: 409 is the code of the United States."""


def sections_of(code: str) -> list[list[Token]]:
    """Return the tokens of each section of a format code. Raises `UnreadableFormatError`."""
    if len(code) > _MOST_CHARACTERS:
        raise UnreadableFormatError("too long")
    sections: list[list[Token]] = [[]]
    place = 0
    while place < len(code):
        match = _TOKEN.match(code, place)
        if match is None:
            raise UnreadableFormatError(code[place : place + 20])
        place = match.end()
        token = _token(match)
        if token.kind == "end":
            sections.append([])
        elif token.text or token.kind != "literal":
            sections[-1].append(token)
    return [_slashes(tokens) for tokens in sections]


def _token(match: re.Match[str]) -> Token:
    if match["currency"] is not None:
        # A language matters only for the names of months and days after it.
        is_foreign = match["language"] and not _ENGLISH.search(match["language"])
        return Token("language" if is_foreign else "literal", match["currency"])
    kind = match.lastgroup or ""
    text = match[kind]
    if kind in {"quoted", "escaped"}:
        return Token("literal", text)
    if kind == "space":
        return Token("literal", " ")
    if kind in {"fill", "color"}:
        return Token("literal", "")
    if kind == "noon":
        return Token("date", text.lower())
    if kind in {"date", "elapsed", "exponent"}:
        return Token(kind, text.lower())
    return Token(kind, text)


def _slashes(tokens: list[Token]) -> list[Token]:
    """Return the tokens with `/` as a literal if it does not write a fraction, as in dates."""
    is_date = any(token.kind in {"date", "elapsed"} for token in tokens)
    return [
        Token("literal", "/")
        if token.kind == "slash"
        and (is_date or not place or tokens[place - 1].kind not in {"digit"})
        else token
        for place, token in enumerate(tokens)
    ]
