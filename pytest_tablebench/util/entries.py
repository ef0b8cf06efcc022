"""Safe access to entries of files from elsewhere, whose values may have any type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def parsed_json(text: str | bytes, **hooks: Any) -> Any:
    """Parse JSON. Raises `ValueError`, also for brackets that are nested too deeply.

    `hooks` are those of `json.loads`.
    """
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def mapping(value: object, *names: str) -> Mapping[str, Any]:
    """Return the nested mapping under these names; an empty one if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def listing(value: object) -> list[Any]:
    """Return a list unchanged, and an empty list for any other value."""
    return value if isinstance(value, list) else []
