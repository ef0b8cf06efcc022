"""Files that expand too much, or that are no tables, give one clear error."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pytest

from pytest_tablebench import Table, TableError


def workbook(path: Path, *, old: str = "", new: str = "", more: bytes = b"") -> Path:
    """Save a small workbook with a text of its sheet replaced and more bytes in its archive."""
    plain, file = path / "plain.xlsx", path / "bad.xlsx"
    book = openpyxl.Workbook()
    book.worksheets[0].append(["a", "b"])
    book.worksheets[0].append(["x", 1])
    book.worksheets[0].merge_cells("A4:B4")
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(file, "w", 8) as target:
        for part in source.namelist():
            content = source.read(part)
            if part == "xl/worksheets/sheet1.xml":
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            target.writestr(part, content)
        if more:
            target.writestr("xl/media/image1.png", more)
    return file


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A4:B4", "A4:B&#52;", "cannot be read"),
        ("<worksheet", "<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet", "declares a document type"),
        ("<row r", "<row /><row r", "at most|more than 100,000 lines"),
    ],
)
def test_a_sheet_that_expands_too_much_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    if new.startswith("<row"):
        new = "<row />" * 100_001 + old
    file = workbook(tmp_path, old=old, new=new)
    with pytest.raises(TableError, match=message) as caught:
        Table.from_xlsx(file, structure=True)
    assert "bad.xlsx" in str(caught.value)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    file = workbook(tmp_path, more=b"\0" * (64 * 1024 * 1024))
    assert file.stat().st_size < 200_000
    with pytest.raises(TableError, match=r"bad\.xlsx' unpacks to [\d,]+ bytes; at most 67,108,864"):
        Table.from_xlsx(file, structure=True)


@pytest.mark.parametrize(
    ("html", "message"),
    [
        ("<table><tr><td colspan=1000000>a</table>", "row 1: colspan=1000000; at most 16,384"),
        ("<table><tr><td>a<tr><td rowspan=999999999999>b</table>", "row 2: rowspan=999999999999"),
        ("<table>" + "<tr>" * 300_000 + "</table>", "300,000 rows; at most 100,000"),
        ("<table><tr>" + "<td colspan=9000>" * 2 + "</table>", "18,000 columns; at most 16,384"),
        ("<table>" + "<tr><td colspan=16000>" * 70 + "</table>", "1,120,000 cells; at most"),
        ("<table><tr><td> &nbsp;</td></tr></table>", "table 0 is empty"),
    ],
)
def test_html_that_expands_too_much_is_refused(html: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        Table.from_html(html, structure=True)


def test_a_long_text_is_read_quickly() -> None:
    text = " " * 300_000
    table = Table.from_html(f"<table><tr><td>a{text}b<td>{text}\n{text}c</table>", structure=True)
    assert table.header == ("a b", "c")


def test_missing_end_tags_are_read_quickly() -> None:
    # Each row is nested in the previous one; a walk to the root from each would take minutes.
    table = Table.from_html("<table>" + "<tr><td>a<td>b" * 2000, structure=True)
    assert table.shape == (1999, 2)
