"""Reading XLSX and data frames."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.table import Table

# --- XLSX ----------------------------------------------------------------------------------


def _workbook(path: Path, lines: list[list[object]], **sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    first = book.worksheets[0]
    first.title = "First"
    for line in lines:
        first.append(line)
    for title, others in sheets.items():
        sheet = book.create_sheet(title)
        for line in others:
            sheet.append(line)
    book.save(path)
    return path


def test_xlsx_cells_keep_their_type(tmp_path):
    path = _workbook(
        tmp_path / "t.xlsx", [["a", "b", "c", "d"], [1, 1.5, True, "1"], [None, "x", False, -2]]
    )
    table = Table.from_xlsx(path)
    assert repr(table.rows) == repr(((1, 1.5, True, "1"), (None, "x", False, -2)))
    assert table.header == ("a", "b", "c", "d")
    assert table.name == "t.xlsx"
    assert Table.from_xlsx(str(path)) == table


def test_xlsx_dates_become_iso_text(tmp_path):
    path = _workbook(
        tmp_path / "t.xlsx",
        [
            ["date", "moment", "time", "duration"],
            [
                dt.date(2024, 2, 29),
                dt.datetime(2024, 2, 29, 13, 5),
                dt.time(13, 5),
                dt.timedelta(hours=26, seconds=1),
            ],
        ],
    )
    assert Table.from_xlsx(path).rows == (
        ("2024-02-29", "2024-02-29T13:05:00", "13:05:00", "26:00:01"),
    )


def test_xlsx_formulas_give_their_stored_value(tmp_path):
    # A program that does not compute formulas stores no value.
    path = _workbook(tmp_path / "t.xlsx", [["a", "b"], ["=1+1", "x"]])
    assert Table.from_xlsx(path).rows == ((None, "x"),)


def test_xlsx_names_become_text(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", [["Team", 2019, None, "Team"], [1, 2, 3, 4]])
    assert Table.from_xlsx(path).header == ("Team", "2019", "", "Team")


def test_xlsx_table_is_the_block_of_values(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet["C3"], sheet["D3"], sheet["E3"] = "a", "b", "c"
    sheet["C5"], sheet["E5"] = 1, 2
    sheet["XFD1048576"].font = Font(bold=True)  # formatted, without a value
    book.save(tmp_path / "t.xlsx")
    assert Table.from_xlsx(tmp_path / "t.xlsx") == Table(
        ["a", "b", "c"], [[None, None, None], [1, None, 2]]
    )


def test_xlsx_sheets_are_selected_by_name_and_index(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", [["a"]], Second=[["b"], [1]], Empty=[])
    assert Table.from_xlsx(path, sheet="Second") == Table.from_xlsx(path, sheet=1)
    assert Table.from_xlsx(path, sheet=1) == Table(["b"], [[1]])
    with pytest.raises(TableError, match=r"t\.xlsx': unknown sheet 'Secnd'; did you mean 'Second'"):
        Table.from_xlsx(path, sheet="Secnd")
    for index in (3, -1, True):
        with pytest.raises(TableError, match=rf"t\.xlsx': no sheet with index {index}; .* 0 to 2"):
            Table.from_xlsx(path, sheet=index)
    with pytest.raises(TableError, match=r"t\.xlsx', sheet 'Empty' is empty"):
        Table.from_xlsx(path, sheet="Empty")


def test_xlsx_merged_cells_are_refused_naming_range_and_sheet(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Data"
    sheet["A1"] = "a"
    sheet.merge_cells("B4:C5")
    sheet.merge_cells("A1:B1")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(
        TableError, match=r"t\.xlsx', sheet 'Data': cells A1:B1 and 1 more ranges are merged"
    ):
        Table.from_xlsx(tmp_path / "t.xlsx")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 broken"])
def test_xlsx_that_is_no_workbook_is_refused_by_name(tmp_path, content):
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"t\.xlsx' cannot be read as a workbook"):
        Table.from_xlsx(path)


# --- pandas --------------------------------------------------------------------------------


def test_frame_values_become_plain_python():
    frame = pd.DataFrame(
        {
            "int": np.array([1, 2], dtype="int16"),
            "float": np.array([0.5, np.nan], dtype="float32"),
            "bool": [True, False],
            "Int": pd.array([2**62 + 1, None], dtype="Int64"),
            "boolean": pd.array([True, None], dtype="boolean"),
            "text": pd.array(["x", None], dtype="string"),
            "day": [pd.Timestamp("2024-02-29 13:05"), pd.NaT],
            "gap": [pd.Timedelta(hours=26), pd.NaT],
            "kind": pd.Categorical(["u", None]),
            "mixed": pd.Series([np.float64("nan"), np.int64(3)], dtype=object),
            "na": pd.Series([pd.NA, np.bool_(True)], dtype=object),
            "raw": pd.Series([np.datetime64("2024-02-29"), np.timedelta64("NaT")], dtype=object),
            "list": [[1, 2], None],
            "array": pd.Series([np.array([1, 2]), None], dtype=object),
        }
    )
    table = Table.from_pandas(frame, title="title")
    assert table.title == "title"
    assert table.header == tuple(frame.columns)
    columns = dict(zip(table.header, zip(*table.rows, strict=True), strict=True))
    assert repr(columns) == repr(
        {
            "int": (1, 2),
            "float": (0.5, None),
            "bool": (True, False),
            "Int": (2**62 + 1, None),
            "boolean": (True, None),
            "text": ("x", None),
            "day": ("2024-02-29T13:05:00", None),
            "gap": ("26:00:00", None),
            "kind": ("u", None),
            "mixed": (None, 3),
            "na": (None, True),
            "raw": ("2024-02-29T00:00:00", None),
            "list": ([1, 2], None),
            "array": ([1, 2], None),
        }
    )


def test_frames_with_equal_names_and_an_index_are_read():
    frame = pd.DataFrame([[1, "x"], [2, "y"]], columns=["a", "a"], index=["r1", "r2"])
    assert Table.from_pandas(frame) == Table(["a", "a"], [[1, "x"], [2, "y"]])


def test_frames_without_rows_or_columns_are_read():
    assert Table.from_pandas(pd.DataFrame(columns=["a"])) == Table(["a"], [])
    assert Table.from_pandas(pd.DataFrame(index=[0, 1])) == Table([], [[], []])


def test_frame_names_are_unchanged():
    header = Table.from_pandas(pd.DataFrame([[1, 2]], columns=[2019, "x"])).header
    assert repr(header) == "(2019, 'x')"
    assert repr(Table.from_pandas(pd.DataFrame([[1, 2]])).header) == "(0, 1)"


def test_a_column_multiindex_is_refused():
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    with pytest.raises(TableError, match="MultiIndex of 2 levels"):
        Table.from_pandas(pd.DataFrame([[1, 2]], columns=columns))


def test_an_object_that_is_no_frame_is_refused():
    with pytest.raises(TableError, match="a DataFrame is needed, not Series"):
        Table.from_pandas(pd.Series([1]))  # type: ignore[arg-type]


def test_to_pandas_keeps_equal_names_and_infers_types():
    frame = Table(["a", "a", "b"], [[1, "x", None], [2, "y", 1.5]]).to_pandas()
    assert list(frame.columns) == ["a", "a", "b"]
    assert frame.iloc[:, 0].tolist() == [1, 2]
    assert frame.dtypes.iloc[0] == "int64"
    assert frame["b"].isna().tolist() == [True, False]
    pd.testing.assert_frame_equal(
        Table(["a", "b"], [[1, "x"]]).to_pandas(), pd.DataFrame({"a": [1], "b": ["x"]})
    )


def test_to_pandas_keeps_names_that_pandas_would_convert():
    assert list(Table(["a", "b"], []).to_pandas().columns) == ["a", "b"]
    names = [("a", "x"), ("a", "y"), None, 1, "1"]
    frame = Table(names, [[1, 2, 3, 4, 5]]).to_pandas()
    assert not isinstance(frame.columns, pd.MultiIndex)
    assert list(frame.columns) == names


@pytest.mark.parametrize("row", [[1], [1, 2, 3]])
def test_to_pandas_refuses_ragged_rows(row):
    with pytest.raises(
        TableError, match=r"table 't': row 2 has (1 cell|3 cells), the header has 2"
    ):
        Table(["a", "b"], [[1, 2], row], name="t").to_pandas()


@settings(deadline=None)  # data frames are slow to make on a busy machine
@given(
    st.lists(
        st.tuples(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=5)),
        max_size=5,
    )
)
def test_columns_of_one_type_are_unchanged_by_pandas(rows):
    table = Table(["int", "float", "bool", "text"], rows)
    assert repr(Table.from_pandas(table.to_pandas())) == repr(table)


def test_raised_and_struck_parts_of_a_text_have_marks(tmp_path):
    raised, struck = InlineFont(vertAlign="superscript"), InlineFont(strike=True)
    texts = {
        "10⁶": CellRichText("10", TextBlock(raised, "6")),
        "km² (est.)": CellRichText("km", TextBlock(raised, "2"), " (est.)"),
        "12.5^a": CellRichText("12.5", TextBlock(raised, "a")),
        "10¹²": CellRichText("10", TextBlock(raised, "1"), TextBlock(raised, "2")),
        "~~12~~ 13": CellRichText(TextBlock(struck, "12 "), "13"),
        "H2O": CellRichText("H", TextBlock(InlineFont(vertAlign="subscript"), "2"), "O"),
    }
    book = openpyxl.Workbook()
    book.worksheets[0].append(list(texts.values()))
    book.save(tmp_path / "t.xlsx")
    assert Table.from_xlsx(tmp_path / "t.xlsx").header == tuple(texts)
    plain = Table.from_xlsx(tmp_path / "t.xlsx", structure=True, marks=False)
    assert plain.lines == (("106", "km2 (est.)", "12.5a", "1012", "12 13", "H2O"),)
