"""Tables as the annotation takes them."""

from __future__ import annotations

from pytest_tablebench.errors import TableError
from pytest_tablebench.generate.annotate._prompts import shown
from pytest_tablebench.generate.llm._replies import RefusedError
from pytest_tablebench.tables.table import Table

_LONGEST = 60_000
"""Characters of a table, as models are shown it."""


def text_of(table: Table) -> str:
    """Return a table as models are shown it. Raises `RefusedError` for one that is left out."""
    if not table.rows or not table.header:
        raise RefusedError("too small")
    try:
        table.require_rectangular("a question")
        shows = shown(table)
    except TableError:
        raise RefusedError("cannot be shown") from None
    if len(shows) > _LONGEST:
        raise RefusedError("too long")
    return shows
