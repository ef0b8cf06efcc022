"""Texts of workbooks: marks of raised and struck parts, and escaped characters.

`_x000D_` is an escaped carriage return (ECMA-376, 22.9.2.19).
openpyxl leaves these escapes, and removes every `x005F_`, also from texts such as `max005F_1`.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_tablebench.tables._shown_marks import apart, lowered, raised, struck

if TYPE_CHECKING:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
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
    """Replace formatted texts and escapes in all cells of a workbook by plain text."""
    from openpyxl.cell.rich_text import CellRichText

    for sheet in workbook.worksheets:
        for cell in sheet._cells.values():
            text = cell.value
            if isinstance(text, CellRichText):
                text = cell._value = _marked_text(text)  # type: ignore[union-attr]
            if isinstance(text, str) and ("_x" in text or _KEPT in text):
                # The property would read a text that begins with `=` as a formula.
                cell._value = plain_text(text)  # type: ignore[union-attr]


def _marked_text(runs: CellRichText) -> str:
    """Return a formatted text with the marks of raised, lowered and struck parts."""
    text = ""
    for (place, is_struck), group in groupby(runs, _format):
        part = "".join(map(str, group))
        if place in {"superscript", "subscript"}:
            part = apart(partial(raised if place == "superscript" else lowered, before=text), part)
        text += apart(struck, part) if is_struck else part
    return text


def _format(run: TextBlock | str) -> tuple[str | None, bool]:
    """Return whether a part of a text is raised or lowered, and whether it is struck."""
    font = None if isinstance(run, str) else run.font
    return (None, False) if font is None else (font.vertAlign, bool(font.strike))


def plain_text(text: str) -> str:
    """Return a text without escapes; a carriage return before a line feed is dropped."""
    text = text.replace(_KEPT, _REMOVED)
    return _ESCAPED.sub(_character, text).replace("\r\n", "\n")


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if 0xD800 <= code < 0xE000 else chr(code)
