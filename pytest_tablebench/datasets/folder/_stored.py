"""Stored values of cells that a workbook shows otherwise: `0.5` behind `50%`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property

from pytest_tablebench.tables.table import Table

_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?")


class StoredValues:
    """The stored values of a table, by what the table shows.

    Arguments:
        table: as it is shown.
        stored: the stored values of each shown text that differs from them.
    """

    def __init__(self, table: Table, stored: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table
        self._stored = stored

    @cached_property
    def _shown(self) -> dict[str, set[str]]:
        """The shown texts of each stored value that differs from them."""
        shown: dict[str, set[str]] = {}
        for text, values in self._stored.items():
            for value in values:
                shown.setdefault(_key(value), set()).add(text)
        return shown

    @cached_property
    def _cells(self) -> frozenset[str]:
        return frozenset(_key(str(cell)) for line in self._table.lines for cell in line)

    def other_forms(self, answer: str) -> tuple[str, ...]:
        """Return the other forms of an answer that is a cell as it is shown, or as it is stored.

        An answer that a cell shows word for word has that cell's stored values. A stored value
        has its shown text, unless several cells show the value differently.
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
    """Return a text as it is compared: a number by its value."""
    plain = text.strip()
    if _NUMBER.fullmatch(plain):
        value = Decimal(plain)
        return str(value.normalize()) if value else "0"
    return plain.casefold()
