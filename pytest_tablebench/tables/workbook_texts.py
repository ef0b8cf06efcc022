"""Escaped characters in texts of workbooks: `_x000D_` is a carriage return (ECMA-376, 22.9.2.19).

openpyxl leaves these escapes, and removes every `x005F_`, also from texts such as `max005F_1`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openpyxl.workbook.workbook import Workbook

_REMOVED, _KEPT = "x005F_", "x\ue05f5F_"
"""A text that openpyxl removes, and the text that replaces it until the workbook is read."""

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def protected_texts(part: bytes) -> bytes:
    """Return a part of a workbook so that openpyxl keeps its texts; mostly the part itself."""
    if _REMOVED.encode() not in part:
        return part
    return part.replace(_REMOVED.encode(), _KEPT.encode())


def restore_texts(workbook: Workbook) -> None:
    """Replace the escapes in all texts of a workbook by their characters."""
    for sheet in workbook.worksheets:
        for cell in sheet._cells.values():
            text = cell.value
            if isinstance(text, str) and ("_x" in text or _KEPT in text):
                # The property would read a text that begins with `=` as a formula.
                cell._value = plain_text(text)  # type: ignore[union-attr]


def plain_text(text: str) -> str:
    """Return a text without escapes; a carriage return before a line feed is dropped."""
    text = text.replace(_KEPT, _REMOVED)
    return _ESCAPED.sub(_character, text).replace("\r\n", "\n")


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if 0xD800 <= code < 0xE000 else chr(code)
