"""What a model knows without reading the table, as a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tablebench.reports.formats import percent
from pytest_tablebench.util.names import counted

__all__ = ["memory_lines"]


def memory_lines(name: str, scope: Mapping[str, Any]) -> list[str]:
    """Return the line on answers that cannot come from the table, none where nobody asked."""
    texts = {
        "no_table": "of the answers are right without the table",
        "counterfactual": "are the former answer after its cell was changed",
    }
    found = scope.get("memory", {})
    said = [
        f"{percent(one['share'])} {text} ({counted(one['n_examples'], 'example')})"
        for key, text in texts.items()
        if (one := found.get(key)) is not None
    ]
    return [f"{name}: from memory, or guessed: {'; '.join(said)}"] if said else []
