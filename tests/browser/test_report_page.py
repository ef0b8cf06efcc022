"""The page in a browser: filters, search, keyboard, no network."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import Record
from tests.support.browser import Watched
from tests.support.matrix import reduced
from tests.support.page_runs import make_records, record, write_run

SCREENSHOTS = "TABLEBENCH_SCREENSHOTS"
"""Variable with the folder for screenshots; without it none are taken."""

ROW = "#spacer [role=option]"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 420 cases with gates and a baseline."""
    folder = tmp_path_factory.mktemp("report")
    names = ("finqa", "wikitq")
    new = [tagged(drawn) for drawn in make_records(names, 6)]
    old = list(make_records(names, 6, model="openai/other", skill=0.4))
    now, then = write_run(folder / "new", new), write_run(folder / "old", old)
    gates = judge_gates(new, ["torr.performance >= 0.9", "all.no_answer <= 0.2"])
    out = folder / "report.html"
    write_page(now, out, gates=gates, baseline=then, comparison=compare_runs(then, now))
    return out


def tagged(plain: Record) -> Record:
    return replace(plain, tags={"kind": "sum" if plain.example_id.endswith("1") else "look-up"})


def until_shown(page: Any, start: str) -> None:
    """Wait for the line over the rows; the page's policy stops expressions given as text."""
    from playwright.sync_api import expect

    expect(page.locator("#shown")).to_have_text(re.compile(f"^{start}"))


def shown(page: Any) -> int:
    return int(page.inner_text("#shown").split()[0].replace(",", ""))


def test_a_card_has_space_above_it(watched: Watched, report: Path) -> None:
    watched.open(report)
    gaps = watched.page.evaluate(
        """() => [...document.querySelectorAll(".hint + .card")].map((card) =>
          card.getBoundingClientRect().top
            - card.previousElementSibling.getBoundingClientRect().bottom)"""
    )
    assert gaps
    assert min(gaps) >= 12


def test_rows_are_drawn_lazily_and_all_can_be_reached(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    assert shown(page) == 420
    assert 5 < page.locator(ROW).count() < 60
    page.focus("#list")
    page.keyboard.press("End")
    page.wait_for_selector(f"{ROW}.active[aria-posinset='420']")
    assert page.locator(ROW).count() < 60
    assert watched.unwanted == []


def test_filters_count_the_matching_records(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    expected = list(make_records(("finqa", "wikitq"), 6))
    page.select_option("#f-t", label="sum")
    assert shown(page) == 70  # one of six examples of each dataset, in 35 configurations
    page.click("#clear")
    page.locator("#tags ~ .card details summary").first.click()
    page.get_by_role("button", name="look-up").first.click()
    until_shown(page, "350 of 420")
    page.click("#clear")
    page.select_option("#f-d", label="wikitq")
    page.select_option("#f-s", label="html")
    matching = [r for r in expected if r.dataset == "wikitq" and r.serializer == "html"]
    assert shown(page) == len(matching) == 30
    page.select_option("#f-o", label="wrong")
    assert shown(page) == sum(r.outcome == "wrong" for r in matching)
    page.click("#clear")
    assert shown(page) == 420
    page.select_option("#f-p", label="transpose")
    page.select_option("#f-o", label="right")
    matching = [r for r in expected if r.perturbation == "transpose" and r.outcome == "right"]
    assert shown(page) == len(matching)


def test_flips_of_the_baseline_can_be_filtered(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    runs = (
        make_records(("finqa", "wikitq"), 6),
        make_records(("finqa", "wikitq"), 6, model="openai/other", skill=0.4),
    )
    new, old = ({r.case_id: r.outcome for r in records} for records in runs)
    worse = [key for key in new if (old[key], new[key]) == ("right", "wrong")]
    better = [key for key in new if (old[key], new[key]) == ("wrong", "right")]
    page.select_option("#f-f", label="regressed")
    assert shown(page) == len(worse) > 0
    page.select_option("#f-f", label="improved")
    assert shown(page) == len(better) > 0
    page.click(".ids button >> nth=0")
    page.wait_for_selector("dialog[open]")
    assert "before right" in page.inner_text("#case-body")


def test_search_finds_ids_questions_and_answers(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    page.fill("#search", "wi-3")
    until_shown(page, "35 of ")
    page.fill("#search", "wi-3 transpose JSON")
    until_shown(page, "1 of ")
    page.fill("#search", "club of wi-3")
    until_shown(page, "35 of ")
    page.fill("#search", "no such thing")
    page.wait_for_selector(".nothing")
    assert shown(page) == 0


def test_a_case_opens_by_keyboard_and_shows_all_its_parts(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    page.keyboard.press("/")
    page.keyboard.type("fi-2 csv/none")
    until_shown(page, "1 of ")
    page.keyboard.press("Enter")  # from the search to the list
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    [case] = [r for r in make_records(("finqa",), 6) if r.case_id == "finqa/fi-2/csv/none"]
    body = page.inner_text("#case-body")
    assert page.inner_text("#case-title") == case.case_id
    assert page.inner_text("#case-outcome") == case.outcome.replace("_", " ")
    assert "How many" in body
    assert str(case.raw).split("\n", 1)[0] in body
    for reference in case.references:
        assert reference in body
    assert page.locator("#case-body .shown tbody tr").count() == 12
    assert page.locator("#case-body .shown td:last-child").all_inner_texts() == ["1", *[""] * 11]
    assert page.locator("#case-body .shown thead th").all_inner_texts() == [
        "year", "club", "points", "goals",
    ]  # fmt: skip
    page.click("#case-body details.card > summary")
    page.wait_for_selector("details.card .said")
    assert page.inner_text("details.card .said").startswith("Answer the question.")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    assert watched.unwanted == []


def test_arrows_go_from_case_to_case(watched: Watched, report: Path) -> None:
    from playwright.sync_api import expect

    page = watched.page
    watched.open(report)
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    first = page.inner_text("#case-title")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#case-title")).not_to_have_text(first)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#case-title")).to_have_text(first)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"


def test_an_address_opens_its_case(watched: Watched, report: Path) -> None:
    watched.open(report, "#case=wikitq%2Fwi-1%2Fhtml%2Fnone")
    watched.page.wait_for_selector("dialog[open]")
    assert watched.page.inner_text("#case-title") == "wikitq/wi-1/html/none"


def test_links_open_the_repeat_and_model_they_name(watched: Watched, tmp_path: Path) -> None:
    """Case ids contain slugs, which the names in the index do not determine."""

    def run(model: str, *outcomes: str) -> Path:
        cases = [
            record(
                case_id=f"finqa/page-1-12ab34cd/csv/none/{model}" + ("/r2" if number > 1 else ""),
                dataset="finqa",
                example_id="ETR/2016/page 1",
                model=model,
                outcome=outcome,
                repeat=number,
            )
            for number, outcome in enumerate(outcomes, start=1)
        ]
        return write_run(tmp_path / model, cases)

    old, new = run("old", "right", "right"), run("new", "right", "wrong")
    out, page = tmp_path / "report.html", watched.page
    write_page(new, out, baseline=old, comparison=compare_runs(old, new))
    watched.open(out)
    page.click(".ids button")
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#case-title") == "finqa/page-1-12ab34cd/csv/none/new/r2"
    assert "before right" in page.inner_text("#case-body")
    address = page.evaluate("location.hash")
    page.click("#close")
    watched.open(out, address)
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#case-title") == "finqa/page-1-12ab34cd/csv/none/new/r2"


def test_a_cell_of_a_heat_map_filters_its_cases(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    page.click("[data-d='1'][data-s='3']")
    assert page.evaluate("document.querySelector('#f-d').selectedOptions[0].text") == "wikitq"
    assert page.evaluate("document.querySelector('#f-s').selectedOptions[0].text") == "html"
    assert shown(page) == 30


def test_a_case_without_texts_shows_a_note(watched: Watched, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [record(prompt_digest="ab12")], texts=False)
    write_page(folder, tmp_path / "report.html")
    watched.open(tmp_path / "report.html")
    page = watched.page
    page.focus("#list")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.click("#case-body details.card > summary")
    page.wait_for_selector("details.card .empty")
    text = page.inner_text("#case-body")
    assert "stored no texts" in text
    assert "ab12" in text


# Looks


SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.mark.parametrize(
    ("device", "scheme"),
    reduced(product(SIZES, ["light", "dark"]), ("desktop", "light"), ("phone", "dark")),
)
def test_the_page_fits_each_device_and_colour_scheme(
    browser: Any, report: Path, device: str, scheme: str
) -> None:
    width, height = SIZES[device]
    viewport = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    watched = Watched(context.new_page())
    watched.open(report)
    page = watched.page
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(background.split("(")[1].split(",")[0])
    assert (red < 60) == (scheme == "dark")
    # Nothing is wider than the screen: only tables and figures scroll inside their frames.
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.focus("#list")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    if folder := os.environ.get(SCREENSHOTS):  # the whole page of a phone takes ten seconds
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"case-{scheme}-{device}.png")
        page.keyboard.press("Escape")
        page.screenshot(path=Path(folder) / f"report-{scheme}-{device}.png", full_page=True)
    assert watched.unwanted == []
    context.close()
