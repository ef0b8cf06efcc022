"""Serializers: a table in, text out. The names are ToRR's own."""

from __future__ import annotations

from collections.abc import Callable

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.serializers._dataframe import to_df
from pytest_tablebench.serializers._text import (
    to_concat,
    to_csv,
    to_html,
    to_indexed_row_major,
    to_json,
    to_markdown,
)
from pytest_tablebench.serializers.content import Content, Image
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import unknown_name

__all__ = ["SERIALIZERS", "Content", "Image", "Serializer", "serialize"]

Serializer = Callable[[Table], Content]
"""`serializer(table)` returns a text, or a tuple of texts and pictures."""

SERIALIZERS: dict[str, Callable[[Table], str]] = {
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
    "markdown": to_markdown,
    "indexed_row_major": to_indexed_row_major,
    "df": to_df,
    "concat": to_concat,
}
"""ToRR's seven formats (spec: torr.md section 5), in the paper's order."""


def serialize(table: Table, serializer: str) -> str:
    """Return the table as text in one of ToRR's formats.

    Raises `SettingsError` for an unknown serializer and `TableError`, naming table and cell,
    for a table the format cannot hold.
    """
    try:
        function = SERIALIZERS[serializer]
    except KeyError:
        raise SettingsError(unknown_name("serializer", serializer, SERIALIZERS)) from None
    return function(table)
