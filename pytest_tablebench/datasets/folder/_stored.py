"""Stored values of cells that a workbook shows in another form: `0.5` shown as `50%`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property

from pytest_tablebench.tables.table import Table

_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?")


class StoredValues:
    """The stored values of a table's cells.

    Arguments:
        table: the table with its shown texts.
        stored: the stored values of each shown text that differs from its stored value.
    """

    def __init__(self, table: Table, stored: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table
        self._stored = stored

    @cached_property
    def _shown(self) -> dict[str, set[str]]:
        """The shown texts of each stored value."""
        shown: dict[str, set[str]] = {}
        for text, values in self._stored.items():
            for value in values:
                shown.setdefault(_key(value), set()).add(text)
        return shown

    @cached_property
    def _cells(self) -> frozenset[str]:
        return frozenset(_key(str(cell)) for line in self._table.lines for cell in line)

    def other_forms(self, answer: str) -> tuple[str, ...]:
        """Return the other forms of an answer.

        For a shown text these are its stored values. For a stored value it is the shown text,
        unless cells show the value in several ways. For any other answer there are none.
        """
        if answer in self._stored:
            return self._stored[answer]
        key = _key(answer)
        if key in self._cells:
            return ()
        shown = self._shown.get(key, set())
        return tuple(shown) if len(shown) == 1 else ()

    def is_ambiguous(self, answer: str) -> bool:
        """Return whether an answer is a stored value that the table shows in several ways."""
        key = _key(answer)
        return answer not in self._stored and len(self._shown.get(key, ())) > 1


def _key(text: str) -> str:
    """Return the key for comparing texts: numbers by value, other texts without case."""
    plain = text.strip()
    if _NUMBER.fullmatch(plain):
        value = Decimal(plain)
        return str(value.normalize()) if value else "0"
    return plain.casefold()
