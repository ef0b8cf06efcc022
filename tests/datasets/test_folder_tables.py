"""A user's folder as a dataset: the table files it reads, and messages about others."""

from __future__ import annotations

import datetime as dt
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from pytest_tablebench.datasets.folder import _lines
from pytest_tablebench.datasets.folder import workbook as folder_workbook
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables import _workbook_package as workbook_package
from pytest_tablebench.tables.table import Table
from tests.support.own_folders import (
    asked,
    only,
    opened,
    workbook,
    write_folder,
)

LOCKED = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600


def test_a_workbook_has_tables_by_sheet_and_questions(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", {})
    workbook(folder / "shop.xlsx", Tea=[["kind", "price"], ["green", 2.5]], Rest=[["a"], [1]])
    workbook(
        folder / "questions.xlsx",
        Q=[
            ["table", "question", "answer"],
            ["shop.xlsx#Tea", "What does green tea cost?", 2.5],
            ["shop.xlsx#Rest", "How many?", 1.0],
            ["shop.xlsx#Coffee", "How many?", 1],
        ],
    )
    source = only(tmp_path).open(folder)
    first, second = (source.example(name) for name in source.example_ids(None))
    assert first.references == ("2.5",)
    assert first.inputs["table"] == Table(["kind", "price"], [["green", 2.5]])
    assert second.references == ("1",)
    (problem,) = source.problems
    assert (problem.row, problem.field) == (4, "table")
    assert "unknown sheet 'Coffee'" in problem.message


def test_tsv_html_and_semicolons_are_read(tmp_path: Path) -> None:
    files = {
        "a.tsv": "x\ty\n1\t2\n",
        "b.html": "<table><tr><th>x</th></tr><tr><td>1</td></tr></table>",
        "c.csv": "x;y\n1,5;2\n",
        "questions.csv": "table,question,answer\na.tsv,q,1\nb.html,q,1\nc.csv,q,1\n",
    }
    source = opened(tmp_path, files)
    tables = [source.example(name).inputs["table"] for name in source.example_ids(None)]
    assert [table.rows for table in tables] == [(("1", "2"),), (("1",),), (("1,5", "2"),)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "Name, first;Age\nLovelace, Ada;36\nHopper, Grace;85\n",
            [["Name, first", "Age"], ["Lovelace, Ada", "36"], ["Hopper, Grace", "85"]],
        ),
        (
            "City;Area, km2\nParis;105,4\nRome;1285,0\n",
            [["City", "Area, km2"], ["Paris", "105,4"], ["Rome", "1285,0"]],
        ),
        ("a, b, c;d\nx;1\ny, z;2\n", [["a, b, c", "d"], ["x", "1"], ["y, z", "2"]]),
        ("Last, first\tTown\nDoe, J.\tUlm\n", [["Last, first", "Town"], ["Doe, J.", "Ulm"]]),
        ("id,names\n1,x;y\n2,p;q;r\n", [["id", "names"], ["1", "x;y"], ["2", "p;q;r"]]),
        (
            "id,year,alias;name\n1,2020,x;y\n2,2021,p;q\n",
            [["id", "year", "alias;name"], ["1", "2020", "x;y"], ["2", "2021", "p;q"]],
        ),
        ("name,marks\nAda,1;2\nBo,3;4\n", [["name", "marks"], ["Ada", "1;2"], ["Bo", "3;4"]]),
        ("sep=;\nname;x\ntea, green;5\n", [["name", "x"], ["tea, green", "5"]]),
        ('"SEP=|"\r\nname|x\r\ntea|5\r\n', [["name", "x"], ["tea", "5"]]),
        (
            "Tea;Price, net\nOolong;€ 1,50\nMate;2,30 kg\n",
            [["Tea", "Price, net"], ["Oolong", "€ 1,50"], ["Mate", "2,30 kg"]],
        ),
    ],
)
def test_the_separator_fits_all_lines_and_leaves_numbers_whole(
    text: str, lines: list[list[str]], tmp_path: Path
) -> None:
    questions = "table,question,answer\na.csv,How many lines?,3\n"
    table = (
        opened(tmp_path, {"a.csv": text, "questions.csv": questions}).example("2").inputs["table"]
    )
    assert [list(line) for line in table.lines] == lines


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("name\nJosé\n".encode("latin-1"), "latin-1"),
        ("name\nJosé €\n".encode("cp1252"), "cp1252"),
        ("name\nJosé\n".encode("utf-16"), "utf-16"),
        ("name\nJosé\n".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_other_encodings_are_read_and_named(data: bytes, encoding: str, tmp_path: Path) -> None:
    text = "table,question,answer\na.csv,Who?,José\n"
    files: dict[str, str | bytes] = {"a.csv": data, "questions.csv": text}
    source = opened(tmp_path, files)
    assert source.example("2").inputs["table"].rows[0][0].startswith("José")
    assert source.facts.notes == (f"a.csv was read as {encoding}",)


def test_the_folder_names_the_encoding_of_its_files(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.csv": "名称\n茶\n".encode("gb18030"),
        "questions.csv": "table,question,answer\na.csv,?,茶\n",
        "tablebench.toml": 'encoding = "gbk"\n',
    }
    source = opened(tmp_path, files)
    assert source.example("2").inputs["table"].lines == (("名称",), ("茶",))


def sheet(folder: Path, *rows: list[object]) -> bytes:
    workbook(folder / "made.xlsx", S=list(rows))
    return (folder / "made.xlsx").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("sep.csv", "sep=;\na;b\n1\n", "sep.csv: line 3: 1 cell, the header has 2"),
        ("long.csv", "a\n" + "1\n" * 4, "long.csv: more than 3 rows"),
        ("long.xlsx", [["a"], [1], [2], [3], [4]], "has a sheet of more than 3 rows"),
        ("wide.xlsx", [["a", "b", "c"], [1, 2, 3]], "has a sheet of more than 5 cells"),
        ("wide.csv", "a,b\n" + "1," * 600_000, "line 2: longer than 1,000,000 characters"),
        ("formula.xlsx", [["a", "b"], [1, "=A2+1"]], "B2 has a formula that was never calculated"),
        ("locked.xlsx", LOCKED, "locked.xlsx: is protected by a password"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 15 else "",
)
def test_a_table_that_cannot_be_read_is_named(
    name: str, content: Any, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lines, "MOST_ROWS", 3)
    monkeypatch.setattr(folder_workbook, "MOST_ROWS", 3)
    monkeypatch.setattr(folder_workbook, "_MOST_CELLS", 5)
    data = sheet(tmp_path, *content) if isinstance(content, list) else content
    (line,) = asked(name, {name: data}, tmp_path)
    assert problem in line


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than three values are a large workbook."""
    monkeypatch.setattr(workbook_package, "MAX_FILLED", 3)


@pytest.mark.usefixtures("small_limit")
def test_a_large_sheet_has_its_stored_values(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    sheet = book.create_sheet("Prices")
    sheet["B3"], sheet["C3"] = "day", 2020
    sheet["B4"], sheet["C4"] = dt.date(2020, 1, 2), 0.25
    sheet["B6"], sheet["C6"] = dt.timedelta(hours=26), True
    sheet["C4"].number_format = "0%"
    book.create_sheet("Other")["A1"] = "x"
    book.create_sheet("Secret").sheet_state = "hidden"
    book.save(tmp_path / "l.xlsx")
    read = folder_workbook.read_sheet(tmp_path / "l.xlsx", None)
    assert read.table.lines == (
        ("day", "2020"),
        ("2020-01-02", 0.25),
        (None, None),
        ("26:00:00", True),
    )
    assert (read.sheet, read.others) == ("Prices", ("Other",))
    assert ([*read.rows], [*read.columns]) == ([3, 4, 5, 6], [2, 3])
    assert read.notes[0] == "1 hidden sheet not sent"
    assert "stored values of all cells are sent" in read.notes[1]
    assert folder_workbook.sheet_names(tmp_path / "l.xlsx") == ["Prices", "Other"]


@pytest.mark.parametrize(
    ("sheet", "problem"),
    [
        ("Merged", "sheet 'Merged' has merged cells; they are read only in workbooks of at most"),
        ("Secret", "sheet 'Secret' is hidden; show it"),
        ("Mergd", "unknown sheet 'Mergd'; did you mean 'Merged'?"),
        ("Empty", "sheet 'Empty' is empty; its first row must be the header"),
        ("a\0b\udcff", "; known: Merged, Empty"),
    ],
)
@pytest.mark.usefixtures("small_limit")
def test_a_sheet_of_a_large_workbook_is_refused(sheet: str, problem: str, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    book.create_sheet("Merged")
    for number in range(4):
        book["Merged"].append([number, number])
    book["Merged"].merge_cells("A1:B1")
    book.create_sheet("Empty")
    book.create_sheet("Secret").sheet_state = "hidden"
    book.save(tmp_path / "l.xlsx")
    with pytest.raises(DataError, match=re.escape(problem)):
        folder_workbook.read_sheet(tmp_path / "l.xlsx", sheet)


@pytest.mark.usefixtures("small_limit")
def test_a_formula_without_value_is_named_in_a_large_workbook_too(tmp_path: Path) -> None:
    workbook(tmp_path / "f.xlsx", S=[["a", "b"], [1, 2], [3, "=A2+1"]])
    with pytest.raises(DataError, match="has formulas that were never calculated"):
        folder_workbook.read_sheet(tmp_path / "f.xlsx", None)


def test_several_tables_are_in_the_prompt_in_order(tmp_path: Path) -> None:
    files = {
        "a.csv": "x\n1\n",
        "b.csv": "y\n2\n",
        "questions.csv": "table,question,answer\na.csv | b.csv,What is x + y?,3\n",
    }
    example = opened(tmp_path, files).example("2")
    prompt = only(tmp_path).prompt(example, lambda table: f"<{table.header[0]}>")
    assert prompt.source == "Table 1:\n<x>\n\nTable 2:\n<y>\n\nQuestion: What is x + y?\n"


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_workbook, "_MOST_UNPACKED", 1 << 20)
    sheet(tmp_path, ["a"], [1])
    with zipfile.ZipFile(tmp_path / "made.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros", b"\0" * (1 << 20))
    (problem,) = asked("b.xlsx", {"b.xlsx": (tmp_path / "made.xlsx").read_bytes()}, tmp_path)
    assert "would unpack to" in problem


def test_a_workbook_with_macros_is_read_without_running_them(tmp_path: Path) -> None:
    sheet(tmp_path, ["a"], [1])
    with zipfile.ZipFile(tmp_path / "made.xlsx", "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"macro")
    files: dict[str, str | bytes] = {
        "m.xlsm": (tmp_path / "made.xlsx").read_bytes(),
        "questions.csv": "table,question,answer\nm.xlsm,What?,1\n",
    }
    source = opened(tmp_path, files)
    assert source.example("2").inputs["table"].rows == ((1,),)


def test_parquet_without_its_package_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (problem,) = asked("x.parquet", {"x.parquet": b"PAR1"}, tmp_path)
    assert "pip install 'pytest-tablebench[parquet]'" in problem


def test_parquet_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    folder = write_folder(
        tmp_path / "mine", {"questions.csv": "table,question,answer\nx.parquet,What?,1\n"}
    )
    pd.DataFrame({"a": [1]}).to_parquet(folder / "x.parquet")
    source = only(tmp_path).open(folder)
    assert source.example("2").inputs["table"] == Table(["a"], [[1]])


def test_merged_cells_are_read_with_their_spans(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["product", "sales", None], [None, "2023", "2024"], ["tea", 3, 4]):
        sheet.append(row)
    sheet.merge_cells("B1:C1")
    book.save(tmp_path / "m.xlsx")
    html = (
        "<table><tr><th rowspan=2>product</th><th colspan=2>sales</th></tr>"
        "<tr><th>2023</th><th>2024</th></tr><tr><td>tea</td><td>3</td><td>4</td></tr></table>"
    )
    questions = (
        "table,question,answer,title\nm.xlsx,Sales of tea in 2024?,4,Shop\n"
        "m.html,Sales of tea in 2024?,4,\n"
    )
    files: dict[str, str | bytes] = {"m.xlsx": (tmp_path / "m.xlsx").read_bytes(), "m.html": html}
    source = opened(tmp_path, {**files, "questions.csv": questions})
    assert source.problems == []
    for name in source.example_ids(None):
        table = source.example(name).inputs["table"]
        assert table.is_structured
        assert table.path(0, 2).column == ("sales", "2024")
    assert source.example("2").inputs["table"].title == "Shop"
