"""The page of several runs: a row for each mode, and published rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from pytest_tablebench.papers.report import write_report
from pytest_tablebench.papers.runs import load_runs
from pytest_tablebench.reports import leaderboard
from pytest_tablebench.reports.leaderboard import write_leaderboard
from pytest_tablebench.results import Record
from tests.support.page_runs import record, write_run

PUBLISHED_REALHIT = 40
"""Rows of Tables 2 (28), 5 (8) and 7 (4)."""

PUBLISHED_TREB = 34


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the plots, which `test_page.py` tests."""
    monkeypatch.setattr(leaderboard, "write_plots", lambda *_: {})


def read_page(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def section(soup: BeautifulSoup, title: str) -> Tag:
    """Return the part of the page below the heading that starts with the title."""
    [heading] = [heading_tag for heading_tag in soup("h2") if heading_tag.text.startswith(title)]
    assert heading.parent is not None
    return heading.parent


def test_each_mode_of_a_run_is_ranked_and_published_rows_follow(tmp_path: Path) -> None:
    """One model has two runs, one with two strategies and two modalities."""

    def case(score: float, strategy: str, modality: str = "text") -> Record:
        return record(
            model="m",
            benchmark="realhitbench",
            dataset="realhit_fc",
            serializer="latex",
            strategy=strategy,
            modality=modality,
            score=score,
            parts={"em": score, "f1": score},
            cost_usd=0.25,
            case_id=f"{strategy}/{modality}",
        )

    both = [case(0.5, "direct"), case(1.0, "treethinker"), case(0.0, "direct", "image")]
    folders = [
        write_run(tmp_path / "both", both, run={"cost_usd": 9.0}),
        write_run(tmp_path / "again", [case(0.75, "treethinker")], run={"cost_usd": 8.0}),
    ]
    write_leaderboard(folders, tmp_path / "board.html")
    soup = read_page(tmp_path / "board.html")
    assert "occurs more than once" not in soup.get_text()
    rows = [[cell.text for cell in row.select("th, td")] for row in soup.select("tbody")[0]("tr")]
    assert [(row[1], row[2], row[-1]) for row in rows] == [
        ("both (treethinker, text)", "1.000", "$0.2500"),
        ("again", "0.750", "$8.00"),
        ("both (direct, text)", "0.500", "$0.2500"),
        ("both (direct, image)", "0.000", "$0.2500"),
    ]
    board = section(soup, "RealHiTBench leaderboard")
    own_rows = [[cell.text for cell in row(["th", "td"])[:4]] for row in board.select("tr.own")]
    assert own_rows == [
        ["both", "this run", "text", "direct"],
        ["both", "this run", "text", "treethinker"],
        ["both", "this run", "image", "direct"],
        ["again", "this run", "text", "treethinker"],
    ]
    printed = [row(["th", "td"])[1].text for row in board.select("tbody tr:not(.own)")]
    assert len(printed) == PUBLISHED_REALHIT
    assert all(source.startswith("published, Table") for source in printed)


def test_published_rows_of_treb_are_listed_with_a_run(tmp_path: Path) -> None:
    cases = [
        record(
            model=name,
            benchmark="treb",
            dataset="treb_table_query",
            strategy="tcot",
            score=0.5,
            parts={"llm_score": 0.5},
            tags={"skill": "TBO"},
        )
        for name in ("a", "b")
    ]
    folders = [write_run(tmp_path / case.model, [case]) for case in cases]
    write_leaderboard(folders, tmp_path / "board.html")
    soup = read_page(tmp_path / "board.html")
    board = section(soup, "TReB leaderboard")
    assert {row(["th", "td"])[0].text for row in board.select("tr.own")} == {"a", "b"}
    assert len(board.select("tbody tr:not(.own)")) == PUBLISHED_TREB


def test_the_page_of_a_report_reuses_its_analyses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [
        write_run(
            tmp_path / name,
            [
                record(model=name, dataset=dataset, example_id=f"e{n}", score=n / 4)
                for dataset in ("finqa", "wikitq")
                for n in range(4)
            ],
        )
        for name in ("a", "b")
    ]
    report = write_report(load_runs(folders), tmp_path / "report", plots=False)
    write_leaderboard(folders, tmp_path / "alone.html")
    monkeypatch.delattr(leaderboard, "analysis_of")
    write_leaderboard(folders, tmp_path / "beside.html", report=report)
    assert (tmp_path / "beside.html").read_bytes() == (tmp_path / "alone.html").read_bytes()
