"""Workbooks around openpyxl: limits on their parts before it reads them, texts after that.

openpyxl makes an object of every cell: of empty ones, of those under a merged cell, and of each
cell in the range of a link or a comment. A workbook of a few KB can cause millions. It leaves the
escapes in texts (`_x000D_` is a carriage return, ECMA-376, 22.9.2.19), and removes every `x005F_`,
also from texts such as `max005F_1`.
"""

from __future__ import annotations

import io
import re
import zipfile
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_tablebench.errors import LargeWorkbookError, TableError
from pytest_tablebench.tables._shown_marks import apart, lowered, raised, struck
from pytest_tablebench.tables.hierarchy.grid import MAX_COLUMNS, MAX_LINES

if TYPE_CHECKING:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.workbook.workbook import Workbook

MAX_UNPACKED = 64 * 1024 * 1024
"""The most bytes of all parts together."""
MAX_PARTS = 5_000
MAX_FILLED = 250_000
"""The most cells with a value in all sheets together. openpyxl reads about 60,000 a second."""
MAX_COVERED = 250_000
"""The most cells under merged cells, links and comments in all sheets together."""

_EMPTY_KEPT = 20_000
"""The most empty cells in a part; if there are more, they are removed."""
_PREFIX = rb"(?:\w{1,40}:)?"
_CELL = re.compile(rb"<" + _PREFIX + rb"c(?=[\s/>])")
_EMPTY = re.compile(rb"<" + _PREFIX + rb"c(?:\s[^<>]*)?(?:/>|(?<!/)>\s*</" + _PREFIX + rb"c\s*>)")
_ROW = re.compile(rb"<" + _PREFIX + rb"row(?=[\s/>])")
_STRING = re.compile(rb"<" + _PREFIX + rb"si(?=[\s/>])")
_RANGE = re.compile(rb"<" + _PREFIX + rb"(mergeCell|hyperlink|comment)(?=[\s/>])([^>]*)>")
_REFERENCE = re.compile(
    rb"""\sref\s*=\s*["']\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?["']"""
)
_RANGES = {b"mergeCell": "merged cells", b"hyperlink": "link", b"comment": "comment"}


_NAMESPACES = (
    (b"http://purl.oclc.org/ooxml/spreadsheetml/main", b"spreadsheetml/2006/main"),
    (b"http://purl.oclc.org/ooxml/officeDocument/", b"officeDocument/2006/"),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"drawingml/2006/"),
)
"""Namespaces of the strict kind of OOXML, and what openpyxl knows them by."""


def is_package(data: bytes) -> bool:
    """Return whether a file is an .xlsx or .xlsm workbook, from its parts."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except Exception:  # a damaged archive can raise nearly any exception
        return False
    return "xl/workbook.bin" not in names and "content.xml" not in names


def checked_workbook(data: bytes, where: str) -> bytes:
    """Return a workbook within the limits, without needless empty cells.

    `where` is its label in messages. Raises `TableError` for a workbook beyond the limits
    (`LargeWorkbookError` for those of bytes, lines and values), and for one with parts that no
    spreadsheet program writes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            # No more bytes of a part are unpacked than the size it declares.
            unpacked = sum(part.file_size for part in parts)
            for count, limit, noun, error in (
                (len(parts), MAX_PARTS, "parts", TableError),
                (unpacked, MAX_UNPACKED, "bytes", LargeWorkbookError),
            ):
                if count > limit:
                    raise error(f"{where} unpacks to {count:,} {noun}; at most {limit:,} are read")
            content = {part.filename: archive.read(part) for part in parts}
    except TableError:
        raise
    except Exception as error:  # a damaged archive can raise nearly any exception
        raise TableError(f"{where} cannot be read as a workbook: {error!r}") from error
    slim = _Checked(where).slim(content)
    if slim is None:
        return data
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name, part in slim.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    return written.getvalue()


class _Checked:
    """The limits' counters over all parts of one workbook."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._filled = self._covered = 0

    def slim(self, content: dict[str, bytes]) -> dict[str, bytes] | None:
        """Return the parts as openpyxl reads them rightly; None if nothing changes."""
        changed = {}
        for name, part in content.items():
            location = f"{self._where}, part {name[:100]!r}"
            text = _xml(part, location)
            if text is not None:
                shorter = self._check(text, location) or text
                readable = protected_texts(_in_usual_namespaces(shorter))
                if readable is not text:
                    changed[name] = readable
        return content | changed if changed else None

    def _check(self, text: bytes, where: str) -> bytes | None:
        rows = len(_ROW.findall(text))
        if rows > MAX_LINES:
            raise LargeWorkbookError(f"{where} has more than {MAX_LINES:,} lines; no more are read")
        cells = len(_CELL.findall(text))
        shorter, empty = None, 0
        if cells > _EMPTY_KEPT:
            shorter, empty = _EMPTY.subn(b"", text)
        self._filled += cells - empty + len(_STRING.findall(text))
        if self._filled > MAX_FILLED:
            raise LargeWorkbookError(
                f"{where}: {self._filled:,} cells and texts so far; at most {MAX_FILLED:,} are read"
            )
        self._check_ranges(text, where)
        return shorter if empty > _EMPTY_KEPT else None

    def _check_ranges(self, text: bytes, where: str) -> None:
        for match in _RANGE.finditer(text):
            kind, attributes = _RANGES[match[1]], match[2]
            reference = _REFERENCE.search(attributes)
            cells = attributes.strip().decode("ascii", "replace")[:60]
            if reference is None:
                raise TableError(f"{where}: {kind} {cells!r} cannot be read")
            left, top, right, bottom = (reference[number] for number in (1, 2, 3, 4))
            rows = abs(int(bottom or top) - int(top)) + 1
            columns = abs(_number(right or left) - _number(left)) + 1
            self._covered += rows * columns
            if rows > MAX_LINES or columns > MAX_COLUMNS or self._covered > MAX_COVERED:
                raise TableError(
                    f"{where}: {kind} {cells} cover {rows:,} x {columns:,} cells, "
                    f"{self._covered:,} with those before; at most {MAX_COVERED:,} are read"
                )


def _in_usual_namespaces(text: bytes) -> bytes:
    if b"http://purl.oclc.org/ooxml/" not in text:
        return text
    for strict, usual in _NAMESPACES:
        text = text.replace(strict, b"http://schemas.openxmlformats.org/" + usual)
    return text


def _xml(content: bytes, where: str) -> bytes | None:
    """Return a part that a parser reads as XML, in UTF-8; None for other parts, as a picture.

    Raises `TableError` for XML with another encoding, or with a document type.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            content = content.decode("utf-16").encode("utf-8")
        except UnicodeError:
            return None
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:200]
    if not start.startswith((b"<", b"\0<")):
        return None
    encoding = re.match(rb"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""", start)
    is_readable = not encoding or encoding[1].lower() in {
        b"utf-8",
        b"utf-16",
        b"us-ascii",
        b"ascii",
    }
    if not is_readable or b"\0" in content:
        raise TableError(f"{where} is not XML in UTF-8")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise TableError(f"{where} declares a document type; workbooks have none")
    return content


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


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
    for (position, is_struck), group in groupby(runs, _format):
        part = "".join(map(str, group))
        if position in {"superscript", "subscript"}:
            part = apart(
                partial(raised if position == "superscript" else lowered, before=text), part
            )
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
