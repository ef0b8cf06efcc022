"""Entries of files that people and other tools write: anything may stand where one belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["listing", "mapping"]


def mapping(value: object, *names: str) -> Mapping[str, Any]:
    """Return the mapping that these names lead to inside a value; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def listing(value: object) -> list[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []
