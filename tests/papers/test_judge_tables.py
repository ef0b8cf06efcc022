"""The agreement of judges in a report, with figures worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.papers.boards import judge_agreement
from pytest_tablebench.papers.report import report_blocks, write_report
from pytest_tablebench.papers.runs import load_runs
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.paper_runs import paper_run
from tests.support.run_folders import record, write_run

MARKS = [0.0, 0.5, 1.0]
OTHERS = [0.0, 1.0, 1.0]
KAPPA = 0.8
"""Squared distances 0, 25, 0: 25 / 3 observed, 375 / 9 over all pairs: 1 - (25 / 3) / (375 / 9)."""
RANK = 0.75**0.5
"""Ranks 1, 2, 3 against 1, 2.5, 2.5: 1.5 / (sqrt(2) sqrt(1.5))."""


def run(marks: list[float], judge: str | None, **facts: Any) -> Run:
    rows = tuple(
        RunRow(
            "own", "d", str(number), "html", "none", mark, mark > 0.3, None,
            parts={"gpt_eval": mark}, answer_mark=number + 1, case_id=f"d/{number}", model="m",
        )
        for number, mark in enumerate(marks)
    )  # fmt: skip
    return paper_run(
        Path("run"), "m", RunFacts.from_json({"model": "m", "judge": judge, **facts}), rows
    )


def test_two_runs_over_the_same_answers_have_an_agreement_of_judges() -> None:
    table = judge_agreement([run(MARKS, "a/x"), run(OTHERS, "b/y")])
    assert table is not None
    [row] = table.rows
    assert row[:5] == ("m", "d", "a/x", "b/y", 3)
    assert row[5:] == pytest.approx((KAPPA, RANK))


def test_a_run_judged_again_has_one_row_of_agreement() -> None:
    kept = {"d": {"answers": 3, "kappa": KAPPA, "rank": None}}
    again = run(OTHERS, "b/y", rejudged={"judge": "a/x", "agreement": kept})
    alone = judge_agreement([again])
    assert alone is not None
    assert alone.rows == (("m", "d", "a/x", "b/y", 3, KAPPA, None),)
    both = judge_agreement([again, run(MARKS, "a/x")])
    assert both is not None
    assert [row[4] for row in both.rows] == [3]


@pytest.mark.parametrize("judge", [None, "a/x"])
def test_without_a_second_judge_there_is_no_table(judge: str | None) -> None:
    assert judge_agreement([run(MARKS, "a/x"), run(OTHERS, judge)]) is None


def test_a_constant_judge_has_a_reason_instead_of_a_figure() -> None:
    table = judge_agreement([run(MARKS, "a/x"), run([0.5] * 3, "b/y")])
    assert table is not None
    assert table.rows[0][-2:] == (None, None)
    assert table.row_notes == ("one of them gave all answers the same marks",)


def test_damaged_facts_of_a_rejudged_run_are_ignored() -> None:
    rejudged = {"judge": "b", "agreement": {"d": 3, "e": {"kappa": "1"}}}
    assert judge_agreement([run(MARKS, "a/x", rejudged=rejudged)]) is None


def test_the_report_shows_the_agreement_and_notes_that_it_is_no_leaderboard(tmp_path: Path) -> None:
    for name, marks in (("one", MARKS), ("two", OTHERS)):
        cases = [
            record(str(number), "html", "none", (mark, f"says {number}"), parts={"llm_score": mark})
            for number, mark in enumerate(marks)
        ]
        write_run(tmp_path / name, cases, judge=f"judge/{name}")
    runs = load_runs([tmp_path / "one", tmp_path / "two"])
    report = write_report(runs, tmp_path / "out", plots=False)
    text = "\n".join(terminal_lines(report_blocks(report)))
    assert "Agreement of judges about the same answers" in text
    assert "leaderboard: none" in text
    assert "judge/one,judge/two,3,0.8" in (tmp_path / "out/judges.csv").read_text("utf-8")
    assert "(judges.md)" in (tmp_path / "out/README.md").read_text("utf-8")
