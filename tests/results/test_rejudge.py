"""Runs judged again under new thresholds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import read_facts, read_records
from pytest_tablebench.running.rejudge import rejudge, write_rejudged
from tests.support.run_folders import GRID, record, write_run

SCORED: dict[str, list[float | None]] = {"e1": [1, 0.5, 0.25, 0], "e2": [0.5, 0.5, None, 1]}


def test_a_threshold_changes_verdicts_and_no_score(tmp_path):
    run = write_run(tmp_path / "a", SCORED)
    rejudged = rejudge(run, thresholds={"toy": 0.5})
    assert [case.outcome for case in rejudged.run.records] == [
        *("right", "right", "wrong", "wrong"),
        *("right", "right", "no_answer", "right"),
    ]
    assert [case.score for case in rejudged.run.records] == [1, 0.5, 0.25, 0, 0.5, 0.5, None, 1]
    assert (rejudged.better, rejudged.worse, rejudged.scored, rejudged.rescored) == (3, 0, 0, 0)
    # Two of four, and three of three answered.
    assert summary_of(rejudged.run)["benchmarks"]["toys"]["pass_rate"] == 0.75
    assert rejudged.run.facts.entries["thresholds"] == {"toy": 0.5}


def test_a_lower_verdict_counts_as_worse(tmp_path):
    run = write_run(tmp_path / "a", [record("e1", *GRID[0], 0.5, passed=True, outcome="right")])
    rejudged = rejudge(run, thresholds={"toy": 0.6})
    assert (rejudged.better, rejudged.worse) == (0, 1)


def test_without_new_rules_nothing_changes(tmp_path):
    run = write_run(tmp_path / "a", SCORED)
    rejudged = rejudge(run)
    assert list(rejudged.run.records) == list(read_records(run))
    assert rejudged.notes == ()
    assert rejudged.run.facts.entries["compat"] == "fixed"
    assert "thresholds" not in rejudged.run.facts.entries


def test_only_the_named_dataset_is_judged_again(tmp_path):
    cases = [record("e", *GRID[0], 0.5, dataset=name) for name in ("one", "two")]
    rejudged = rejudge(write_run(tmp_path / "a", cases), thresholds={"two": 0.5})
    assert [case.passed for case in rejudged.run.records] == [False, True]


def test_a_tests_own_assertion_keeps_its_verdict(tmp_path):
    cases = [record("e", *GRID[0], 0.0, metric="assertion"), record("e", *GRID[1], 0.0)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), thresholds={"toy": 0})
    assert [case.passed for case in rejudged.run.records] == [False, True]
    assert rejudged.notes == ("1 case keeps its verdict: it comes from a test's own assertion",)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1))
def test_a_case_passes_if_its_score_reaches_the_threshold(tmp_path_factory, scores, limit):
    cases = [record(f"e{n}", *GRID[0], score) for n, score in enumerate(scores)]
    run = write_run(tmp_path_factory.mktemp("run") / "a", cases)
    rejudged = rejudge(run, thresholds={"toy": limit})
    assert [case.passed for case in rejudged.run.records] == [score >= limit for score in scores]
    assert [case.outcome == "right" for case in rejudged.run.records] == [
        s >= limit for s in scores
    ]


def test_a_run_cut_off_is_judged_with_a_note(tmp_path):
    rejudged = rejudge(write_run(tmp_path / "a", SCORED, cases_planned=20, ended="interrupted"))
    assert rejudged.notes == ("the run was interrupted: 8 of 20 cases are recorded",)
    assert rejudged.ended == "interrupted"
    killed = rejudge(write_run(tmp_path / "b", SCORED, cases_planned=20, status="running"))
    assert (killed.notes, killed.ended) == (
        ("the run was interrupted: 8 of 20 cases are recorded",),
        "it was killed",
    )


def test_skipped_cases_do_not_make_a_run_cut_off(tmp_path):
    rejudged = rejudge(write_run(tmp_path / "a", SCORED, cases_planned=20, status="incomplete"))
    assert (rejudged.notes, rejudged.ended) == (("8 of 20 cases are recorded",), None)


def test_the_new_run_names_its_origin(tmp_path):
    run = write_run(tmp_path / "a", SCORED, thresholds={"other": 0.1})
    rejudged = rejudge(run, thresholds={"toy": 0.5})
    assert rejudged.run.facts.entries["rejudged"]["origin"] == str(run)
    assert rejudged.run.facts.entries["rejudged"]["thresholds"] == {"other": 0.1}
    assert rejudged.run.facts.entries["thresholds"] == {"other": 0.1, "toy": 0.5}


def test_the_new_run_folder_is_complete(tmp_path):
    run = write_run(tmp_path / "a", SCORED)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    rejudged = rejudge(run, thresholds={"toy": 0.5})
    figures: dict[str, object] = {"benchmarks": {}}
    write_rejudged(rejudged, figures, tmp_path / "b", gates=["toy.performance >= 0.1"])
    assert list(read_records(tmp_path / "b")) == list(rejudged.run.records)
    assert read_facts(tmp_path / "b").entries == {
        "schema": 2,
        **rejudged.run.facts.entries,
        "gates": ["toy.performance >= 0.1"],
    }
    summary = json.loads((tmp_path / "b/summary.json").read_text("utf-8"))
    assert summary == {"schema": 2, **figures}
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    with pytest.raises(SettingsError, match="already contains a run"):
        write_rejudged(rejudged, figures, tmp_path / "b")


def test_what_cannot_be_judged_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="is not a run folder"):
        rejudge(tmp_path)
    empty = write_run(tmp_path / "empty", [])
    with pytest.raises(SettingsError, match="has no recorded case"):
        rejudge(empty)
    run = write_run(tmp_path / "a", SCORED)
    with pytest.raises(SettingsError, match=r"--bench-threshold: .*'tooy'; did you mean 'toy'"):
        rejudge(run, thresholds={"tooy": 0.5})
