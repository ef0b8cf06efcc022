"""Workbooks of a dataset folder: the model gets only what Excel shows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import openpyxl
import pytest

from pytest_tablebench import Table
from pytest_tablebench.cli import main
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets.folder import _lines
from pytest_tablebench.metrics import METRICS, Score
from tests.support.nasty_workbooks import nasty_workbook
from tests.support.own_folders import asked, only, opened, write_folder

FORMATS = ("General", '#,##0.00 "euro"', "0%", "dd/mm/yyyy", "#,##0;(#,##0)")
ROWS = [
    ["tea", 1234.5, 0.5, dt.date(2024, 3, 5), -1200],
    ["coffee", 3.1, 0.375, dt.date(2024, 5, 3), 40],
]


def shop(folder: Path) -> Path:
    """Write a workbook with formats, a hidden row, column and sheet, and a second sheet."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Shop"
    sheet.append(["item", "price", "share", "since", "profit", "secret"])
    for row in [ROWS[0], ["hidden", 1, 1, dt.date(2020, 1, 1), 1], ROWS[1]]:
        sheet.append([*row, "s3cret"])
    for line in sheet.iter_rows(min_row=2):
        for cell, code in zip(line, FORMATS, strict=False):
            cell.number_format = code
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["F"].hidden = True
    book.create_sheet("Old").sheet_state = "hidden"
    book["Old"].append(["x"])
    book.create_sheet("Rest").append(["y"])
    path = folder / "shop.xlsx"
    book.save(path)
    return path


def example(tmp_path: Path, answer: str, settings: str = "") -> Example:
    """Return a question about the workbook."""
    tmp_path.mkdir(exist_ok=True)
    data = shop(tmp_path).read_bytes()
    questions = f"table,question,answer\nshop.xlsx,What is it?,{answer}\n"
    files: dict[str, str | bytes] = {"shop.xlsx": data, "questions.csv": questions}
    return opened(tmp_path, {**files, "tablebench.toml": settings}).example("2")


def is_right(case: Example, reply: str) -> bool:
    score = METRICS["typed_answer"](reply, case.references, **case.context)
    assert isinstance(score, Score)
    return score.value == 1


def test_cells_have_the_text_that_excel_shows_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    assert example(tmp_path, "tea").inputs["table"] == Table(
        ["item", "price", "share", "since", "profit"],
        [
            ["tea", "1,234.50 euro", "50%", "05/03/2024", "(1,200)"],
            ["coffee", "3.10 euro", "38%", "03/05/2024", 40],
        ],
    )


def test_hidden_rows_columns_and_sheets_are_sent_if_the_settings_say_so(tmp_path: Path) -> None:
    table = example(tmp_path, "tea", "include_hidden = true\n").inputs["table"]
    assert table.header[-1] == "secret"
    assert [row[0] for row in table.rows] == ["tea", "hidden", "coffee"]


@pytest.mark.parametrize(
    ("answer", "right", "wrong"),
    [
        ("0.5", ["50%", "0.5"], ["38%", "0.375"]),
        ("50%", ["0.5"], []),
        ("1234.5", ["1,234.50 euro"], []),
        ("2024-03-05", ["05/03/2024"], []),
        ("05/03/2024", ["2024-03-05"], []),
        ("-1200", ["(1,200)"], []),
        ("0.375", ["38%"], []),
    ],
)
def test_the_stored_and_the_shown_value_are_both_right_and_another_one_is_wrong(
    answer: str, right: list[str], wrong: list[str], tmp_path: Path
) -> None:
    case = example(tmp_path, answer)
    assert [reply for reply in right + wrong if is_right(case, reply)] == right


def test_a_stored_value_that_is_shown_in_two_formats_has_no_second_form(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["a", "b", "c"])
    book.worksheets[0].append([0.5, 0.5, 1])
    book.worksheets[0].append([1, 2, 3])
    for place, code in (("A2", "0%"), ("B2", "0.00"), ("A3", "0%")):
        book.worksheets[0][place].number_format = code
    book.save(tmp_path / "b.xlsx")
    data = (tmp_path / "b.xlsx").read_bytes()
    questions = "table,question,answer\nb.xlsx,Which?,0.5\nb.xlsx,What?,1\nb.xlsx,How?,50%\n"
    source = opened(tmp_path, {"b.xlsx": data, "questions.csv": questions})
    aliases = [source.example(name).context["aliases"] for name in ("2", "3", "4")]
    # The second answer is a cell of column c; 100% is another cell.
    assert aliases == [{}, {}, {"50%": ("0.5",)}]


def test_a_hidden_sheet_is_refused_by_name(tmp_path: Path) -> None:
    data = shop(tmp_path).read_bytes()
    (problem,) = asked("shop.xlsx#Old", {"shop.xlsx": data}, tmp_path)
    assert "shop.xlsx: sheet 'Old' is hidden; show it, or write include_hidden = true" in problem


def test_check_and_the_run_name_what_is_not_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example(tmp_path, "tea")
    assert main(["check", str(tmp_path / "mine")]) == 1
    dates, *lines = capsys.readouterr().out.splitlines()
    assert "dates such as '05/03/2024' can be read in two ways" in dates
    assert lines[:2] == [
        "mine: shop.xlsx#Shop: 1 hidden row and 1 hidden column and 1 hidden sheet not sent; "
        "include_hidden = true in tablebench.toml sends them",
        "mine: shop.xlsx: no question names the sheet 'Rest'",
    ]
    notes = only(tmp_path / "mine").open(tmp_path / "mine").facts.notes
    assert [f"mine: {note}" for note in notes] == lines[:2]


def test_a_merged_cell_keeps_its_text_if_its_first_column_is_hidden(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["Sales", None, None], ["x", "2023", "2024"], ["p", 1, 2], ["q", 3, 4]):
        sheet.append(row)
    sheet.merge_cells("A1:C1")
    sheet.column_dimensions["A"].hidden = True
    book.save(tmp_path / "m.xlsx")
    questions = "table,question,answer\nm.xlsx,What?,4\n"
    data = (tmp_path / "m.xlsx").read_bytes()
    files: dict[str, str | bytes] = {"m.xlsx": data, "questions.csv": questions}
    table = opened(tmp_path, files).example("2").inputs["table"]
    assert [span[2:] for span in table.spans] == [(1, 2)]
    assert table.lines[0] == ("Sales", "")
    assert table.lines[1:] == (("2023", "2024"), (1, 2), (3, 4))


def test_an_unknown_number_format_is_named_and_the_stored_value_kept(
    tmp_path: Path,
) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["a"])
    book.worksheets[0].append([7])
    book.worksheets[0]["A2"].number_format = "[DBNum1]0"
    book.save(tmp_path / "d.xlsx")
    questions = "table,question,answer\nd.xlsx,What?,7\n"
    data = (tmp_path / "d.xlsx").read_bytes()
    files: dict[str, str | bytes] = {"d.xlsx": data, "questions.csv": questions}
    source = opened(tmp_path, files)
    assert source.example("2").inputs["table"].rows == ((7,),)
    assert (
        "formats that are not understood: '[DBNum1]0'; the stored values" in source.facts.notes[0]
    )


def test_hidden_rows_of_a_workbook_of_questions_are_asked(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["question", "answer", "tolerance"], ["A?", 0.5, 0.02], ["B?", 3, None]):
        book.worksheets[0].append(row)
    book.worksheets[0].row_dimensions[3].hidden = True
    for place in ("B2", "C2"):
        book.worksheets[0][place].number_format = "0%"
    book.save(tmp_path / "q.xlsx")
    source = opened(tmp_path, {"questions.xlsx": (tmp_path / "q.xlsx").read_bytes()})
    assert source.example_ids(None) == ["2", "3"]
    assert source.example("2").references == ("50%",)
    assert source.example("2").context["tolerance"] == "2%"


def test_a_text_shared_by_thousands_of_cells_is_not_copied(tmp_path: Path) -> None:
    rows = "<row>" + "<c t='s'><v>0</v></c>" * 1000 + "</row>"
    lines = "&#10;" * 30_000
    file = nasty_workbook(
        tmp_path / "lines.xlsx", f"<sheetData>{rows}</sheetData>", f"<si><t>a{lines}</t></si>"
    )
    (problem,) = asked("lines.xlsx", {"lines.xlsx": file.read_bytes()}, tmp_path)
    assert "more than 20,000,000 characters in its cells" in problem


SETTINGS = {
    "dotted": ("a" + ".a" * 40_000 + " = 1", "a key of more than 8 parts"),
    "dotted and quoted": ("[" + '"a".' * 20_000 + "a]", "a key of more than 8 parts"),
    "deep": ("a = " + "[" * 50_000, "brackets are nested too deeply"),
    "long number": ("a = " + "9" * 60_000, "tablebench.toml: "),
}


@pytest.mark.parametrize(("text", "message"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_parsed_are_one_line_of_output(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"tablebench.toml": text, "questions.csv": "question,answer\nA?,yes\n"}
    write_folder(tmp_path / "mine", dict(files))
    assert main(["check", str(tmp_path)]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("mine/tablebench.toml: ")
    assert message in first
    assert last.endswith("1 problem")


def test_dots_in_texts_and_comments_of_the_settings_are_no_keys(tmp_path: Path) -> None:
    text = '# a.b.c.d.e.f.g.h.i.j\n[defaults]\ninstruction = """a.b.c.d.e.f.g.h.i\n"quoted" x"""\n'
    source = opened(
        tmp_path, {"tablebench.toml": text, "questions.csv": "question,answer\nA?,yes\n"}
    )
    assert source.example_ids(None) == ["2"]


WIDE = {
    "columns": (",".join("a" * 20_000), "line 1: 20,000 columns so far; at most 16,384"),
    "cells": ((",".join("a" * 10_000) + "\n") * 101, "line 101: 1,010,000 cells so far"),
}


@pytest.mark.parametrize(("text", "message"), WIDE.values(), ids=WIDE)
def test_a_wide_csv_is_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lines, "MOST_CELLS", 1_000_000)
    (problem,) = asked("wide.csv", {"wide.csv": text}, tmp_path)
    assert message in problem


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("price.csv", "prices.csv"),
        ("Prices.CSV", "prices.csv"),
        ("tables\\\\x.csv", "tables/x.csv"),
    ],
)
def test_a_misspelt_file_is_refused_with_the_nearest_name(
    written: str, near: str, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/tables").mkdir()
    (tmp_path / "mine/tables/x.csv").write_text("a\n1\n")
    (tmp_path / "mine/prices.csv").write_text("a\n1\n")
    name = written.replace("\\\\", "\\")
    (tmp_path / "mine/questions.csv").write_text(f"table,question,answer\n{name},A?,1\n")
    source = only(tmp_path).open(tmp_path / "mine")
    assert str(source.problems[0]).endswith(f"does not exist in the folder; did you mean {near}?")
