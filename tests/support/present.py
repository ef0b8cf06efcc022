"""An optional value that a test needs."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """Return `value`, which must not be None."""
    assert value is not None
    return value
