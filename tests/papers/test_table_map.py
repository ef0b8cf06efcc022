"""Tables by complexity and tokens, with scores worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.papers.report import report_blocks, write_report
from pytest_tablebench.papers.runs import load_runs
from pytest_tablebench.papers.structure import MappedTable, map_tables, table_map
from pytest_tablebench.results.record import ScoreRow
from pytest_tablebench.results.texts import TEXTS, ExampleText, TextWriter, read_examples
from tests.support.run_folders import write_run

FLAT = {"title": None, "header": ["a", "b"], "rows": [["1", "2"]]}
DEEP = {
    "title": None,
    "header": ["name", "x", "y"],
    "rows": [["r", "1", "2"]],
    "structure": {"header_rows": [["", "both", ""]], "spans": [[0, 1, 1, 2]], "row_headers": 1},
}


def cell(example: str, score: float | None, perturbation: str = "none", **other: Any) -> ScoreRow:
    return ScoreRow("own", "d", example, "html", perturbation, score, None, None, **other)


def example(name: str, *tables: dict[str, Any], perturbation: str = "none") -> ExampleText:
    return ExampleText(f"d/{name}/{perturbation}", "?", tables)


def test_a_table_has_the_mean_score_of_its_questions() -> None:
    examples = [
        example("1", DEEP),
        example("2", DEEP),
        example("3", FLAT),
        example("4", FLAT, FLAT),  # with several tables the example belongs to none
        example("5", DEEP, perturbation="transpose"),
        example("9", DEEP),  # no case
    ]
    cells = [
        cell("1", 1.0),
        cell("1", 0.0, "transpose"),
        cell("1", 0.0, "counterfactual", preserves_meaning=False),
        cell("2", 1.0),
        cell("3", None),
        cell("4", 1.0),
        cell("5", 1.0),
    ]
    deep, flat = table_map(examples, cells)
    # Question 1 scores 1/2 and question 2 scores 1: mean 3/4. Two levels of column headers with one
    # parent: 1 + 2 + 1 of 10, so 3 of 36.
    assert (deep.dataset, deep.table, deep.questions, deep.score) == ("d", "1", 2, 0.75)
    assert (deep.complexity, flat.complexity) == (8, 0)
    assert (flat.questions, flat.score) == (0, None)
    assert 0 < flat.tokens < deep.tokens


def test_flat_tables_have_no_map() -> None:
    assert table_map([example("1", FLAT)], [cell("1", 1.0)]) == []


@pytest.mark.parametrize(
    "structure", [{"spans": [[0, 0, 9, 9]]}, {"unknown": 1}, {"row_levels": "x"}, {"spans": [1]}]
)
def test_tables_that_cannot_be_read_are_left_out(structure: dict[str, Any]) -> None:
    bad = {**FLAT, "structure": structure}
    assert table_map([example("1", bad)], [cell("1", 1.0)]) == []


def test_scores_are_grouped_by_complexity_and_tokens() -> None:
    tables = [
        MappedTable("d", "1", 24, 9_999, 2, 0.5),
        MappedTable("d", "2", 0, 10_000, 1, 1.0),
        MappedTable("d", "3", 25, 20_000, 1, 0.0),
        MappedTable("d", "4", 100, 20_001, 0, None),
        MappedTable("d", "5", 10, 100, 4, 0.0),
    ]
    scores, listed = map_tables({"m": tables})
    assert scores.rows == (
        ("m", "0-25", 0.25, 1.0, None, 3),
        ("m", "25-50", None, 0.0, None, 1),
        ("m", "75-100", None, None, None, 1),
    )
    assert len(listed.rows) == 5
    assert map_tables({}) == []


def test_the_page_has_a_map_of_structured_tables(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"1": [1.0, 1.0, 0.0, 0.0]})
    writer = TextWriter(run / TEXTS)
    writer.prompt("x", '"kind": "example"')  # a prompt can look like an example
    writer.example("toy/1/none", "?", [DEEP])
    writer.close()
    assert [example.id for example in read_examples(run / TEXTS)] == ["toy/1/none"]
    report = write_report(load_runs([run]), tmp_path / "out")
    assert any(
        "Scores by complexity and tokens" in line for line in terminal_lines(report_blocks(report))
    )
    assert (tmp_path / "out/toys/complexity_tokens.png").stat().st_size > 5_000
    [row] = (tmp_path / "out/toys/tables.csv").read_text("utf-8").splitlines()[1:]
    assert row.startswith("m,toy,1,8,")
    assert json.loads((tmp_path / "out/report.json").read_text("utf-8"))["files"]
