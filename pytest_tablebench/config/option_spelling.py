"""Options that are spelled otherwise: plurals are accepted, other words get the nearest option."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pytest_tablebench.config.options import OPTIONS

_FLAGS = ("--model", *(option.flag for option in OPTIONS))


def _plural(flag: str) -> str:
    return f"{flag[:-1]}ies" if flag.endswith("y") else f"{flag}s"


_PLURALS = {
    _plural(option.flag): option.flag
    for option in OPTIONS
    if not option.switch and _plural(option.flag) not in _FLAGS
}


def singular(word: str) -> str:
    """Return a word of a command line; the plural of an option becomes the option."""
    flag, equals, value = word.partition("=")
    return f"{_PLURALS.get(flag, flag)}{equals}{value}"


def spelling_fault(unknown: Iterable[str]) -> str:
    """Return a message on the first of these words that resembles an option; "" without one.

    `unknown` are words of the command line that neither pytest nor a plugin knows.
    """
    for word in unknown:
        flag = word.partition("=")[0]
        plain = flag.replace("_", "-").lower()
        if plain.startswith(("--bench-", "--models")):
            near = difflib.get_close_matches(plain, _FLAGS, n=1, cutoff=0.8)
            hint = f"write {near[0]}" if near else "`pytest --help` lists all options"
            return f"unknown option {flag}: {hint}"
    return ""
