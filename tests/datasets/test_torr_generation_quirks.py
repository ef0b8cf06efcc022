"""Unusual content of upstream files of NumericNLG, SciGen and QTSumm."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_tablebench.tables.table import Table
from tests.support.generation_files import (
    N_KEYS,
    ids,
    n_files,
    n_table,
    opened,
    q_files,
    q_row,
    s_files,
    s_row,
    table_of,
)


@pytest.mark.parametrize(
    ("text", "header", "rows"),
    [
        # Several header lines become one long header (torr.md section 9, row 20).
        (
            "<thead><tr><th></th><th>A</th></tr><tr><th>x</th><th>y</th></tr></thead>"
            "<tbody><tr><td>1</td><td>2</td></tr></tbody>",
            ["", "A", "x", "y"],
            [["1", "2"]],
        ),
        # Row labels marked th are dropped, and so is a td in the head.
        (
            "<thead><tr><td>no</td><th>A</th></tr></thead><tbody><tr><th>r</th><td>1</td></tr>"
            "<tr><th>s</th></tr></tbody>",
            ["A"],
            [["1"], []],
        ),
        # Entities, nested tags, white space as written; only the first body is read.
        (
            "<THEAD><tr><th> A&amp;B </th></tr></THEAD><tbody><tr><td><b>1</b>\u00a0&lt; 2</td>"
            "</tr></tbody><tbody><tr><td>x</td></tr></tbody>",
            [" A&B "],
            [["1\u00a0< 2"]],
        ),
        # Missing end tags, and text like XML in front.
        (
            "<?xml version='1.0'?><thead><tr><th>A</thead><tbody><tr><td>1</tbody>",
            ["A"],
            [["1"]],
        ),
        ("<thead></thead><tbody></tbody>", [], []),
    ],
)
def test_html_of_numericnlg_is_read_as_by_upstream(
    tmp_path: Path, text: str, header: list[str], rows: list[list[str]]
) -> None:
    test = [n_table(N_KEYS[0], table_html_clean=f"<table>{text}</table>"), n_table(N_KEYS[1])]
    source = opened("numericnlg", tmp_path, n_files(test=test))
    assert table_of(source, N_KEYS[0]) == Table(header, rows)


def test_python_literals_in_the_hubs_copy_of_scigen_are_read_as_lists(tmp_path: Path) -> None:
    lists = s_row("a", table_column_names=["Kiln", "it's", "Kiln"], table_content_values=[["\\d"]])
    texts = lists | {
        "table_column_names": repr(lists["table_column_names"]),
        "table_content_values": "[['\\d']]",  # a backslash that escapes nothing
    }
    source = opened("scigen", tmp_path, s_files(test={"1": lists, "2": texts}))
    assert table_of(source, "1") == table_of(source, "2")
    assert not source.problems


def test_empty_tables_of_scigen_are_left_out_silently(tmp_path: Path) -> None:
    test = {
        "1": s_row("a", table_content_values="[]"),
        "2": s_row("b", table_content_values=[]),
        "3": s_row("c", table_content_values="[ ]"),  # not exactly the text for empty
        "4": s_row("d"),
    }
    source = opened("scigen", tmp_path, s_files(test=test))
    assert ids(source) == ["3", "4"]
    assert not source.problems
    assert table_of(source, "3").rows == ()


def test_unusual_cells_of_qtsumm_are_kept(tmp_path: Path) -> None:
    table = {
        "header": ["", "Kiln", "Kiln"],
        "rows": [["", "–", None], [1, 2.5, True], ["a\nb", math.nan, " x "]],
        "title": "", "table_id": None, "more": [1, {"deep": 2}],
    }  # fmt: skip
    source = opened("qtsumm", tmp_path, q_files(test=[q_row("e-1", table=table)]))
    found = table_of(source, "e-1")
    assert found.header == ("", "Kiln", "Kiln")
    assert found.rows[:2] == (("", "–", None), (1, 2.5, True))
    assert math.isnan(found.rows[2][1])
    assert list(found.as_mapping()) == list(table)
    assert not source.problems


def test_empty_captions_are_allowed(tmp_path: Path) -> None:
    test = [n_table(N_KEYS[0], caption=""), n_table(N_KEYS[1])]
    assert ids(opened("numericnlg", tmp_path, n_files(test=test))) == N_KEYS
    rows = {"1": s_row("a", table_caption="")}
    assert ids(opened("scigen", tmp_path, s_files(test=rows))) == ["1"]
