"""The part of a file that is its table: several tables, titles, labels, and their settings."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.folder import folder_datasets
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_part import Area, area_of, header_line, labelled_area, tables_in
from tests.support.own_folders import only, problems, workbook, write_folder

Cells = list[list[object]]

PAGE = (
    "<!-- <table></table> --><table><tr><th>port</th><th>berths</th></tr>"
    "<tr><td><table><tr><td>Hallin</td></tr></table></td><td>12</td></tr></table><p>and</p>"
    "<table><tr><th>town</th><th>area</th></tr><tr><td>Ulm</td><td>118</td></tr></table>"
)
STACKED: Cells = [
    ["Shops"],
    [],
    ["shop", "staff"],
    ["North", 4],
    ["South", 5],
    [],
    ["Towns"],
    ["town", "area", "since"],
    ["Ulm", 118, 1181],
]
BESIDE: Cells = [
    ["shop", "staff", None, "town", "area"],
    ["North", 4, None, "Ulm", 118],
    ["South", 5],
]
TITLED: Cells = [["Staff of 2024"], ["without trainees"], [], ["shop", "staff"], ["North", 4]]
LABELLED: Cells = [[None, "A", "B"], [1, "shop", "staff"], [2, "North", 4], [3, "South", 5]]


def folder(tmp_path: Path, file: str, settings: str = "") -> RowSource[FolderQuestion]:
    """Open a folder with one question about a file that is there, and settings of the file."""
    mine = tmp_path / "mine"
    (mine / "questions.csv").write_text(f"table,question,answer\n{file},How many?,4\n", "utf-8")
    if settings:
        (mine / "tablebench.toml").write_text(f'[tables."{file}"]\n{settings}\n', "utf-8")
    return only(tmp_path).open(mine)


def with_sheet(tmp_path: Path, rows: Cells) -> str:
    mine = write_folder(tmp_path / "mine", {})
    workbook(mine / "t.xlsx", S=rows)
    return "t.xlsx#S"


def sent(source: RowSource[FolderQuestion]) -> Table:
    assert source.problems == []
    table = source.example("2").inputs["table"]
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize(
    ("rows", "areas"),
    [
        (STACKED, [Area(2, 0, 4, 1), Area(7, 0, 8, 2)]),
        (BESIDE, [Area(0, 0, 2, 1), Area(0, 3, 1, 4)]),
        (TITLED, [Area(3, 0, 4, 1)]),
        # Rows of totals have no names, and only one of the two pieces names its rows.
        ([["a", "b"], ["x", 1], [], ["all", 1], ["mean", 1]], [Area(0, 0, 1, 1)]),
        (
            [["shop", "2023", None, "2024", "more"], ["North", 4, None, 5, 6]],
            [Area(0, 0, 1, 4)],
        ),
        ([], []),
        ([[None], []], []),
    ],
)
def test_empty_lines_and_columns_separate_tables(rows: Cells, areas: list[Area]) -> None:
    assert tables_in(rows) == areas


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (TITLED, 3),
        ([["Source:", "a survey"], ["a", "b", "c", "d"], ["x", 1, 2, 3]], 1),
        ([["shop", None], ["North", 4], ["South", 5]], 0),
        ([[None, None, "2024"], ["shop", "staff", "area"], ["North", 4, 5]], 0),
    ],
)
def test_lines_of_one_cell_above_the_names_are_titles(rows: Cells, line: int) -> None:
    assert header_line(rows) == line


@pytest.mark.parametrize(
    ("rows", "area"),
    [
        (LABELLED, Area(1, 1, 3, 2)),
        ([["A", "B"], ["shop", "staff"], ["North", 4]], Area(1, 0, 2, 1)),
        ([["A", "B"], [1, 2], [3, 4]], None),
        ([["", "A", "B"], ["x", 1, 2], ["y", 1, 2]], None),
    ],
)
def test_letters_and_numbers_around_a_table_are_labels(rows: Cells, area: Area | None) -> None:
    assert labelled_area(rows) == area


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("B4:F20", Area(3, 1, 19, 5)),
        ("a1:AB2", Area(0, 0, 1, 27)),
        ("B4", None),
        ("F20:B4", None),
        ("A1:B1", None),
    ],
)
def test_a_range_has_two_corners(text: str, area: Area | None) -> None:
    assert area_of(text) == area


SECOND = 'range = "A8:C9" under [tables."t.xlsx#S"] in tablebench.toml sends the second alone'
NOTES = {
    "stacked": (STACKED, f"2 tables (A3:B5, A8:C9) are sent as one; table = 2 or {SECOND}"),
    "titled": (
        TITLED,
        "'Staff of 2024' in row 1 looks like a title and is sent as the header; header_row = 4 "
        'under [tables."t.xlsx#S"] in tablebench.toml takes the names below it',
    ),
    "labelled": (
        LABELLED,
        "the first row and column look like the labels of a spreadsheet program and are sent; "
        'range = "B2:C4" under [tables."t.xlsx#S"] in tablebench.toml leaves them out',
    ),
}


@pytest.mark.parametrize("case", NOTES)
def test_a_sheet_is_sent_whole_and_the_run_says_what_it_may_be(case: str, tmp_path: Path) -> None:
    rows, note = NOTES[case]
    source = folder(tmp_path, with_sheet(tmp_path, rows))
    assert len(sent(source).lines) == len(rows)
    assert source.facts.notes == (f"t.xlsx#S: {note}",)


@pytest.mark.parametrize(
    ("rows", "settings", "lines"),
    [
        (STACKED, "table = 2", [("town", "area", "since"), ("Ulm", 118, 1181)]),
        (STACKED, "table = 1\nheader_row = 4", [("North", "4"), ("South", 5)]),
        (BESIDE, 'range = "D1:E2"', [("town", "area"), ("Ulm", 118)]),
        (TITLED, "header_row = 4", [("shop", "staff"), ("North", 4)]),
        ([[], ["a", "b"], [1, 2]], "header_row = 1", [("a", "b"), (1, 2)]),
        (LABELLED, 'range = "B2:C4"', [("shop", "staff"), ("North", 4), ("South", 5)]),
    ],
)
def test_a_setting_takes_a_part_of_a_sheet_without_a_note(
    rows: Cells, settings: str, lines: list[tuple[object, ...]], tmp_path: Path
) -> None:
    source = folder(tmp_path, with_sheet(tmp_path, rows), settings)
    assert list(sent(source).lines) == lines
    assert source.facts.notes == ()


def test_rows_of_a_sheet_keep_their_numbers_without_hidden_ones(tmp_path: Path) -> None:
    mine = write_folder(tmp_path / "mine", {})
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    rows: list[list[str | int | None]] = [
        ["Staff"],
        ["hidden"],
        [None, "shop", "staff", "old"],
        [None, "North", 4, 3],
    ]
    for place, row in enumerate(rows, start=2):  # the first row and column are empty
        for column, value in enumerate(row, start=2):
            sheet.cell(place, column, value)
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["E"].hidden = True
    sheet.merge_cells("B2:D2")
    book.save(mine / "t.xlsx")
    # The title is merged; without it no cell is, and the table is flat.
    table = sent(folder(tmp_path, "t.xlsx", 'range = "C4:D5"'))
    assert (table, table.is_structured) == (Table(["shop", "staff"], [["North", 4]]), False)


def test_merged_headers_of_a_range_keep_their_structure(tmp_path: Path) -> None:
    mine = write_folder(tmp_path / "mine", {})
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["Staff"], [], ["shop", "staff", None], [None, "2023", "2024"], ["North", 3, 4]):
        sheet.append(row)
    sheet.merge_cells("B3:C3")
    book.save(mine / "t.xlsx")
    table = sent(folder(tmp_path, "t.xlsx", "header_row = 3"))
    assert table.captions == ()
    assert table.path(0, 2).column == ("staff", "2024")


def test_another_table_of_a_page_is_named_and_can_be_sent(tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", {"p.html": PAGE})
    source = folder(tmp_path, "p.html")
    assert sent(source).rows == (("Hallin", "12"),)
    assert source.facts.notes == (
        "p.html: has another table, of 'town', 'area'; the first, of 'port', 'berths', is sent; "
        'table = 3 under [tables."p.html"] in tablebench.toml sends the other one',
    )
    source = folder(tmp_path, "p.html", "table = 3")
    assert sent(source) == Table(["town", "area"], [["Ulm", "118"]])
    assert source.facts.notes == ()


def test_the_tables_of_a_long_page_are_counted_without_reading_them(tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", {"p.html": f"{PAGE}{' ' * 1_000_000}"})
    (note,) = folder(tmp_path, "p.html").facts.notes
    assert note.startswith("p.html: has 1 table after the first, which is sent; table = 3 under")


def test_both_tables_of_a_page_can_be_sent(tmp_path: Path) -> None:
    mine = write_folder(tmp_path / "mine", {"p.html": PAGE})
    (mine / "questions.csv").write_text("table,question,answer\np.html | p.html#2,How many?,4\n")
    (mine / "tablebench.toml").write_text(
        '[tables."p.html"]\ntable = 1\n[tables."p.html#2"]\ntable = 3\n'
    )
    inputs = only(tmp_path).open(mine).example("2").inputs
    assert [inputs[f"table {n}"].header for n in (1, 2)] == [("port", "berths"), ("town", "area")]


def test_a_title_in_a_page_of_short_rows_is_left_out(tmp_path: Path) -> None:
    page = (
        "<table><tr><td>Staff</td></tr><tr><td>shop</td><td>staff</td></tr>"
        "<tr><td>North</td><td>4</td></tr></table>"
    )
    write_folder(tmp_path / "mine", {"p.html": page + page})
    (problem,) = folder(tmp_path, "p.html").problems
    assert 'titles are above it, header_row = 2 under [tables."p.html"]' in str(problem)
    assert str(problem).endswith(
        'table = 2 under [tables."p.html"] in tablebench.toml sends the next'
    )
    assert sent(folder(tmp_path, "p.html", "header_row = 2")) == Table(
        ["shop", "staff"], [["North", "4"]]
    )


@pytest.mark.parametrize(
    ("text", "note", "settings"),
    [
        ("a,b\n1,2\n\nx,y\n3,4\n", "2 tables (A1:B2, A4:B5) are sent as one", "table = 2"),
        ("a;b;\n1;2;\n;;\nx;y;z\n3;4;5\n", "2 tables (A1:B2, A4:C5) are sent", 'range="A4:B5"'),
        (
            '"Staff\nof 2024";\n\nx;y\n3;4\n',
            "'Staff of 2024' in row 1 looks like",
            "header_row=3",
        ),
    ],
)
def test_parts_of_csv_have_the_rows_of_a_spreadsheet_program(
    text: str, note: str, settings: str, tmp_path: Path
) -> None:
    write_folder(tmp_path / "mine", {"t.csv": text})
    (line,) = folder(tmp_path, "t.csv").facts.notes
    assert line.startswith(f"t.csv: {note}")
    assert sent(folder(tmp_path, "t.csv", settings)) == Table(["x", "y"], [["3", "4"]])


def test_a_title_of_one_cell_above_csv_names_the_setting(tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", {"t.csv": "Staff, 2024\nshop;staff;area\nNorth;4;1,5\n"})
    folder(tmp_path, "t.csv", "header_row = 2")
    assert sent(folder(tmp_path, "t.csv")).rows == (("North", "4", "1,5"),)
    (tmp_path / "mine/tablebench.toml").unlink()
    (tmp_path / "mine/t.csv").write_text("Staff\nshop,staff\nNorth,4\n")
    (problem,) = problems(tmp_path)
    assert 'titles are above it, header_row = 2 under [tables."t.csv"] in tablebench' in problem


def test_a_pattern_sets_several_files(tmp_path: Path) -> None:
    mine = write_folder(tmp_path / "mine", {"a.csv": "T,\nx,y\n3,4\n", "b.csv": "x,y\n3,4\n"})
    questions = "table,question,answer\na.csv,How?,4\nb.csv,How?,4\n"
    (mine / "questions.csv").write_text(questions)
    (mine / "tablebench.toml").write_text(
        '[tables."*.csv"]\nheader_row = 2\n[tables."b.csv"]\nheader_row = 1\n[tables.c]\ntable = 1'
    )
    source = only(tmp_path).open(mine)
    assert [source.example(name).inputs["table"].header for name in "23"] == [("x", "y")] * 2
    assert source.facts.notes == ('[tables."c"]: no question names such a table',)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("table = 3", "t.xlsx: table = 3: has 2 tables"),
        ("header_row = 20", "t.xlsx: header_row = 20: no row from there"),
        ('range = "A1:D99"', "t.xlsx: range = 'A1:D99' is beyond the last cell, C9"),
        ('range = "all"', "tables.'t.xlsx#S': range must be two corners, as B4:F20"),
        ('range = "A1:B2"\ntable = 1', "tables.'t.xlsx#S': range excludes table and header_row"),
    ],
)
def test_a_setting_that_fits_no_part_is_refused(
    settings: str, message: str, tmp_path: Path
) -> None:
    source = folder(tmp_path, with_sheet(tmp_path, STACKED), settings)
    (problem,) = source.problems
    assert message in str(problem)


def test_only_a_workbook_has_sheets(tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", {"t.csv": "a\n1\n"})
    (problem,) = folder(tmp_path, "t.csv#S").problems
    assert "t.csv: only a workbook has sheets; leave out '#S'" in str(problem)


def test_fix_keeps_the_empty_column_between_two_tables(tmp_path: Path) -> None:
    text = "a,b,,x,y\nm,1,,n,2\n"
    path = write_folder(tmp_path / "mine", {"t.csv": text}) / "t.csv"
    folder(tmp_path, "t.csv")
    main(["check", str(tmp_path), "--fix"])
    assert path.read_text() == text


def test_tables_of_a_described_dataset_have_notes_and_settings(tmp_path: Path) -> None:
    description = (
        '[files]\ntest = "q.csv"\n[rows]\nquestion = "q"\nanswers = "a"\n[table]\nfile = "t"\n'
    )
    files = {"q.csv": "q,a,t\nHow many?,4,t.csv\n", "t.csv": "a,b\n1,2\n\nx,y\n3,4\n"}
    mine = write_folder(tmp_path / "mine", {**files, "tablebench.toml": description})
    (dataset,) = folder_datasets(tmp_path)
    (note,) = dataset.open(mine).facts.notes
    assert note.startswith("t.csv: 2 tables (A1:B2, A4:B5) are sent as one")
    (mine / "tablebench.toml").write_text(f'{description}[tables."t.csv"]\ntable = 2\n')
    (dataset,) = folder_datasets(tmp_path)
    source = dataset.open(mine)
    assert source.example("1").inputs["table"].rows == (("3", "4"),)
    assert source.facts.notes == ()


def test_check_says_what_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder(tmp_path, with_sheet(tmp_path, BESIDE))
    main(["check", str(tmp_path)])
    assert "mine: t.xlsx#S: 2 tables (A1:B3, D1:E2) are sent as one" in capsys.readouterr().out
