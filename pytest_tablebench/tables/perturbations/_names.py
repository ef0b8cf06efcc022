"""Perturbations that rename columns without changing the meaning: synonyms, abbreviations."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files

from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.table import Table

_WORD = re.compile(r"[A-Za-z]+(?:\.(?=\s|$))?")
_CHINESE = re.compile(r"([\u4e00-\u9fff]+)(.*)", re.DOTALL)


@lru_cache
def _dictionary(name: str) -> Mapping[str, str]:
    """Return a dictionary of `names.json`: English words in lower case, and Chinese ones."""
    text = files(__package__).joinpath("names.json").read_text(encoding="utf-8")
    synonyms: Mapping[str, str] = json.loads(text)[name]
    return synonyms


def synonym_names(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Replace words in column names by synonyms from a small English and Chinese dictionary."""
    return _renamed(table, lambda name: _rewritten(name, _dictionary("synonyms")))


def abbreviate_names(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Abbreviate words in column names as people do, from a small dictionary."""
    return _renamed(table, lambda name: _rewritten(name, _dictionary("abbreviations")))


def _renamed(table: Table, rewrite: Callable[[str], str]) -> Table:
    """Return the table with its header lines rewritten; its structure stays.

    A name stays unchanged if it would become equal to another name of its line.
    """
    lines = [_line(line, rewrite) for line in (*table.header_rows, table.header)]
    return replace(table, header_rows=tuple(lines[:-1]), header=lines[-1])


def _line(line: tuple[Cell, ...], rewrite: Callable[[str], str]) -> tuple[Cell, ...]:
    new = {name: rewrite(name) for name in line if isinstance(name, str)}
    taken = Counter(new.values())
    # Compared without case, as readers do.
    old = Counter(name.casefold() for name in new)
    return tuple(
        new[name]
        if isinstance(name, str)
        and taken[new[name]] == 1
        and (new[name] == name or not old[new[name].casefold()])
        else name
        for name in line
    )


def _rewritten(name: str, words: Mapping[str, str]) -> str:
    chinese = _CHINESE.fullmatch(name)
    if chinese is not None:  # without blanks only the whole name is a word, before a unit
        return words.get(chinese[1], chinese[1]) + chinese[2]
    return _WORD.sub(lambda match: _as_written(match[0], words), name)


def _as_written(word: str, words: Mapping[str, str]) -> str:
    new = words.get(word.lower(), word)
    if new == word or not word.isascii():
        return new
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new[0].upper() + new[1:] if word[0].isupper() else new.lower()
