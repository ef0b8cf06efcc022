"""A chart, a table with merged cells and a tree in a case, in a browser."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.datasets import Example
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results.texts import TEXTS, TextWriter, example_key
from pytest_tablebench.session.case_messages import table_values
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table
from tests.support.browser import Watched
from tests.support.page_runs import record, write_run

SCREENSHOTS = "TABLEBENCH_SCREENSHOTS"
HOSTILE = "<img src=x onerror=window.hacked=1>"

TABLE = Table(
    ["Region", "Town", "2020", "2021"],
    [
        ["North", "", "", ""],
        ["Coast", "Ayton", 12, 19],
        ["", "Beeford", 7, 4],
        ["Hills", HOSTILE, 3, 8],
    ],
    header_rows=[["Region", "Town", "Visitors (thousands)", ""]],
    captions=[["Visitors of towns, by region and year", "", "", ""]],
    notes=[["Source: made up for this test.", "", "", ""]],
    row_headers=2,
    row_levels=[0, 1, 1, 1],
    sections=[0],
    spans=[
        Span(0, 0, 1, 4), Span(1, 0, 2, 1), Span(1, 1, 2, 1), Span(1, 2, 1, 2), Span(4, 0, 2, 1),
    ],
)  # fmt: skip

TREE = "ROOT\n├── Region\n└── Visitors (thousands)\n    ├── 2020\n    └── 2021"


def a_chart() -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 3.2))
    axes = figure.subplots()
    axes.bar([0, 1, 2], [12, 7, 3], width=0.4)
    axes.bar([0.4, 1.4, 2.4], [19, 4, 9], width=0.4)
    figure.savefig(data := io.BytesIO(), dpi=72)
    return data.getvalue()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("charts")
    picture = a_chart()
    name = f"{hashlib.sha256(picture).hexdigest()}.png"
    kinds = ("bar", "LineChart Generation", "PieChart Generation")
    records = [
        record(
            dataset="charts",
            example_id=kind.split("C")[0].lower(),
            outcome="wrong",
            metric="realhit_chart",
            references=("[[12, 7, 3], [19, 4, 8]]",),
            tags={"subtype": kind},
            raw="```python\nplt.bar(...)\n```",
            steps=({"kind": "ask"}, {"kind": "execute", **result}),
            transcript=f"t{number}",
        )
        for number, (kind, result) in enumerate(
            zip(kinds, ({"picture": name}, {"picture": f"{'0' * 64}.png"}, {}), strict=True)
        )
    ]
    run = write_run(folder / "run", records, texts=False)
    (run / "media").mkdir()
    (run / "media" / name).write_bytes(picture)
    texts = TextWriter(run / TEXTS)
    for drawn in records:
        example = Example("e", {"table": TABLE}, "q", ("a",), "a")
        key = example_key(drawn.dataset, drawn.example_id, drawn.perturbation)
        texts.example(key, "Draw the visitors of each town as bars.", table_values(example))
        texts.transcript(str(drawn.transcript), [("reply", "(a tree)"), ("drawn", TREE)])
    texts.close()
    write_page(run, folder / "report.html")
    return folder / "report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_case_shows_chart_table_and_tree(
    browser: Any, report: Path, tmp_path: Path, scheme: str
) -> None:
    folder = Path(os.environ.get(SCREENSHOTS) or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": 1280, "height": 1500}, color_scheme=scheme)
    watched = Watched(context.new_page())
    page = watched.page
    watched.open(report, "#case=charts%2Fbar%2Fcsv%2Fnone")
    page.wait_for_selector("dialog[open] .charts")

    table = page.locator(".merged")
    spans = table.locator("[rowspan='2'], [colspan='2'], [colspan='4']").all_inner_texts()
    assert [text.strip() for text in spans] == [
        "Visitors of towns, by region and year",
        "Region",
        "Town",
        "Visitors (thousands)",
        "North",
        "Coast",
        "Source: made up for this test.",
    ]
    widths = [table.locator(f"tr >> nth={n}").bounding_box()["width"] for n in (0, 2, 6)]
    assert len(set(widths)) == 1
    assert HOSTILE in table.inner_text()

    # Both sides of the chart are drawn, in about the same size.
    picture = page.locator(".charts img")
    assert picture.evaluate("img => img.decode().then(() => img.naturalWidth)") == 345
    sizes = [image.bounding_box() for image in (picture, page.locator(".charts svg"))]
    assert all(size["width"] > 300 and size["height"] > 200 for size in sizes)
    assert page.locator(".charts svg rect").count() == 6
    card = page.evaluate("getComputedStyle(document.querySelector('.charts svg rect')).fill")
    assert card == {"light": "rgb(31, 111, 174)", "dark": "rgb(106, 174, 230)"}[scheme]
    assert "Expected: bar, 6 values" in page.inner_text(".charts")
    assert TREE in page.inner_text("#case-body")
    page.screenshot(path=folder / f"merged-{scheme}.png")
    page.locator("#case-body").get_by_text("Read as this tree").scroll_into_view_if_needed()
    page.screenshot(path=folder / f"chart-{scheme}.png")

    page.click("#after")  # whose picture is not in the page
    page.wait_for_selector(".charts polyline")
    assert "is not on this page; it is in media/" in page.inner_text(".charts")
    page.screenshot(path=folder / f"chart-line-{scheme}.png")
    page.click("#after")  # whose program drew nothing
    page.wait_for_selector(".charts path")
    assert "Nothing was drawn." in page.inner_text(".charts")
    page.screenshot(path=folder / f"chart-pie-{scheme}.png")
    assert watched.unwanted == []
    context.close()
