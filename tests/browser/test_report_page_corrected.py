"""Cases with corrections of their gold, in the list and the details of the page in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import Record
from tests.support.browser import Watched, wait_for
from tests.support.page_runs import record, write_run

ROW = "#spacer [role=option]"
HOSTILE = "<img src=x onerror='window.hacked=1'>"


def _cases() -> Iterator[Record]:
    now_right = {"verdict": "wrong", "score": 1.0, "passed": True, "parts": {}}
    confirmed = {"verdict": "right", "score": 1.0, "passed": True, "parts": {}}
    yield record(example_id="a", outcome="wrong", corrected=now_right)
    yield record(example_id="b", corrected=confirmed)
    yield record(example_id="c", corrected={"verdict": "broken", "left_out": HOSTILE})
    yield record(example_id="d", outcome="no_answer", corrected={"verdict": "wrong"})
    yield record(example_id="e")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corrected")
    write_page(write_run(folder / "run", _cases()), folder / "report.html")
    return folder / "report.html"


def test_the_list_marks_corrected_cases(watched: Watched, report: Path) -> None:
    watched.open(report)
    marks = watched.page.locator(f"{ROW} [aria-label^='by corrected gold']")
    assert marks.evaluate_all(
        "nodes => nodes.map((node) => [node.textContent.trim(), node.title])"
    ) == [
        ["✎✓", "by corrected gold: right"],
        ["✎✓", "by corrected gold: right"],
        ["✎∅", "by corrected gold: left out"],
        ["✎–", "by corrected gold: no answer"],
    ]
    for value, expected in (("differs", ["a"]), ("same", ["b", "d"]), ("out", ["c"])):
        watched.page.select_option("#f-gold", value)
        count = f"document.querySelectorAll('{ROW}').length === {len(expected)}"
        wait_for(watched.page, count)
        assert watched.page.locator(f"{ROW} .id b").all_text_contents() == expected
    assert watched.unwanted == []


def test_the_details_show_the_score_by_the_corrected_gold(watched: Watched, report: Path) -> None:
    for example, expected in (
        ("a", "by corrected gold right, score 1 (the gold was wrong)"),
        ("b", "by corrected gold right, score 1 (people confirmed the gold)"),
        ("c", f"by corrected gold left out ({HOSTILE})"),
        ("d", "by corrected gold no answer (the gold was wrong)"),
        ("e", None),
    ):
        watched.page.goto("about:blank")  # a new fragment alone would not load the page again
        watched.open(report, f"#case=wikitq/{example}/csv/none")
        watched.page.wait_for_selector("#case-body .facts")
        assert f"/{example}/" in watched.page.locator("#case-title").text_content()
        facts = watched.page.locator("#case-body .facts > div").all_text_contents()
        corrected = [fact for fact in facts if fact.startswith("by corrected gold")]
        assert corrected == ([] if expected is None else [expected])
    assert watched.unwanted == []
