"""The length of a table in tokens."""

from __future__ import annotations

from pytest_tablebench.serializers import serialize
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.tokens import count_tokens

__all__ = ["latex_tokens"]


def latex_tokens(table: Table) -> int:
    """Return the number of tokens of a table in LaTeX.

    Raises `TableError` for a table that LaTeX cannot represent.
    """
    return count_tokens(serialize(table, "latex").encode("utf-8", "surrogatepass"))
