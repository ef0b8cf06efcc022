"""Rows of files by people: errors name the file and the row."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.tables.user_rows import csv_rows, json_rows

COLUMNS = ("id", "answer", "who")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; its first row is id,answer,who"),
        ("id,who\n1,ann\n", "the first row lacks the column answer; the columns are id, answer"),
        ("id,answer\n1,2\n\n3\n", "row 4: has 1 cell, not 2"),
        ('id,answer\n1,"2\n', "is not CSV: "),
        ("id;answer\n1;2;3\n", "row 2: has 3 cells, not 2"),
        (b"\xff\n", "cannot be read: "),
    ],
)
def test_errors_of_csv_name_the_row(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsError, match=r"rows\.csv") as error:
        list(csv_rows(path, COLUMNS, 2))
    assert message in str(error.value)


def test_columns_may_have_any_order(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("\ufeffanswer , id\n7,a\n", encoding="utf-8")
    assert list(csv_rows(path, COLUMNS, 2)) == [(f"{path}, row 2", {"answer": "7", "id": "a"})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: is not JSON"),
        ("[1]", "line 2: is not a label"),
    ],
)
def test_errors_of_json_lines_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{{}}\n{line}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"rows\.jsonl") as error:
        list(json_rows(path, "a label"))
    assert message in str(error.value)
