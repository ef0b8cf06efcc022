"""Tables as files for programs."""

from __future__ import annotations

import io
import time

import openpyxl
import pytest

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile, file_of

TABLE = Table(["City", "Year"], [["Leeds", 2019], ["York", None]])


def test_an_unchanged_table_is_its_original_file() -> None:
    file = TableFile(TABLE, b"as published")
    assert file.changed(lambda table: table).read("table.xlsx") == b"as published"
    changed = file.changed(lambda table: Table(table.header, table.rows[::-1]))
    assert changed.data is None
    assert changed.read("table.csv") == b"City,Year\nYork,\nLeeds,2019\n"


def test_a_workbook_does_not_depend_on_the_time_of_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = TableFile(TABLE).read("table.xlsx")
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert TableFile(TABLE).read("table.xlsx") == first
    sheet = openpyxl.load_workbook(io.BytesIO(first)).active
    assert sheet is not None
    assert [list(row) for row in sheet.values] == [
        ["City", "Year"],
        ["Leeds", 2019],
        ["York", None],
    ]


def test_other_files_are_refused() -> None:
    with pytest.raises(TableError, match=r"table\.json is neither"):
        TableFile(TABLE).read("table.json")


def test_numbers_written_as_text_become_numbers_in_the_file() -> None:
    table = Table(("a", "b"), (("36", "007"), ("-2.5", "1,234"), ("x", None)))
    found = file_of(table)
    assert found is not None
    assert found.table.rows == ((36, "007"), (-2.5, "1,234"), ("x", None))
    assert file_of(found) is found
    assert file_of(None) is None
