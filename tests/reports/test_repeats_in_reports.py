"""Repeated cases in the paper's analyses and in the terminal."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import DataError, analyse
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.papers.analyses.grid import read_scores
from pytest_tablebench.papers.runs import differences
from pytest_tablebench.results import ScoreRow, ScoreTable
from pytest_tablebench.results.run import RunRow
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.paper_runs import paper_run
from tests.support.printed import summary_lines
from tests.support.repeats import RUN, dataset_scope, repeats, runs

# The paper's analyses


def records_of(cells, model="m"):
    names = ("dataset", "example_id", "serializer", "perturbation", "score", "repeat")
    return [{"model": model, **{name: getattr(cell, name) for name in names}} for cell in cells]


def test_the_grid_contains_means_of_answered_repeats():
    [grid] = read_scores(records_of(RUN)).grids
    assert grid.scores.shape == (1, 2, 2, 1)
    assert grid.serializers == ("csv", "html")
    assert grid.scores[0, :, :, 0].tolist() == [
        [1.0, 0.5],
        [pytest.approx(1 / 3), 1.0],
    ]


def test_analyses_of_repeats_equal_those_of_their_means():
    often = analyse(records_of(RUN))
    cells = ScoreTable.from_records(RUN).cells
    means = [
        ScoreRow("b", "d", RUN[row].example_id, RUN[row].serializer, "none", score, True, None)
        for row, score in zip(cells.first, cells.score.tolist(), strict=True)
    ]
    assert often == analyse(records_of(means))
    assert often["robustness"]["by_model"]["m"]["value"] == pytest.approx(5 / 12)


def test_a_cell_without_an_answered_repeat_is_missing():
    records = records_of([*repeats("e1", "html", None, None), *repeats("e1", "csv", 0.0, 1.0)])
    figure = analyse(records)["performance"]["by_model_dataset"]["m"]["d"]
    assert (figure["value"], figure["n_missing_cells"]) == (0.5, 1)


@given(runs(scores=st.none() | st.floats(0, 1)), st.randoms(use_true_random=False))
def test_grids_do_not_depend_on_the_order_of_records(cells, draw):
    records = records_of(cells)
    mixed = list(records)
    draw.shuffle(mixed)
    for grid, other_grid in zip(read_scores(records).grids, read_scores(mixed).grids, strict=True):
        assert grid.examples == other_grid.examples
        assert repr(grid.scores.tolist()) == repr(other_grid.scores.tolist())


@given(runs(most=1, scores=st.none() | st.floats(0, 1)), st.integers(2, 7))
def test_identical_repeats_do_not_change_the_grid(cells, times):
    records = records_of(cells)
    often = [{**record, "repeat": n} for n in range(1, times + 1) for record in records]
    for grid, other_grid in zip(read_scores(records).grids, read_scores(often).grids, strict=True):
        assert repr(grid.scores.tolist()) == repr(other_grid.scores.tolist())


def test_the_same_repeat_twice_is_refused_by_name():
    records = records_of(RUN)
    records.insert(2, {**records[7], "score": 0.25})
    with pytest.raises(DataError, match="m/e2/html/none occurs more than once"):
        read_scores(records)


def test_a_lone_second_repeat_is_no_duplicate():
    # One example was asked only for its second repeat, for instance with -k r2.
    records = records_of([RUN[0], RUN[1], RUN[4]])
    [grid] = read_scores(records).grids
    assert grid.scores[0, 0].ravel().tolist() == [1.0, 0.5]


@pytest.mark.parametrize("repeat", ["2", 1.5, None, 10**12])
def test_an_invalid_repeat_number_is_refused(repeat):
    with pytest.raises(DataError, match=r"record 1: .*the repeat, if present, as a whole number"):
        read_scores([{**records_of(RUN)[0], "repeat": repeat}])


def test_reports_read_repeats(tmp_path):
    def rows(times):
        return tuple(
            RunRow("b", "d", "e", "html", "none", 1.0, True, None, n, case_id="", model="m")
            for n in range(1, times + 1)
        )

    runs = [
        paper_run(tmp_path / "once", "a", RunFacts.from_json({"repeats": 1}), rows(1)),
        paper_run(tmp_path / "often", "b", RunFacts.from_json({"repeats": 3}), rows(3)),
    ]
    assert analyse(runs[1].rows)["performance"]["by_model"]["m"]["value"] == 1.0
    assert [text for text in differences(runs) if "repeats" in text] == [
        "repeats differ: 1 (a), 3 (b); the cases were asked a different number of times"
    ]


# The terminal


def test_the_table_has_one_line_about_repeats():
    lines = summary_lines(summarize(RUN))
    [line] = [line for line in lines if "asked" in line]
    # From the table above; sd: (0.5 + 0.577) / 4
    assert line == (
        "d: asked 3 times: pass@1 66.7 %, pass@3 100.0 %, pass^3 25.0 %; verdicts differ in "
        "50.0 % of configurations, scores by 0.500 on average (sd 0.269); 1 with fewer than 3 "
        "answers left out of pass@3 and pass^3"
    )
    assert not any("asked" in line for line in summary_lines(summarize(RUN[::3])))


def test_the_table_has_a_line_about_the_repeats_of_a_benchmark():
    other = repeats("e1", "html", 0.0, 0.0, 0.0, dataset="other")
    repeat_lines = [
        line for line in summary_lines(summarize([*RUN, *other])) if "asked 3 times" in line
    ]
    assert [line.partition(":")[0] for line in repeat_lines] == ["d", "other", "b (all)"]
    assert "pass@1 33.3 %, pass@3 50.0 %, pass^3 12.5 %" in repeat_lines[2]


def test_repeats_without_an_answer_are_dashes():
    [line] = [
        line
        for line in summary_lines(summarize(repeats("e1", "html", None, None)))
        if "asked" in line
    ]
    assert line == (
        "d: asked 2 times: pass@1 -, pass@2 -, pass^2 -; 1 with fewer than 2 answers left out of "
        "pass@2 and pass^2"
    )


def test_a_hundred_repeats_have_figures_for_every_k():
    draw = random.Random(1)
    records = [
        cell
        for example in range(20)
        for cell in repeats(
            f"e{example}", "html", *(float(draw.random() < 0.3) for _ in range(100))
        )
    ]
    figures = dataset_scope(records)["repeats"]
    assert list(figures["pass_at_k"]) == [str(k) for k in range(1, 101)]
    assert figures["pass_at_k"]["100"] == 1.0
    assert figures["pass_hat_k"]["100"] == 0.0
    assert figures["pass_at_k"]["2"] == pytest.approx(1 - 0.7**2, abs=0.05)
