"""Scores by skill in a report: TReB's published rows, joined runs, the radar plot."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.papers._published import published
from pytest_tablebench.papers._skills import treb_leaderboard
from pytest_tablebench.papers.report import write_report
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.paper_runs import paper_run

SKILLS = {"TU": "fact", "TBO": "query", "TCO": "sum", "DA": "outliers", "ADA": "steps"}


def run(strategy: str, score: float, *, judged: bool = True, cost: float | None = 0.25) -> Run:
    parts = {"llm_score": score} if judged else {"em": score}
    rows = tuple(
        RunRow(
            "treb", name, "1", "html", "none", score, True, None, strategy=strategy, parts=parts,
            tags={"skill": skill}, case_id=f"{name}/1/html/none/{strategy}", model="m",
            cost_usd=cost,
        )
        for skill, name in SKILLS.items()
    )  # fmt: skip
    facts = {"model": "m", "cases_planned": len(rows)}
    return paper_run(Path(f"run-{strategy}"), "m", RunFacts.from_json(facts), rows)


def test_published_rows_equal_the_papers_and_overall_is_the_mean_of_five() -> None:
    rows = published("treb_leaderboard")
    assert len(rows) == 34
    first = {"model": "Kimi-K2.5", "table_basic_operation": "94.69", "overall": "84.18"}
    assert first.items() <= rows[0].items()
    for row in rows:
        five = [float(value) for name, value in row.items() if name.startswith(("table_", "data"))]
        mean = (sum(five) + float(row["advanced_data_analysis"])) / 5
        assert mean == pytest.approx(float(row["overall"]), abs=0.006), row["model"]


def test_runs_of_a_model_in_several_strategies_share_a_row() -> None:
    board = treb_leaderboard([run("tcot", 0.4), run("pot", 0.8)])
    assert board is not None
    assert [(row[0], row[1], row[-1]) for row in board.rows[:3]] == [
        ("m", "this run: best mode of each subtask", 0.8),
        ("m", "this run: best mode of each skill", 0.8),
        ("m", "this run: all modes", pytest.approx(0.6)),
    ]
    assert board.rows[3][:2] == ("Kimi-K2.5", "published May 18, 2026")
    assert board.rows[3][2] == pytest.approx(0.85154)
    assert len(board.rows) == 37
    assert board.row_notes[0] == (
        "subtasks: TU 1 of 6, TBO 1 of 2, TCO 1 of 2, DA 1 of 4, ADA 1 of 6; modes: tcot, pot"
    )


def test_scores_without_a_judge_are_noted() -> None:
    board = treb_leaderboard([run("tcot", 0.4, judged=False)])
    assert board is not None
    assert "5 of 5 scores are not a judge's" in board.row_notes[0]


def test_a_report_has_tables_by_skill_and_the_radar_plot(tmp_path: Path) -> None:
    runs = [run("tcot", 0.4), run("pot", 0.8, cost=None)]
    report = write_report(runs, tmp_path / "report", plots=False)
    assert [board.name for board in report.boards] == ["treb_leaderboard"]
    folder = tmp_path / "report" / "treb"
    with (folder / "skills_by_strategy.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["strategy"], row["USD"], row["USD per case"]) for row in rows] == [
        ("tcot", "1.25", "0.25"),
        ("pot", "", ""),
    ]
    assert (tmp_path / "report" / "treb_leaderboard.md").is_file()
    from pytest_tablebench.papers._skills import skill_analysis
    from pytest_tablebench.papers.plots import write_plots

    analysis = {"skills": skill_analysis(runs, "treb")}
    drawn = write_plots(analysis, tmp_path, ["skills"])
    assert [path.name for path in drawn["skills"]] == ["skills.png", "skills.svg"]
    assert drawn["skills"][0].stat().st_size > 10_000


def test_a_report_of_one_run_in_several_strategies_has_the_tables(tmp_path: Path) -> None:
    first, second = run("tcot", 0.4), run("pot", 0.8)
    both = paper_run(first.path, "m", first.facts, (*first.rows, *second.rows))
    report = write_report([both], tmp_path / "report", plots=False)
    (board,) = report.boards
    assert board.rows[0][-1] == 0.8
    (performance,) = [table for table in report.parts[0].tables if table.name == "performance"]
    assert {row[:2] for row in performance.rows} == {
        ("m (tcot, text)", 0.4),
        ("m (pot, text)", 0.8),
    }


def test_without_tagged_skills_there_is_no_leaderboard() -> None:
    plain = run("tcot", 0.4)
    rows = tuple(
        replace(row, score=1.0, strategy="direct", parts={}, tags={}, cost_usd=None)
        for row in plain.rows
    )
    assert treb_leaderboard([paper_run(plain.path, "m", RunFacts(), rows)]) is None
