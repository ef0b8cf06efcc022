"""The page on a migration in a browser: nothing is loaded, and it fits narrow windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.migration import judge_migration
from pytest_tablebench.documents.html import save_document
from pytest_tablebench.reports.migration import migration_report
from pytest_tablebench.results.run import load_run
from tests.support.browser import Watched
from tests.support.run_folders import record, write_run

HOSTILE = "<script>window.hacked = 1</script>" + "long" * 40


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    runs = [
        load_run(
            write_run(
                folder / name,
                [
                    record(
                        f"e{number:02}",
                        ("csv", "html")[number % 2],
                        "none",
                        (float(number % 3 > lost), HOSTILE),
                        references=(HOSTILE,),
                    )
                    for number in range(40)
                ],
                model=f"{name}/{HOSTILE}",
            )
        )
        for name, lost in (("old", 0), ("new", 1))
    ]
    verdict = judge_migration(runs[0], runs[1], 0.01)
    save_document(migration_report([verdict, verdict]), folder / "page.html")
    return folder / "page.html"


@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_loads_nothing_and_fits_the_window(
    watched: Watched, page: Path, width: int
) -> None:
    tab: Any = watched.page
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.unwanted == []
    marks = tab.locator("svg.range .edge")
    assert marks.count() == 6  # the dataset and two serializers, of two candidates
    edge = marks.first.bounding_box()
    middle = tab.locator("svg.range .track").nth(1).bounding_box()
    assert edge["x"] < middle["x"]  # the margin is a loss
