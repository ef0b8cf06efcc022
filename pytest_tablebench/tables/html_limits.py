"""Limits on the tags of an HTML text, checked before a library makes objects of them."""

from __future__ import annotations

import re
from collections import Counter

from pytest_tablebench.errors import TableError

MAX_CHARACTERS = 20_000_000
MAX_ROWS = 100_000
MAX_HTML_CELLS = 100_000
"""The most cells of one text. Beautiful Soup reads about 25,000 a second."""
MAX_TAGS = 250_000
MAX_TABLES_DEEP = 50
MAX_STEPS = 10_000_000
"""The most steps up the tree. Beautiful Soup takes about 2,000,000 a second."""

_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>?", re.IGNORECASE)
_NEVER_CLOSED = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)


def check_markup(text: str, where: str) -> None:
    """Raise `TableError` for HTML that takes too long to read; `where` is its label in messages."""
    if len(text) > MAX_CHARACTERS:
        raise TableError(f"{where}: {len(text):,} characters; at most {MAX_CHARACTERS:,} are read")
    counts: Counter[str] = Counter()
    open_tags: Counter[str] = Counter()
    stack: list[str] = []
    place = tables = steps = 0
    is_first = True
    for match in _TAG.finditer(text):
        # To link a text after another node, Beautiful Soup goes up to the root. With missing end
        # tags, the depth of the tree grows with each row.
        if match.start() > place and not is_first:
            steps += len(stack)
        place, is_first = match.end(), not match[1]
        name = match[2].lower()
        counts["tag"] += 1
        if match[1]:
            while open_tags[name]:
                last = stack.pop()
                open_tags[last] -= 1
                if last == name:
                    break
        elif name in _NEVER_CLOSED:
            is_first = False
        else:
            counts[name] += 1
            stack.append(name)
            open_tags[name] += 1
            tables = max(tables, open_tags["table"])
    for count, limit, noun in (
        (counts["tr"], MAX_ROWS, "rows"),
        (counts["td"] + counts["th"], MAX_HTML_CELLS, "cells"),
        (counts["tag"], MAX_TAGS, "tags"),
        (tables, MAX_TABLES_DEEP, "tables inside each other"),
    ):
        if count > limit:
            raise TableError(f"{where}: {count:,} {noun}; at most {limit:,} are read")
    if steps > MAX_STEPS:
        raise TableError(
            f"{where}: missing end tags make a tree of {steps:,} steps; at most {MAX_STEPS:,} are "
            f"read: add the end tags"
        )
