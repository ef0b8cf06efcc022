"""`tablebench convert`: a table file in the formats of prompts."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import openpyxl
import pytest
from PIL import Image

from pytest_tablebench.cli import main
from pytest_tablebench.tables.table import Table

HTML = (
    "<table><tr><th rowspan=2>Region</th><th colspan=2>2020</th></tr>"
    "<tr><th>Q1</th><th>Q2</th></tr><tr><th>North \x07</th><td>5</td><td>6</td></tr></table>"
)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "sales.html"
    path.write_text(HTML, "utf-8")
    return path


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("latex", r"\multicolumn{2}"),
        ("html", 'colspan="2"'),
        ("markdown", "|  0 |          | Q1     | Q2 |"),
        ("json", '"2020": "Q1"'),
    ],
)
def test_convert_prints_a_table_with_its_header_levels(
    page: Path, capsys: pytest.CaptureFixture[str], form: str, words: str
) -> None:
    assert main(["convert", str(page), "--to", form]) == 0
    printed = capsys.readouterr().out
    assert words in printed
    assert "North" in printed
    assert "\x07" not in printed


def test_convert_writes_a_workbook_as_csv_and_as_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "ages.xlsx"
    Table(["name", "age"], [["Ada, B.", 36]]).to_xlsx(book)
    assert main(["convert", str(book), "--to", "csv", "-o", str(tmp_path / "ages.csv")]) == 0
    written = (tmp_path / "ages.csv").read_text("utf-8")
    assert list(csv.reader(io.StringIO(written))) == [["name", "age"], ["Ada, B.", "36"]]
    drawn = tmp_path / "ages.png"
    assert main(["convert", str(book), "--to", "png", "-o", str(drawn)]) == 0
    with Image.open(drawn) as picture:
        assert picture.size[0] > 50
    capsys.readouterr()
    # A file that exists stays as it is.
    assert main(["convert", str(book), "--to", "png", "-o", str(drawn)]) == 2
    assert "ages.png (File exists)" in capsys.readouterr().err


def test_converting_to_a_picture_needs_an_output_file(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(page), "--to", "png"]) == 2
    assert capsys.readouterr().err == "tablebench: --to png needs -o FILE\n"
    assert main(["convert", str(page.with_suffix(".txt")), "--to", "csv"]) == 2


def test_convert_reads_a_table_as_a_run_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["first"])
    sheet = book.create_sheet("Rest")
    for row in (["Shares"], ["who", "share"], ["Ada", 0.5], ["hidden", 0.7], ["Bo", 0.25]):
        sheet.append(row)
    for line in range(3, 6):
        sheet.cell(line, 2).number_format = "0%"
    sheet.row_dimensions[4].hidden = True
    (tmp_path / "tables").mkdir()
    book.save(tmp_path / "tables/b.xlsx")
    (tmp_path / "tables/l.csv").write_bytes("who;share\nJosé;1,5\n".encode("latin-1"))
    settings = '[tables."tables/b.xlsx#Rest"]\nheader_row = 2\n'
    (tmp_path / "tablebench.toml").write_text(settings, "utf-8")
    expected = "who,share\nAda,50%\nBo,25%\n"
    path = str(tmp_path / "tables/b.xlsx")
    for words in ([f"{path}#Rest"], [path, "--sheet=Rest"]):
        assert main(["convert", *words, "--to", "csv"]) == 0
        printed = capsys.readouterr()
        assert printed.out == expected
        assert "note: tables/b.xlsx#Rest: 1 hidden row not sent" in printed.err
    assert main(["convert", str(tmp_path / "tables/l.csv"), "--to", "csv"]) == 0
    assert capsys.readouterr().out == 'who,share\nJosé,"1,5"\n'
