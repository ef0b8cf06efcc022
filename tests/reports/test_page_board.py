"""The leaderboard's page: ranks, figures, runs without all datasets."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.reports import leaderboard
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.reports.leaderboard import write_leaderboard
from tests.support.page_files import text_of
from tests.support.page_runs import make_records, record, write_run

# Several runs


def test_the_leaderboard_ranks_runs_and_shows_plots(tmp_path: Path) -> None:
    names = ["wikitq", "finqa"]
    good = make_records(names, 4, formats=("csv", "html"), model="good", skill=0.95)
    poor = make_records(names, 4, formats=("csv", "html"), model="poor", skill=0.2)
    folders = [write_run(tmp_path / "p", poor), write_run(tmp_path / "javascript:g&", good)]
    (folders[1] / "report.html").touch()
    write_leaderboard(folders, tmp_path / "boards" / "b.html")
    soup = BeautifulSoup((tmp_path / "boards" / "b.html").read_text("utf-8"), "html.parser")
    ranked = [heading.text for heading in soup.select("table")[0].select("tbody th")]
    assert ranked == ["good", "poor"]
    # Rows link to the pages of their runs if these exist.
    assert {link["href"] for link in soup.select("table a")} == {"../javascript%3Ag%26/report.html"}
    assert len(soup.select("figure svg")) >= 5
    # The last plots have many columns and keep their width of 2.9 inches per dataset.
    wide = [float(str(svg["width"])) for svg in soup.select("figure.wide svg")]
    assert wide == pytest.approx([2 * 2.9 * 72] * 2)
    assert "Impact of perturbations" in soup.get_text()
    assert not soup.find_all(["script", "img", "image"])


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the plots; the test above draws them all."""
    monkeypatch.setattr(leaderboard, "write_plots", lambda *_: {})


def test_equal_models_share_a_rank_and_equal_formats_a_place(
    tmp_path: Path, no_figures: None
) -> None:
    def run(model: str, *scores: float) -> Path:
        formats = ("csv", "html", "json")
        cases = [
            record(model=model, serializer=name, score=score, outcome="wrong", example_id=example)
            for example in ("e1", "e2")
            for name, score in zip(formats, scores, strict=True)
        ]
        return write_run(tmp_path / model, cases)

    folders = [run("a", 0.1, 0.1, 0.4), run("b", 0.2, 0.2, 0.2), run("c", 0.9, 0.9, 0.9)]
    write_leaderboard(folders, tmp_path / "board.html")
    soup = BeautifulSoup((tmp_path / "board.html").read_text(encoding="utf-8"), "html.parser")
    rows = [row.get_text(" ", strip=True) for row in soup.select("table")[0].select("tbody tr")]
    assert [row.split()[:3] for row in rows] == [
        ["1", "c", "0.900"],
        ["2", "=", "a"],
        ["2", "=", "b"],
    ]
    write_page(folders[0], tmp_path / "p.html")
    soup = BeautifulSoup((tmp_path / "p.html").read_text(encoding="utf-8"), "html.parser")
    assert text_of(soup, "[aria-label=Spread] tbody").startswith(
        "wikitq json 0.400 csv and html equal 0.100 0.300"
    )


def test_a_run_that_lacks_a_dataset_has_no_rank(tmp_path: Path, no_figures: None) -> None:
    part = make_records(["wikitq"], 2, formats=("csv",), model="part", skill=0.9)
    whole = make_records(["wikitq", "finqa"], 2, formats=("csv",), model="whole", skill=0.1)
    folders = [write_run(tmp_path / "a", part), write_run(tmp_path / "b", whole)]
    write_leaderboard(folders, tmp_path / "board.html")
    soup = BeautifulSoup((tmp_path / "board.html").read_text(encoding="utf-8"), "html.parser")
    rows = [row.get_text(" ", strip=True) for row in soup.select("table")[0].select("tbody tr")]
    assert rows[0].startswith("1 whole")
    assert rows[1].startswith("– part –")
