"""The page of several runs in a browser: all text is readable and inside its frame."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.leaderboard import write_leaderboard
from pytest_tablebench.results import Record
from tests.browser.test_report_page_narrow import PHONE, outside
from tests.support.browser import Watched
from tests.support.page_runs import record, write_run

HOSTILE = "<img src=x onerror=window.hacked=1>"
LONG = "treb_multi_step_conditional_calculation"
MODES = (("direct", "text"), ("direct", "image"), ("treethinker", "text"), ("treethinker", "image"))

CLIPPED = """() => [...document.querySelectorAll(".heat thead span")]
  .filter((head) => head.scrollHeight > head.clientHeight + 1
    || head.getBoundingClientRect().top < head.parentElement.getBoundingClientRect().top - 1)
  .map((head) => head.textContent)"""


def cases(model: str, strategy: str, modality: str) -> Iterator[Record]:
    for example in ("1", "2", "3"):
        for number, (dataset, serializer) in enumerate(
            (dataset, serializer)
            for dataset in ("realhit_fc", "realhit_nr")
            for serializer in ("latex", "html")
        ):
            score = float((len(strategy) + len(modality) + int(example) + number) % 3 == 0)
            yield record(
                model=model,
                benchmark="realhitbench",
                dataset=dataset,
                example_id=example,
                serializer=serializer,
                strategy=strategy,
                modality=modality,
                score=score,
                outcome="right" if score else "wrong",
                parts={"em": score, "f1": score},
            )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of four runs of one model, each in a mode of its own, with a hostile name."""
    folder = tmp_path_factory.mktemp("runs")
    runs = [
        write_run(folder / f"{strategy}-{modality}", list(cases(HOSTILE, strategy, modality)))
        for strategy, modality in MODES
    ]
    other = [
        record(model="m", benchmark="treb", dataset=name, tags={"skill": "TBO"}, score=0.5,
               parts={"llm_score": 0.5}, strategy="tcot", case_id=name)
        for name in (LONG, "treb_table_query")
    ]  # fmt: skip
    runs.append(write_run(folder / "treb", other))
    write_leaderboard(runs, folder / "board.html")
    return folder / "board.html"


def test_the_board_shows_each_mode_and_the_published_rows(
    watched: Watched, page_file: Path
) -> None:
    page = watched.page
    page.goto(page_file.as_uri())
    names = page.locator("main section").nth(1).locator("tbody").first.locator("th")
    shown = {name.partition(" (")[2] for name in names.all_inner_texts()}
    assert shown == {f"{strategy}, {modality})" for strategy, modality in MODES}
    assert page.locator("tr.own").first.is_visible()
    assert page.get_by_text("published, Table 2").first.is_visible()
    assert page.get_by_text("Kimi-K2.5").is_visible()
    assert page.evaluate(CLIPPED) == []
    assert page.locator("figure svg").count() >= 3
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        assert page.locator(f'[id="{target[1:]}"]').count() == 1, target
    folder = os.environ.get("TABLEBENCH_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / "board.png", full_page=True)
    assert watched.unwanted == []


def test_on_a_phone_the_board_stays_inside_its_frames(browser: Any, page_file: Path) -> None:
    context = browser.new_context(viewport=PHONE)
    watched = Watched(context.new_page())
    watched.page.goto(page_file.as_uri())
    assert outside(watched.page, "body") == []
    assert watched.unwanted == []
    context.close()
