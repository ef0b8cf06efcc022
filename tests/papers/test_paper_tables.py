"""Tables of a report: cells, reasons, formats and hostile names."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.papers.analyses.analyse import analyse
from pytest_tablebench.papers.report import with_undefined
from pytest_tablebench.papers.table import (
    PaperTable,
    csv_text,
    page_text,
    table_blocks,
)
from pytest_tablebench.papers.tables import paper_tables
from tests.support.paper_analysis import analysis, nothing, value


def tables(tree: dict[str, Any] | None = None) -> dict[str, PaperTable]:
    return {table.name: table for table in paper_tables(tree or analysis())}


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


# Tables of the analyses


def test_every_analysis_has_a_table_with_its_name():
    names = [table.name for table in paper_tables(analysis())]
    assert len(names) == len(set(names))
    for stem in (
        *("performance", "robustness", "min_max", "serializer_spread", "win_rates_serializer"),
        *("win_rates_perturbation", "impact_signed", "impact_absolute", "separability"),
        *("dataset_agreement", "kendall_w", "w_growth", "configurations_vs_examples"),
        *("difficulty", "difficulty_histogram", "score_histogram", "families"),
    ):
        assert stem in names


def test_the_table_of_performance():
    table = tables()["performance"]
    assert table.columns == ("model", "all datasets", "d1", "d2")
    assert table.rows == (("alpha", 0.375, 0.5, 0.25), ("beta", None, 0.75, None))
    assert table.row_notes == (
        "",
        "all datasets: no value in: d2; d2: no scores; d1: cases without a score: 3",
    )


def test_robustness_over_incomplete_examples_is_marked_too_high():
    by_name = tables()
    assert by_name["robustness"].rows == (("alpha", 0.85, 0.8, 0.9), ("beta", None, 0.6, None))
    assert "d1: too high, examples not fully answered: 1" in by_name["robustness"].row_notes[1]
    assert by_name["robustness"].row_notes[0] == ""
    complete = by_name["robustness_complete_examples"]
    assert complete.rows == (("alpha", 0.8, 0.9), ("beta", 0.55, None))
    assert complete.shown


def test_robustness_over_one_configuration_is_undefined():
    records = [
        {
            "model": "m",
            "dataset": dataset,
            "example_id": str(number),
            "score": number / 2,
            "serializer": serializer,
            "perturbation": "none",
        }
        for dataset, serializers in (("one", ["html"]), ("two", ["html", "csv"]))
        for number in range(3)
        for serializer in serializers
    ]
    by_name = {table.name: table for table in paper_tables(with_undefined(analyse(records)))}
    table = by_name["robustness"]
    assert table.columns == ("model", "all datasets", "one", "two")
    assert table.rows == (("m", None, None, 1.0),)
    assert "one: one configuration" in table.row_notes[0]


def test_the_table_of_minimum_and_maximum():
    assert tables()["min_max"].rows[:2] == (
        ("alpha", "max", 0.45, 0.6, 0.3),
        ("alpha", "min", 0.3, 0.4, 0.2),
    )


def test_the_table_of_serializer_spread_has_the_means():
    by_name = tables()
    assert by_name["serializer_spread"].rows == (("alpha", 0.125, 0.0), ("beta", 0.1, None))
    means = by_name["serializer_means"]
    assert means.columns == ("model", "dataset", "csv", "html")
    assert means.rows[0] == ("alpha", "d1", 0.5, 0.625)
    assert means.rows[3] == ("beta", "d2", None, None)


def test_win_rates_start_with_the_mean_and_count_dropped_examples():
    table = tables()["win_rates_serializer"]
    assert table.columns[:4] == ("model", "dataset", "csv", "html")
    assert table.rows[0] == ("all models", "all datasets", 0.375, 0.625, None, None, None)
    assert table.row_notes[0] == "without d2 (all alternatives equal in 3 of 3 examples)"
    assert ("all models", "d1", 0.375, 0.625, 2, 1, 0) in table.rows
    assert ("beta", "d1", 0.25, 0.75, 2, 1, 0) in table.rows


def test_perturbation_impact_has_a_sign_and_margins():
    tree = analysis()
    tree["further"] = {**tree["further"], "impact_absolute": value(0.2125)}
    by_name = tables(tree)
    assert by_name["impact_signed"].rows == (("alpha", -0.125), ("beta", None))
    assert by_name["impact_absolute"].rows == (
        ("alpha", 0.175, 0.25, 0.1),
        ("beta", None, 0.2, None),
        ("all models", 0.2125, 0.225, None),
    )


def test_the_table_of_separability_has_intervals():
    by_name = tables()
    assert by_name["separability"].rows[0] == ("d1", 1.0)
    assert by_name["separability"].rows[2] == ("all, examples pooled", 0.0)
    assert by_name["separability_intervals"].rows[1] == ("d1", "beta", 0.6, 0.8)


def test_the_spread_of_overall_performance_names_best_and_worst():
    table = tables()["performance_spread"]
    assert table.columns == ("model", "spread", "standard deviation", "lowest in", "highest in")
    assert table.rows[0] == ("alpha", 0.25, 0.125, "csv|none", "html|none")
    assert table.row_notes[1] == "a dataset has no score in some configuration"


def test_open_and_closed_models_have_separate_rows():
    table = tables()["open_closed"]
    assert table.columns == ("models", "figure", "all datasets", "d1")
    assert table.rows[:2] == (
        ("open", "performance", 0.375, 0.5),
        ("closed", "performance", None, 0.75),
    )


def test_the_table_of_perturbation_impact_is_by_dataset():
    table = tables()["impact_absolute_by_dataset_and_perturbation"]
    assert table.rows == (("transpose", None, 0.225),)


def test_growth_of_w_is_sorted_by_number():
    table = tables()["w_growth"]
    assert [row[:2] for row in table.rows] == [(1, 0.7), (2, 0.8), (10, 0.95)]


def test_histograms_name_both_ends_of_a_bin():
    table = tables()["score_histogram"]
    assert table.rows[0] == ("0.00", "0.25", 6, 2)
    assert table.rows[3] == ("0.75", "1.00", 9, 0)


def test_an_undefined_analysis_has_a_reason_of_one_line():
    table = tables()["win_rates_perturbation"]
    assert terminal_lines(table_blocks(table)) == [
        "Win rates of perturbations: not computed: alternatives differ between datasets"
    ]
    assert rows(csv_text(table))[1][-1] == "not computed: alternatives differ between datasets"
    assert "Not computed: alternatives differ between datasets." in page_text(table)


def test_an_analysis_without_values_has_no_table():
    tree = analysis()
    few = nothing("fewer than two models")
    tree["separability"] = {"by_dataset": {"d1": few}, "pooled": few, "stratified": few}
    tree["kendall_w"] = {"by_dataset": {"d1": few | {"raters": 4}}, "benchmark": few}
    tree["w_growth"] = {"d1": {"1": few}}
    tree["configurations_vs_examples"] = [
        {
            "q": 1,
            "e": 1,
            "by_dataset": {"d1": few},
            "mean_over_datasets": nothing("no value in: d1"),
        }
    ]
    made = tables(tree)
    for name in ("separability", "separability_intervals", "kendall_w", "w_growth"):
        assert made[name].reason == "fewer than two models"
    assert made["configurations_vs_examples"].reason == "fewer than two models"


def test_the_table_of_equivalent_examples():
    def point(q: int, e: int, value: float | None) -> dict[str, Any]:
        figure = {"value": value} if value is not None else nothing("fewer than two models")
        return {"q": q, "e": e, "by_dataset": {"d1": figure}, "mean_over_datasets": figure}

    tree = analysis()
    tree["configurations_vs_examples"] = [
        *(point(1, 1, 0.2), point(1, 2, 0.4), point(1, 5, 0.7)),
        *(point(2, 1, 0.4), point(2, 2, 0.5), point(2, 5, 0.9), point(5, 5, None)),
    ]
    table = tables(tree)["equivalent_examples"]
    assert table.rows == ((2, 1, 0.4, 2), (2, 2, 0.5, 5), (2, 5, 0.9, None))
    assert table.row_notes == ("", "", "more examples than the runs have")


def test_a_single_dataset_has_no_agreement():
    tree = analysis()
    tree["dataset_agreement"] = {
        "tau_b": {"d1": {"d1": value(1.0)}},
        "mean_off_diagonal": {"d1": nothing("no other dataset with a value", n=0)},
    }
    assert tables(tree)["dataset_agreement"].reason == "fewer than two datasets"


# Formats


def sample(*names: str) -> PaperTable:
    body = [(name, 0.5, -0.25, None, 3) for name in names]
    return PaperTable("t", "Title", ("name", "a", "b", "c", "n"), tuple(body))


def test_the_blocks_of_a_table_are_its_title_typed_cells_and_notes():
    table = replace(sample("x", "longer"), notes=("from a paper",), row_notes=("", "why"))
    assert terminal_lines(table_blocks(table, most=1)) == [
        "Title",
        "name      a       b  c  n",
        "x     0.500  -0.250  -  3",
        "and 1 more",
        "  from a paper",
        "  longer: why",
    ]


def test_a_note_of_many_rows_is_shown_once():
    table = replace(sample("a", "b", "c", "d", "e", "f"), row_notes=("why",) * 6)
    assert terminal_lines(table_blocks(table))[-1] == "  a; b; c; and 3 more: why"


def test_csv_keeps_all_digits_and_empty_cells():
    table = PaperTable("t", "T", ("name", "a", "b"), (("x", 1 / 3, None), ("y", -0.0, 2)))
    assert csv_text(table) == "name,a,b\nx,0.333333333,\ny,0.0,2\n"


def test_csv_has_the_notes_of_rows():
    table = replace(sample("x", "y"), row_notes=("", "d1: no scores"))
    csv_rows = rows(csv_text(table))
    assert [row[-1] for row in csv_rows] == ["note", "", "d1: no scores"]


@pytest.mark.parametrize(
    "name",
    [
        '=HYPERLINK("http://x","y")',
        "+1",
        "-1",
        "@SUM(A1)",
        " =1+1",
        "\uff1d1",
    ],
)
def test_names_in_csv_are_no_formulas(name):
    cell = rows(csv_text(sample(name)))[1][0]
    assert cell.startswith("'")
    assert not cell.startswith(("=", "+", "-", "@"))


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_csv_and_markdown_have_one_line_per_row(names):
    table = sample(*names)
    csv_rows = rows(csv_text(table))
    assert [len(row) for row in csv_rows] == [5] * (len(names) + 1)
    lines = page_text(table).split("\n")
    assert len([line for line in lines if line.startswith("| ")]) == len(names) + 2
    for line in lines[2 : 4 + len(names)]:
        assert line.count("|") == 6


def test_numbers_in_markdown_are_right_aligned():
    assert page_text(sample("x")).split("\n")[2:5] == [
        "| name | a | b | c | n |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| x | 0.500 | -0.250 | - | 3 |",
    ]
