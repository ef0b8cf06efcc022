"""Parsing of the keywords of a question, and of their headers, in a model's reply."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_tablebench.tables.hierarchy.paths import plain
from pytest_tablebench.tables.hierarchy.tree import HeaderTree

_MOST, _LONGEST = 50, 200  # keywords, and characters of a keyword or header
_KEYWORDS = re.compile(
    r"^[ \t>*#-]{0,9}(?:\d{1,2}[.)][ \t]{0,9})?[*_]{0,3}Keywords[*_]{0,3}[ \t]{0,9}:(.{0,4000})$",
    re.IGNORECASE | re.MULTILINE,
)
_PAIR = re.compile(r"^(.{1,400}?)(?:->|=>|→)(.{0,2000})$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]{0,9}([-*•]|\d{1,2}(?=[.)]))[.)]?[ \t]{1,9}")
_WRAPPING = " \t\r*_`\"'“”‘’[]."


@dataclass(frozen=True)
class Alignment:
    """The keywords of a question, each with its headers."""

    headers: dict[str, tuple[str, ...]]

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords, in the order of the reply."""
        return tuple(self.headers)

    @property
    def named(self) -> tuple[str, ...]:
        """All headers, each once."""
        return tuple(dict.fromkeys(name for names in self.headers.values() for name in names))

    def lines(self) -> list[str]:
        """Return a readable line for each keyword."""
        return [f"{word} -> {' | '.join(names) or 'none'}" for word, names in self.headers.items()]


def read_keywords(reply: str) -> tuple[str, ...]:
    """Return the keywords of the last line that lists them, or of the list below it."""
    marks = list(_KEYWORDS.finditer(reply))
    if not marks:
        return ()
    line = marks[-1][1].strip(_WRAPPING)
    if line:
        return _names(line.split("|") if "|" in line else re.split("[,;]", line))
    below: list[str] = []
    first = None
    for text in reply[marks[-1].end() :].lstrip("\r\n").splitlines()[:_MOST]:
        item = _ITEM.match(text)
        # The next step of a numbered reply is not an item of a list with dashes.
        if not item or item[1].isdigit() != (first or item)[1].isdigit():
            break
        first = first or item
        below.append(text[item.end() :])
    return _names(below)


def read_alignment(reply: str) -> Alignment:
    """Return each keyword of the lines `keyword -> header | header`; `none` names no header."""
    headers: dict[str, tuple[str, ...]] = {}
    for line in _PAIR.finditer(reply):
        bare = line[1][item.end() :] if (item := _ITEM.match(line[1])) else line[1]
        for word in _names([bare]):
            if len(headers) < _MOST:
                names = _names(line[2].split("|"))
                headers.setdefault(word, tuple(name for name in names if plain(name) != "none"))
    return Alignment(headers)


def share_of_headers(keywords: Iterable[str], tree: HeaderTree) -> float | None:
    """Return the share of keywords that are header texts of a tree; None without a keyword.

    Case and white space do not matter.
    """
    words = [plain(word) for word in keywords]
    texts = {plain(header.text) for header in tree.headers}
    return sum(word in texts for word in words) / len(words) if words else None


def _names(pieces: Iterable[str]) -> tuple[str, ...]:
    names = (" ".join(piece.strip(_WRAPPING).split()) for piece in pieces)
    short = (name for name in names if 0 < len(name) <= _LONGEST)
    return tuple({plain(name): name for name in short}.values())[:_MOST]
