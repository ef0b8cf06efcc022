"""Workbooks that openpyxl cannot read: old and open formats, unusual programs, damaged files."""

from __future__ import annotations

import datetime as dt
import io
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from pytest_tablebench.datasets.folder.workbook import read_sheet
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.other_workbooks import VALUES_ONLY
from pytest_tablebench.tables.table import Table
from tests.support.nasty_workbooks import nasty_workbook

MERGED = ("gaps", "ods")
OFFICE = shutil.which("soffice")

CONTENTS: dict[str, list[list[Any]]] = {
    "prices": [["Product", "Price"], ["tea", 3.1], ["coffee", 12], ["=formula", -0.5]],
    "dates": [["Day", "At"], [dt.date(2024, 3, 5), dt.time(14, 30)], [dt.date(1999, 12, 31), None]],
    "moments": [["When"], [dt.datetime(2024, 3, 5, 14, 30)], [dt.datetime(2001, 1, 2, 3, 4, 5)]],
    "scripts": [["名称", "Größe"], ["北京", "ä ö ü ß"], ["السعر", "<b>&amp;"]],
    "gaps": [["a", "", "c"], [None, None, None], [1, None, 1_234_567.25]],
}
"""The cells of workbooks that an office program writes in each format."""


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each of `CONTENTS` as .xlsx, and as LibreOffice writes it in other formats."""
    if OFFICE is None:
        pytest.skip("LibreOffice (soffice) is not installed")
    folder = tmp_path_factory.mktemp("office")
    for name, rows in CONTENTS.items():
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        sheet.title = name
        for line, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                cell = sheet.cell(line, column, value)
                if isinstance(value, str):
                    cell.data_type = "s"
        hidden = book.create_sheet("hidden")
        hidden["B2"] = "not shown"
        hidden.sheet_state = "hidden"
        if name == "gaps":
            sheet.merge_cells("A1:B1")
        book.save(folder / f"{name}.xlsx")
    home = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    for kind in ("xls", "ods"):
        words = [OFFICE, home, "--headless", "--convert-to", kind, "--outdir", str(folder)]
        files = [str(path) for path in sorted(folder.glob("*.xlsx"))]
        subprocess.run([*words, *files], check=True, capture_output=True, timeout=120)
    return folder


@pytest.mark.parametrize(
    ("name", "kind"),
    # calamine does not know the merged cells of .ods files
    [(name, kind) for name in CONTENTS for kind in ("xls", "ods") if (name, kind) != MERGED],
)
def test_an_office_program_s_workbook_equals_the_one_that_openpyxl_reads(
    converted: Path, name: str, kind: str
) -> None:
    read = read_sheet(converted / f"{name}.{kind}", None)
    expected = read_sheet(converted / f"{name}.xlsx", None)
    assert (read.table.header, read.table.rows) == (expected.table.header, expected.table.rows)
    assert read.table.is_structured == expected.table.is_structured
    assert (read.sheet, read.others) == (name, ())
    assert any("1 hidden sheet not sent" in note for note in read.notes)
    assert read.notes[-1] == VALUES_ONLY


def binary_workbook(path: Path, rows: list[list[str | float]]) -> Path:
    """Write an .xlsb workbook with one sheet (records of MS-XLSB)."""

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode("utf-16-le")

    def record(kind: int, content: bytes = b"") -> bytes:
        name = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
        return name + bytes([len(content)]) + content

    def cells() -> Iterator[bytes]:
        for line, row in enumerate(rows):
            yield record(0, struct.pack("<IIHBBBI", line, 0, 300, 0, 0, 0, 0))
            for column, value in enumerate(row):
                place = struct.pack("<II", column, 0)
                if isinstance(value, str):
                    yield record(6, place + text(value))
                else:
                    yield record(5, place + struct.pack("<d", value))

    sheet = struct.pack("<II", 0, 1) + text("rId1") + text("S")
    size = struct.pack("<IIII", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    book = [record(131), record(143), record(156, sheet), record(144), record(132)]
    lines = [record(129), record(148, size), record(145), *cells(), record(146), record(130)]
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def relation(kind: str, target: str) -> str:
        return (
            f"<Relationships xmlns='{package}/relationships'><Relationship Id='rId1' "
            f"Type='{office}/{kind}' Target='{target}'/></Relationships>"
        )

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", f"<Types xmlns='{package}/content-types'/>")
        archive.writestr("_rels/.rels", relation("officeDocument", "xl/workbook.bin"))
        archive.writestr(
            "xl/_rels/workbook.bin.rels", relation("worksheet", "worksheets/sheet1.bin")
        )
        archive.writestr("xl/workbook.bin", b"".join(book))
        archive.writestr("xl/worksheets/sheet1.bin", b"".join(lines))
    return path


def test_a_binary_workbook_is_read(tmp_path: Path) -> None:
    rows: list[list[str | float]] = [["City", "People"], ["Kiel", 247_000.0], ["Ulm", 0.5]]
    read = read_sheet(binary_workbook(tmp_path / "b.xlsb", rows), None)
    assert read.table.header == ("City", "People")
    assert read.table.rows == (("Kiel", 247_000), ("Ulm", 0.5))


def test_a_workbook_that_openpyxl_refuses_is_read_with_its_values(tmp_path: Path) -> None:
    sheet = (
        "<sheetData><row r='1'><c r='A1' t='inlineStr'><is><t>n</t></is></c></row>"
        "<row r='2'><c r='A2' s='7'><v>5</v></c></row></sheetData>"
    )
    path = nasty_workbook(tmp_path / "styles.xlsx", sheet)
    with pytest.raises(IndexError):  # its cell names a style, and there are none
        openpyxl.load_workbook(io.BytesIO(path.read_bytes()))
    read = read_sheet(path, None)
    assert (read.table.header, read.table.rows) == (("n",), ((5,),))
    assert read.notes == (VALUES_ONLY,)


@pytest.mark.parametrize("name", ["a.xlsx", "a.xls", "a.xlsb", "a.ods"])
@pytest.mark.parametrize("content", [b"", b"no workbook", b"PK\3\4" + b"\0" * 60])
def test_a_file_that_no_library_reads_gets_advice(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_sheet(path, None)
    text = str(caught.value)
    assert "Error" not in text
    assert "workbook" in text


def test_distant_cells_of_an_unread_workbook_do_not_fill_the_memory(tmp_path: Path) -> None:
    sheet = (
        "<sheetData><row r='1'><c r='A1' s='7'><v>1</v></c></row>"
        "<row r='1048576'><c r='XFD1048576'><v>2</v></c></row></sheetData>"
    )
    with pytest.raises(DataError, match="cannot be read as a workbook; open it"):
        read_sheet(nasty_workbook(tmp_path / "far.xlsx", sheet), None)


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("a_x000D_\nb", "a\nb"),
        ("a_x0009_b", "a\tb"),
        ("_x005F_x0041_", "_x0041_"),
        ("0x005F_FFFF", "0x005F_FFFF"),
        ("max005F_1", "max005F_1"),
        ("_xD800_", "_xD800_"),
        ("_x00G1_", "_x00G1_"),
    ],
)
def test_escapes_in_texts_of_a_workbook(tmp_path: Path, stored: str, text: str) -> None:
    sheet = (
        "<sheetData><row r='1'><c r='A1' t='s'><v>0</v></c></row>"
        "<row r='2'><c r='A2' t='s'><v>1</v></c></row></sheetData>"
    )
    shared = f"<si><t>n</t></si><si><t xml:space='preserve'>{stored}</t></si>"
    path = nasty_workbook(tmp_path / "texts.xlsx", sheet, shared)
    assert Table.from_xlsx(path).rows == ((text,),)


def test_a_workbook_in_strict_ooxml_is_read_with_its_formats(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Share"])
    sheet.append([0.25])
    sheet["A2"].number_format = "0%"
    book.save(tmp_path / "usual.xlsx")
    names = {
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main": b"spreadsheetml/main",
        b"http://schemas.openxmlformats.org/officeDocument/2006/": b"officeDocument/",
        b"http://schemas.openxmlformats.org/drawingml/2006/": b"drawingml/",
    }
    with (
        zipfile.ZipFile(tmp_path / "usual.xlsx") as usual,
        zipfile.ZipFile(tmp_path / "strict.xlsx", "w") as strict,
    ):
        for name in usual.namelist():
            part = usual.read(name)
            for known, own_name in names.items():
                part = part.replace(known, b"http://purl.oclc.org/ooxml/" + own_name)
            strict.writestr(name, part)
    read = read_sheet(tmp_path / "strict.xlsx", None)
    assert (read.table.header, read.table.rows, read.notes) == (("Share",), (("25%",),), ())
