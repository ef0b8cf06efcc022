"""Reduce the matrix of tests: everything runs only with TABLEBENCH_FULL."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

FULL = bool(os.environ.get("TABLEBENCH_FULL"))

MEGABYTE = 1_000_000 if FULL else 200_000
"""Length of hostile texts; quadratic work on the shorter ones takes minutes too."""

Value = TypeVar("Value")


def reduced(every: Iterable[Value], *few: Value) -> list[Value]:
    """Return every value in a full run, else the few given ones."""
    return list(every) if FULL else list(few)


def draws(number: int) -> int:
    """Return the number of hypothesis's examples: all in a full run, else a quarter."""
    return number if FULL else number // 4
