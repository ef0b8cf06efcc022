"""Serializers: functions from a table to content, a text or pictures.

Their names are ToRR's, `latex`, `frame`, and `image` and `image_square` for pictures. A flat table
is written in ToRR's format, a table with structure in RealHiTBench's (`structured.py`).
`indexed_row_major`, `df` and `concat` have no format for structure, so they show it flattened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Literal, overload

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.serializers._text import (
    to_concat,
    to_csv,
    to_df,
    to_html,
    to_indexed_row_major,
    to_json,
    to_markdown,
)
from pytest_tablebench.serializers.content import Content, Image
from pytest_tablebench.serializers.picture import pictures, squares, to_png
from pytest_tablebench.serializers.program_tables import frame_text as to_frame
from pytest_tablebench.serializers.program_tables import to_columns
from pytest_tablebench.serializers.structured import STRUCTURED, flattened, to_latex
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import unknown_name

__all__ = [
    "PICTURES",
    "SERIALIZERS",
    "Content",
    "Image",
    "Serializer",
    "pictures",
    "serialize",
    "to_columns",
    "to_frame",
    "to_latex",
]

Serializer = Callable[[Table], Content]
"""`serializer(table)` returns a text, or a tuple of texts and pictures."""


def _either(name: str, flat: Callable[[Table], str]) -> Callable[[Table], str]:
    """Return a serializer that uses `flat` for flat tables, and its counterpart for structure."""
    structured = STRUCTURED.get(name)

    @wraps(flat)
    def write(table: Table) -> str:
        return structured(table) if structured and table.is_structured else flat(flattened(table))

    return write


SERIALIZERS: dict[str, Callable[[Table], str]] = {
    name: _either(name, flat)
    for name, flat in (
        ("html", to_html),
        ("csv", to_csv),
        ("json", to_json),
        ("markdown", to_markdown),
        ("indexed_row_major", to_indexed_row_major),
        ("df", to_df),
        ("concat", to_concat),
    )
}
"""ToRR's seven formats, in the paper's order (spec: torr.md section 5)."""

PICTURES: dict[str, Callable[[Table], tuple[Image, ...]]] = {
    "image": pictures,
    "image_square": squares,
}
"""The serializers that return pictures."""

_FORMATS: dict[str, Callable[[Table], str | bytes]] = {
    **SERIALIZERS,
    "latex": to_latex,
    "frame": to_frame,
    "columns": to_columns,
    "image": to_png,
}


@overload
def serialize(table: Table, serializer: Literal["image"]) -> bytes: ...  # type: ignore[overload-overlap]
@overload
def serialize(table: Table, serializer: str) -> str: ...
def serialize(table: Table, serializer: str) -> str | bytes:
    """Return the table as text, or as the bytes of a PNG file for `image`.

    Raises `SettingsError` for an unknown serializer. Raises `TableError`, which names table and
    cell, for a table that the format cannot represent.
    """
    try:
        function = _FORMATS[serializer]
    except KeyError:
        raise SettingsError(unknown_name("serializer", serializer, _FORMATS)) from None
    return function(table)
