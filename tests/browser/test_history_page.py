"""The page of a history in a browser: readable on a screen and a telephone, and harmless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from tests.browser.test_report_page_narrow import PHONE, outside
from tests.support.browser import Watched
from tests.support.run_folders import record, write_run

HOSTILE = "<img src=x onerror=window.hacked=1>"
LONG = "hosted_vllm/a-model-with-a-name-that-no-column-of-a-table-has-room-for-at-all"
DAYS = 9

OVERLAPS = """() => [...document.querySelectorAll(".plot svg")].filter((svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
  const frame = svg.getBoundingClientRect();
  return boxes.some((a, i) => a.left < frame.left - 1 || a.right > frame.right + 1
    || a.bottom > frame.bottom + 1
    || boxes.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 3 && b.top < a.bottom - 3));
}).length"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of three models over nine days; on the fifth day the package changes."""
    folder = tmp_path_factory.mktemp("history")
    for day in range(DAYS):
        for number, model in enumerate((HOSTILE, LONG, "m")):
            records = [
                record(f"e{n}", "csv", "none", float((n + day + number) % 3 > 0), dataset=dataset)
                for n in range(12)
                for dataset in ("toy", HOSTILE)
            ]
            version = "0.1.0" if day < 4 else "0.2.0"
            facts: dict[str, Any] = {
                "model": model,
                "start": f"2026-03-0{day + 1}T0{number}:00:00+00:00",
                "versions": {"pytest-tablebench": version},
                "cost_usd": 0.1 * (day + 1),
                "calls_paid": 24,
            }
            write_run(folder / f"{day}-{number}", records, **facts)
    assert main(["history", str(folder), "--page", str(folder / "history.html")]) == 0
    return folder / "history.html"


@pytest.mark.parametrize("size", [{"width": 1280, "height": 900}, PHONE])
def test_the_page_fits_and_loads_nothing(
    watched: Watched, page_file: Path, size: dict[str, int]
) -> None:
    page = watched.page
    page.set_viewport_size(size)
    page.goto(page_file.as_uri())
    assert outside(page, "body") == []
    assert page.locator("svg").count() == 3 * 3 + 1  # the benchmark and two datasets; the price
    assert page.evaluate(OVERLAPS) == 0
    assert watched.unwanted == []


def test_a_change_of_all_models_has_one_number(watched: Watched, page_file: Path) -> None:
    watched.page.goto(page_file.as_uri())
    section = watched.page.locator("section").nth(0)
    [row] = section.locator("table").nth(0).locator("tbody tr").all_inner_texts()
    assert row.split("\t") == [
        *("1", "2026-03-05", "package pytest-tablebench: 0.1.0 to 0.2.0", "all")
    ]
    rows = section.locator("table").nth(1).locator("tbody tr").all_inner_texts()
    numbers = [row.split("\t")[-1] for row in rows]
    assert numbers == ["–"] * 12 + ["1"] * 3 + ["–"] * 12
