"""The page of a run with several efforts, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.html import write_page
from tests.support.browser import Watched
from tests.support.page_runs import record, write_run

TOKENS = {"none": 10, "low": 40, "high": 400}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("efforts")
    records = [
        record(
            example_id=f"e{number}",
            case_id=f"wikitq/e{number}/csv/none/{effort}",
            effort=effort,
            outcome="wrong" if effort == "none" and number < 3 else "right",
            prompt_tokens=100,
            completion_tokens=tokens,
            cost_usd=tokens / 1e6,
        )
        for number in range(8)
        for effort, tokens in TOKENS.items()
    ]
    run = write_run(folder / "run", records, texts=False)
    write_page(run, folder / "report.html")
    return folder / "report.html"


def _texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def test_efforts_have_a_table_a_plot_and_a_filter(watched: Watched, report: Path) -> None:
    watched.open(report)
    page = watched.page
    rows = page.locator("[aria-label='By setting'] tbody tr")
    assert [text.split()[0] for text in rows.all_inner_texts()] == ["none", "low", "high"]
    assert "$0.4000" in rows.nth(2).inner_text()
    assert page.locator("svg text", has_text="US dollars for 1,000 answers").count() == 1
    assert page.get_by_text("undecided whether a cheaper effort than high").count() == 1
    assert _texts(page, "#f-e option") == ["all", "none", "low", "high"]
    page.select_option("#f-e", label="none")
    assert page.inner_text("#shown").startswith("8 ")
    assert watched.unwanted == []


def test_a_case_can_be_run_again_with_its_effort(watched: Watched, report: Path) -> None:
    watched.open(report, "#case=wikitq/e3/csv/none/low")
    page = watched.page
    page.wait_for_selector("dialog[open] #case-outcome")
    body = page.inner_text("#case-body")
    assert "--bench-effort=low" in body
    assert watched.unwanted == []
