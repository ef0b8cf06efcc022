"""Excel's number formats: their tokens, and dates, times and durations as they show them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
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
    position = 0
    while position < len(code):
        match = _TOKEN.match(code, position)
        if match is None:
            raise UnreadableFormatError(code[position : position + 20])
        position = match.end()
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
    literals = {"quoted": text, "escaped": text, "space": " ", "fill": "", "color": ""}
    if kind in literals:
        return Token("literal", literals[kind])
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
        and (is_date or not index or tokens[index - 1].kind not in {"digit"})
        else token
        for index, token in enumerate(tokens)
    ]


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OF_THE_SYSTEM = (
    "mm-dd-yy",
    "m/d/yy h:mm",
    "[$-f800]",
    "[$-x-sysdate]",
    "[$-f400]",
    "[$-x-systime]",
)
"""Formats that a spreadsheet program replaces by the formats in the computer's settings.

The first two are openpyxl's spelling of the built-in formats 14 and 22.
"""


def has_date(tokens: Sequence[Token]) -> bool:
    """Return whether a section shows a date, a time or a duration."""
    return any(token.kind in {"date", "elapsed"} for token in tokens)


def shown_moment(
    value: dt.date | dt.time | dt.timedelta, tokens: Sequence[Token], code: str
) -> str:
    """Return a date, a time or a duration as a section shows it.

    Raises `UnreadableFormatError` for formats that depend on the computer's settings, for
    languages other than English, and for a section that shows no date.
    """
    lower = code.lower()
    if lower in _OF_THE_SYSTEM[:2] or lower.startswith(_OF_THE_SYSTEM[2:]):
        raise UnreadableFormatError(code)
    if not has_date(tokens):
        raise UnreadableFormatError("no date")
    if any(t.kind == "language" for t in tokens) and any(_is_name(t) for t in tokens):
        raise UnreadableFormatError("names of another language")
    moment, elapsed = _parts(value)
    places = _decimals(tokens)
    if not places and moment.microsecond >= 500_000 and any(t.text[0] == "s" for t in tokens):
        moment, elapsed = moment + dt.timedelta(seconds=1), elapsed + dt.timedelta(seconds=1)
    has_noon = any(token.text in {"am/pm", "a/p"} for token in tokens)
    parts, previous = [], ""
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.kind == "date":
            is_minute = token.text[0] == "m" and (
                previous == "h" or (len(token.text) <= 2 and _next_letter(tokens, position) == "s")
            )
            parts.append(_shown_part(token.text, moment, is_minute, has_noon))
            previous = token.text[0]
        elif token.kind == "elapsed":
            parts.append(_shown_elapsed(token.text, elapsed))
            previous = token.text[0]
        elif token.kind == "point" and places and previous == "s":
            parts.append(f"{moment.microsecond / 1e6:.{places}f}"[1:])
            position += places
        elif token.kind in {"literal", "language", "point", "comma"}:
            parts.append(token.text)
        else:
            raise UnreadableFormatError(token.text)
        position += 1
    return "".join(parts).strip()


def _is_name(token: Token) -> bool:
    """Return whether a token shows the name of a month or a day, or AM and PM."""
    return token.kind == "date" and (token.text[:3] in {"mmm", "ddd"} or "/" in token.text)


def _parts(value: dt.date | dt.time | dt.timedelta) -> tuple[dt.datetime, dt.timedelta]:
    """Return a value as a moment and as the time since Excel's day 0."""
    start = dt.datetime(1899, 12, 30)
    if isinstance(value, dt.timedelta):
        if value < dt.timedelta():
            raise UnreadableFormatError("a negative time")
        return start + value, value
    if isinstance(value, dt.time):
        moment = dt.datetime.combine(start.date(), value.replace(tzinfo=None))
    elif isinstance(value, dt.datetime):
        moment = value.replace(tzinfo=None)
    else:
        moment = dt.datetime.combine(value, dt.time())
    return moment, moment - start


def _decimals(tokens: Sequence[Token]) -> int:
    """Return the number of decimals of a second: 3 for `ss.000`."""
    for index, token in enumerate(tokens):
        if token.kind == "point":
            digits = [each.kind == "digit" and each.text == "0" for each in tokens[index + 1 :]]
            count = digits.index(False) if False in digits else len(digits)
            return count if 0 < count <= 6 else 0
    return 0


def _next_letter(tokens: Sequence[Token], index: int) -> str:
    rest = (token.text[0] for token in tokens[index + 1 :] if token.kind in {"date", "elapsed"})
    return next(rest, "")


def _shown_part(text: str, moment: dt.datetime, is_minute: bool, has_noon: bool) -> str:
    if text == "am/pm":
        return "AM" if moment.hour < 12 else "PM"
    if text == "a/p":
        return "A" if moment.hour < 12 else "P"
    letter, width = text[0], len(text)
    if letter == "y":
        return f"{moment.year:04d}" if width > 2 else f"{moment.year % 100:02d}"
    if letter == "m" and not is_minute and width >= 3:
        name = _MONTHS[moment.month - 1]
        return {3: name[:3], 5: name[:1]}.get(width, name)
    if letter == "d" and width >= 3:
        name = _DAYS[moment.weekday()]
        return name[:3] if width == 3 else name
    hour = (moment.hour % 12 or 12) if has_noon else moment.hour
    number = {
        "m": moment.minute if is_minute else moment.month,
        "d": moment.day,
        "h": hour,
        "s": moment.second,
    }[letter]
    return f"{number:0{min(width, 2)}d}"


def _shown_elapsed(text: str, elapsed: dt.timedelta) -> str:
    seconds = elapsed.days * 86_400 + elapsed.seconds
    count = {"h": seconds // 3600, "m": seconds // 60, "s": seconds}[text[0]]
    return f"{count:0{len(text)}d}"
