"""The score table, against values worked out by hand and against plain Python."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import fsum, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import DataError
from pytest_tablebench.claims.summary._examples import Examples
from pytest_tablebench.results import ScoreRow, ScoreTable
from pytest_tablebench.results.figures import example_values, mean, means, robustness
from pytest_tablebench.results.score_table import ScoreTableBuilder, benchmarks_of, raw_digests
from pytest_tablebench.results.sheets import sheets
from tests.support.present import present


def cell(
    example: str, serializer: str, score: float | None, repeat: int = 1, dataset: str = "d"
) -> ScoreRow:
    passed = None if score is None else score >= 0.5
    reason = "timeout" if score is None else None
    return ScoreRow("b", dataset, example, serializer, "none", score, passed, reason, repeat)


RUN = [
    cell("e2", "html", 0.25),
    cell("e1", "html", 1.0),
    cell("e1", "csv", None),
    cell("e2", "csv", 0.75),
    cell("e1", "html", 0.5, repeat=2),
    cell("e1", "csv", None, repeat=2),
    cell("e9", "csv", 0.5, dataset="other"),
]
"""
    d     csv           html
    e1    none, none    (1 + .5) / 2 = .75, both pass
    e2    .75           .25, does not pass
"""

# Columns


def test_the_table_has_a_row_per_record_and_codes_for_names():
    table = ScoreTable.from_records(RUN)
    assert len(table) == 7
    assert table.names["example"] == ("e1", "e2", "e9")
    assert table.names["reason"] == ("", "timeout")
    assert table.codes["example"].tolist() == [1, 0, 0, 1, 0, 0, 2]
    assert table.codes["reason"].tolist() == [0, 0, 1, 0, 0, 1, 0]
    assert table.repeat.tolist() == [1, 1, 1, 1, 2, 2, 1]
    assert [None if isnan(x) else x for x in table.score] == [0.25, 1, None, 0.75, 0.5, None, 0.5]
    assert [None if isnan(x) else x for x in table.passed] == [0, 1, None, 1, 1, None, 1]
    assert benchmarks_of(table) == {"b": ["d", "other"]}


def test_checks_and_parts_that_only_some_records_have_are_kept_by_name():
    plain: dict[str, Any] = dict.fromkeys(("dataset", "example_id", "serializer"), "x")
    plain |= {"perturbation": "none", "score": 0.5, "passed": True, "threshold": 0.4}
    table = ScoreTable.from_records(
        [plain, plain | {"checks": {"t": None, "u": True}, "parts": {"f1": 0.75}, "repeat": 2}]
    )
    assert table.threshold.tolist() == [0.4, 0.4]
    assert {name: marks.rows.tolist() for name, marks in table.checks.items()} == {
        "t": [1],
        "u": [1],
    }
    assert isnan(table.checks["t"].values[0])
    assert table.checks["u"].values.tolist() == [1.0]
    assert table.parts["f1"].values.tolist() == [0.75]


def test_the_table_can_be_filled_record_by_record():
    builder = ScoreTableBuilder()
    for number, record in enumerate(RUN, start=1):
        builder.append(record)
        assert len(builder.table()) == len(builder) == number
    whole = ScoreTable.from_records(RUN)
    assert repr(builder.table()) == repr(whole)


@pytest.mark.parametrize("score", [1.5, -0.1, nan, "0.5", [1.0]])
def test_a_score_outside_0_to_1_is_refused(score):
    builder = ScoreTableBuilder()
    builder.append(RUN[0])
    with pytest.raises(DataError, match="record 2: "):
        builder.append(cell("e", "html", 0.5).__class__(*("x",) * 5, score, True, None))


def test_the_invalid_record_among_many_is_named():
    records: list[Any] = [cell(f"e{number}", "html", 0.5) for number in range(5000)]
    records[3210] = replace(records[3210], score=7)
    with pytest.raises(DataError, match=r"record 3211: d/e3210/html/none has the score 7"):
        ScoreTable.from_records(records)
    with pytest.raises(DataError, match="record 5001: "):
        ScoreTable.from_records([*(vars_of(row) for row in RUN[:1] * 5000), {"dataset": "d"}])


def vars_of(row: ScoreRow) -> dict[str, Any]:
    names = ("dataset", "example_id", "serializer", "perturbation", "score")
    return {name: getattr(row, name) for name in names}


def test_a_field_that_only_later_records_have_is_unknown_for_the_others():
    plain = [vars_of(cell(f"e{number}", "html", 0.5)) for number in range(3000)]
    late = vars_of(cell("late", "html", 1.0)) | {"threshold": 0.5, "passed": True, "answer_mark": 7}
    table = ScoreTable.from_records([*plain, late, *plain[:1]])
    assert table.answer_marks is not None
    assert table.answer_marks.tolist() == [0] * 3000 + [7, 0]
    assert table.passed.tolist() == [0] * 3000 + [1, 0]
    assert np.isfinite(table.threshold).nonzero()[0].tolist() == [3000]
    assert table.repeat.tolist() == [1] * 3002


def test_filling_the_table_does_not_load_numpy():
    code = (
        "import sys; from pytest_tablebench.results import ScoreRow; "
        "from pytest_tablebench.results.score_table import ScoreTableBuilder; "
        "ScoreTableBuilder().append(ScoreRow('b', 'd', 'e', 's', 'p', 1.0, True, None)); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Cells and sheets


def test_repeats_make_one_cell():
    table = ScoreTable.from_records(RUN)
    cells = table.cells
    names = [table.case(row, "dataset", "example", "serializer") for row in cells.first]
    assert names == ["d/e1/csv", "d/e1/html", "d/e2/csv", "d/e2/html", "other/e9/csv"]
    assert cells.times.tolist() == [2, 2, 1, 1, 1]
    assert cells.answered.tolist() == [0, 2, 1, 1, 1]
    assert cells.right.tolist() == [0, 2, 1, 0, 1]
    assert [None if isnan(x) else x for x in cells.score] == [None, 0.75, 0.75, 0.25, 0.5]
    assert cells.scores(1) == [0.5, 1.0]
    assert cells.of_row.tolist() == [3, 1, 0, 2, 1, 0, 4]


def test_a_sheet_is_a_matrix_of_examples_by_configurations():
    by_dataset = sheets(ScoreTable.from_records(RUN).cells)
    assert list(by_dataset) == ["d", "other"]
    sheet = by_dataset["d"]
    assert sheet.examples == ("e1", "e2")
    assert sheet.configurations == (("csv", "none"), ("html", "none"))
    assert np.array_equal(sheet.scores, [[nan, 0.75], [0.75, 0.25]], equal_nan=True)
    assert np.array_equal(sheet.passed, [[nan, 1.0], [1.0, 0.0]], equal_nan=True)
    times, lost = sheet.counts()
    assert (times.tolist(), lost.tolist()) == ([[2, 2], [1, 1]], [[2, 0], [0, 0]])
    assert sheet.size == 4
    # e1: .75 and no range; e2: (.75 + .25) / 2, range .5, one of two passes.
    examples = Examples.of(sheet)
    assert examples["performance"].tolist() == [0.75, 0.5]
    assert examples["robustness"].tolist() == [1.0, 0.5]
    assert examples["pass_rate"].tolist() == [1.0, 0.5]


def test_several_strategies_make_separate_configurations():
    direct = cell("e1", "csv", 0.0)
    table = ScoreTable.from_records(
        [direct, replace(direct, strategy="tcot", score=1.0, passed=True)]
    )
    assert table.doubled() is None
    assert table.doubled(("dataset", "example", "serializer")) == (0, 2)
    sheet = sheets(table.cells)["d"]
    assert sheet.configurations == (
        ("csv", "none", "direct", "text"),
        ("csv", "none", "tcot", "text"),
    )
    assert (sheet.size, sheet.mode) == (2, {})
    assert sheet.part("strategy", "tcot").scores.tolist() == [[1.0]]
    alone = sheets(ScoreTable.from_records([direct]).cells)["d"]
    assert alone.configurations == (("csv", "none"),)
    assert alone.mode == {"strategy": "direct", "modality": "text"}


def test_seven_axes_of_1000_names_each_fit_into_the_table():
    """Their product is 10^21, more than an integer of 64 bits."""
    axes = ("dataset", "example_id", "serializer", "perturbation", "strategy", "modality", "model")
    records = [{"score": 0.5, **{axis: f"{axis}{n:03}" for axis in axes}} for n in range(1000)]
    table = ScoreTable.from_records(reversed(records), models=True)
    assert table.doubled() is None
    assert [table.case(row, "dataset") for row in table.cells.first[:2]] == [
        "dataset000",
        "dataset001",
    ]
    [sheet, *others] = sheets(table.cells).values()
    assert sheet.configurations == (("serializer000", "perturbation000"),)
    assert len(others) == 999


def test_a_part_of_a_sheet_has_only_examples_asked_in_its_configurations():
    records = [*RUN, cell("e3", "json", 1.0)]
    part = sheets(ScoreTable.from_records(records).cells)["d"].part("serializer", "json")
    assert (part.examples, part.configurations) == (("e3",), (("json", "none"),))
    assert part.scores.tolist() == [[1.0]]


def test_a_case_that_occurs_twice_is_reported():
    table = ScoreTable.from_records([*RUN, RUN[4], RUN[4]])
    row, times = table.doubled() or (0, 0)
    assert (table.case(row, "example", "serializer"), times) == ("e1/html", 3)
    assert ScoreTable.from_records(RUN).doubled() is None


def test_answer_digests_are_kept_on_request():
    record = {"dataset": "d", "example_id": "e", "serializer": "s", "perturbation": "p"}
    records = [
        record | {"score": 1.0, "raw": "two", "repeat": 2},
        record | {"score": 1.0, "raw": "one"},
        record | {"score": None, "raw": None, "serializer": "t"},
    ]
    assert ScoreTable.from_records(records).answers is None
    cells = ScoreTable.from_records(records, answers=raw_digests).cells
    assert cells.answers is not None
    first, second = raw_digests([{"raw": text} for text in ("one", "two")])
    assert cells.answers.tolist() == [(first, second), None]
    assert first != second


# Figures


def test_means_leave_out_missing_values():
    values = np.array([[1.0, nan, 0.5], [nan, nan, nan]])
    assert means(values)[0] == 0.75
    assert isnan(means(values)[1])
    assert means(values, axis=(0, 1)) == 0.75
    assert means(values.T, axis=0)[0] == 0.75
    assert means(np.zeros((3, 0))).tolist() == pytest.approx([nan] * 3, nan_ok=True)


def test_a_mean_with_an_unknown_value_is_unknown():
    assert mean([]) is None
    assert mean([0.5, None]) is None
    assert mean([0.1] * 3) == fsum([0.1] * 3) / 3


def test_robustness_of_a_sheet_is_one_minus_the_range():
    values = np.array([[1.0, 0.25, nan], [0.5, 0.5, 0.5]])
    assert robustness(values).tolist() == [0.25, 1.0]
    assert robustness(values, whole=True).tolist() == pytest.approx([nan, 1.0], nan_ok=True)


def test_only_cells_answered_in_both_runs_are_paired():
    new, old = np.array([[1.0, 0.5, nan]]), np.array([[0.5, nan, 1.0]])
    assert example_values("performance", new, old).tolist() == [0.5]
    assert isnan(example_values("robustness", new, old)[0])
    # Ranges .5 and .25: robustness .5 and .75.
    assert example_values("robustness", new[:, :2], np.array([[0.5, 0.75]])).tolist() == [-0.25]


SCORES = st.none() | st.floats(0, 1)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["d", "other"]),
            st.sampled_from(["e1", "e2", "e3"]),
            st.sampled_from(["csv", "html"]),
            SCORES,
        ),
        min_size=1,
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_figures_agree_with_a_second_implementation(rows, random):
    repeats: dict[tuple[str, str, str], int] = {}
    records = []
    for dataset, example, serializer, score in rows:
        place = dataset, example, serializer
        repeats[place] = repeats.get(place, 0) + 1
        records.append(cell(example, serializer, score, repeats[place], dataset))
    expected: dict[str, list[list[float]]] = {}
    for dataset in sorted({record.dataset for record in records}):
        expected[dataset] = [[], [], []]
        for example in sorted({record.example_id for record in records}):
            case_records = [
                row for row in records if (row.dataset, row.example_id) == (dataset, example)
            ]
            scores, passes = [], []
            for serializer in ("csv", "html"):
                answered = sorted(
                    row.score
                    for row in case_records
                    if row.serializer == serializer and row.score is not None
                )
                if answered:
                    middle = fsum(answered) / len(answered)
                    scores.append(min(max(middle, answered[0]), answered[-1]))
                    passes.append(sum(score >= 0.5 for score in answered) / len(answered))
            if scores:
                expected[dataset][0].append(fsum(scores) / len(scores))
                expected[dataset][1].append(1 - (max(scores) - min(scores)))
                expected[dataset][2].append(fsum(passes) / len(passes))
    random.shuffle(records)
    figures = {
        name: [
            values[np.isfinite(values)].tolist()
            for values in map(columns.__getitem__, ("performance", "robustness", "pass_rate"))
        ]
        for name, sheet in sheets(ScoreTable.from_records(records).cells).items()
        for columns in [Examples.of(sheet)]
    }
    assert figures == expected


# Slices


def test_tags_belong_to_the_example_whichever_of_its_records_has_them():
    marked = [
        replace(RUN[0], tags={"kind": "sum", "size": "big"}),
        *RUN[1:4],
        replace(RUN[6], tags={"kind": "look-up"}),
    ]
    table = ScoreTable.from_records(marked)
    names = {
        tag: [column.names[code] for code in column.codes] for tag, column in table.tags.items()
    }
    assert names == {
        "kind": ["sum", "", "", "sum", "look-up"],
        "size": ["big", "", "", "big", ""],
    }
    assert sheets(table.cells)["d"].tags == {"kind": ("", "sum"), "size": ("", "big")}
    assert sheets(table.cells)["other"].tags == {"kind": ("look-up",)}


def test_of_two_values_of_a_tag_the_same_is_taken_in_any_order():
    marked = [replace(RUN[0], tags={"kind": kind}) for kind in ("sum", "count")]
    for records in (marked, marked[::-1]):
        table = ScoreTable.from_records(replace(r, repeat=n) for n, r in enumerate(records, 1))
        assert set(table.tags["kind"].names) == {"count"}


def test_equal_predictions_have_equal_answer_marks():
    marked = [replace(RUN[0], answer_mark=5), RUN[1], replace(RUN[3], answer_mark=5)]
    assert present(ScoreTable.from_records(marked).answer_marks).tolist() == [5, 0, 5]
    assert ScoreTable.from_records(RUN).answer_marks is None
    read = {"dataset": "d", "serializer": "s", "perturbation": "none", "score": 1.0}
    answers = ["36", ["36"], "36", None, ["36"]]
    rows = [read | {"example_id": str(n), "prediction": p} for n, p in enumerate(answers)]
    marks = present(ScoreTable.from_records(rows).answer_marks).tolist()
    assert marks[0] == marks[2] != marks[1] == marks[4] != marks[3] == 0


def test_a_cell_has_the_most_common_answer_of_its_repeats_or_the_first():
    marks = {1: 7, 2: 9, 3: 9}
    three = [
        replace(cell("e", "html", 1.0, repeat=n), answer_mark=mark) for n, mark in marks.items()
    ]
    assert present(ScoreTable.from_records(three[::-1]).cells.answer_marks).tolist() == [9]
    assert present(ScoreTable.from_records(three[1::-1]).cells.answer_marks).tolist() == [7]
