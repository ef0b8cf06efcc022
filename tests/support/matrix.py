"""How much of a matrix is run: all of it with TABLEBENCH_FULL, else a chosen few of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

__all__ = ["FULL", "draws", "reduced"]

FULL = bool(os.environ.get("TABLEBENCH_FULL"))

Value = TypeVar("Value")


def reduced(every: Iterable[Value], *few: Value) -> list[Value]:
    """Return every value in a full run, else the few."""
    return list(every) if FULL else list(few)


def draws(number: int) -> int:
    """Return how many examples hypothesis makes: so many in a full run, else a quarter."""
    return number if FULL else number // 4
