"""Tables in the page of a run: truncated, with their merged cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_tablebench.datasets import Example
from pytest_tablebench.reports.html._texts import shown_table
from pytest_tablebench.results.texts import ExampleText, TextWriter, read_texts
from pytest_tablebench.session.case_messages import table_values
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table

SALES = Table(
    ["Region", "Town", "2020", "2021"],
    [["North", "", "", ""], ["", "Ayton", 1, 2], ["", "Beeford", 3, 4]],
    header_rows=[["Region", "", "Sales", ""]],
    captions=[["Sales of towns", "", "", ""]],
    notes=[["Source: ours", "", "", ""]],
    row_headers=2,
    row_levels=[0, 1, 1],
    sections=[0],
    spans=[Span(0, 0, 1, 4), Span(1, 2, 1, 2), Span(4, 0, 2, 1)],
)


def line(kind: str, *cells: dict[str, Any]) -> dict[str, Any]:
    """Return a line as the page has it."""
    return {"kind": kind, "cells": list(cells)}


def head(text: str, **facts: int) -> dict[str, Any]:
    """Return a header cell."""
    return {"text": text, "is_header": True, **facts}


def write_and_read(table: Table, tmp_path: Path) -> Any:
    """Write a table into a run folder and read it back."""
    example = Example("e", {"table": table}, "q", ("a",), "a")
    writer = TextWriter(tmp_path / "texts.jsonl.gz")
    writer.example("e", "q", table_values(example))
    writer.close()
    [text] = read_texts(tmp_path / "texts.jsonl.gz")
    assert isinstance(text, ExampleText)
    return text.tables[0]


def test_a_structured_table_keeps_merged_cells_levels_and_kinds_of_lines(tmp_path: Path) -> None:
    shown = shown_table(write_and_read(SALES, tmp_path))
    assert (shown["title"], shown["rows"]) == (None, [])
    assert shown["header"] == ["Region", "Town", "2020", "2021"]
    assert (shown["row_count"], shown["column_count"]) == (3, 4)
    assert shown["lines"] == [
        line("caption", {"text": "Sales of towns", "across": 4}),
        line("head", head("Region"), head(""), head("Sales", across=2)),
        line("head", *map(head, ("Region", "Town", "2020", "2021"))),
        line("section", head("North", across=4)),
        line("row", head("", down=2), head("Ayton", level=1), {"text": "1"}, {"text": "2"}),
        line("row", head("Beeford", level=1), {"text": "3"}, {"text": "4"}),
        line("note", {"text": "Source: ours", "across": 4}),
    ]


def test_a_flat_table_has_no_structure_in_the_page(tmp_path: Path) -> None:
    flat = write_and_read(Table(["a", "b"], [[1, None]], "T"), tmp_path)
    assert flat == {"title": "T", "header": ["a", "b"], "rows": [[1, None]]}
    assert shown_table(flat) == {
        "title": "T",
        "header": ["a", "b"],
        "rows": [["1", None]],
        "row_count": 1,
        "column_count": 2,
    }


def test_large_tables_are_truncated_and_their_size_is_named() -> None:
    table = {"title": None, "header": ["h"] * 90, "rows": [["c" * 999] * 100] * 300}
    shown = shown_table(table)
    rows = shown["rows"]
    assert (len(shown["header"]), len(rows), len(rows[0])) == (60, 200, 60)
    assert (shown["row_count"], shown["column_count"]) == (300, 100)
    assert len(rows[0][0]) == 400


def test_merged_cells_are_truncated_with_their_lines_and_columns(tmp_path: Path) -> None:
    table = Table(
        ["h"] * 70,
        [["c"] + [""] * 69 for _ in range(300)],
        notes=[["n"] + [""] * 69],
        # Over all columns, from the third last row shown, and a note below the cut.
        spans=[Span(1, 0, 2, 70), Span(198, 0, 100, 1), Span(301, 0, 1, 70)],
    )
    lines = shown_table(write_and_read(table, tmp_path))["lines"]
    assert len(lines) == 1 + 200 + 1
    assert lines[1]["cells"] == [{"text": "c", "down": 2, "across": 60}]
    assert lines[2]["cells"] == []
    assert lines[198]["cells"][0] == {"text": "c", "down": 3}
    assert lines[-1] == line("note", {"text": "n", "across": 60})


def test_merged_cells_end_with_the_table() -> None:
    structure = {"spans": [[0, 0, 10**12, 10**12], [9, 9, 1, 1]]}
    stored = {
        "title": None,
        "header": ["a", "b"],
        "rows": [["1", "2"]],
        "structure": structure,
    }
    assert shown_table(stored)["lines"] == [
        line("head", head("a", down=2, across=2)),
        line("row"),
    ]


def test_a_cell_without_a_value_is_empty() -> None:
    table = {"header": ["a", "b", "c"], "rows": [[None, float("nan"), ""]]}
    assert shown_table(table)["rows"] == [[None, None, ""]]
