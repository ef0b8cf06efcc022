"""A cache by table, which the rooms that make something of whole tables share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")


class ByTable(Generic[Made]):
    """A cache by table object and a word, not by the table's value.

    Equal tables may differ when printed (1 and True).
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[tuple[int, str], tuple[Any, Made]] = OrderedDict()

    def get(self, table: Any, word: str, make: Callable[[], Made]) -> Made:
        """Return the value of a table and a word, made if it is not kept."""
        key = id(table), word
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key][1]
        made = make()
        # Keep the table too: its id may be reused once it is deleted.
        self._made[key] = table, made
        if len(self._made) > self._most:
            self._made.popitem(last=False)
        return made
