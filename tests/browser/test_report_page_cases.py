"""The list of cases in a browser: address, columns, groups, search, files, notes."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import Record
from tests.support.browser import Watched, wait_for
from tests.support.page_runs import make_records, record, write_run

ROW = "#spacer [role=option]"
FORMULA = '=HYPERLINK("http://127.0.0.1:9/","x")'
LONG = f"{'so far away ' * 400}needle"


def cases() -> Iterator[Record]:
    yield from make_records(["finqa"], 4)
    for number in (1, 2, 3):
        yield record(
            case_id="odd/e/csv/none" + (f"/r{number}" if number > 1 else ""),
            model="openai/test-model",
            dataset="odd",
            example_id="it's $(here)",
            repeat=number,
            outcome="right" if number < 3 else "wrong",
            raw=LONG if number == 2 else "42",
            prediction=FORMULA if number == 1 else "42",
            parts={"em": 1.0 if number < 3 else 0.0, "f1": 0.5},
            tags={"kind": "sum"},
            latency_s=float(number),
        )


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run whose longest replies are cut."""
    folder = tmp_path_factory.mktemp("cut")
    run = write_run(folder / "run", [record(raw="a" * 20_100), record(case_id="b", raw="b")])
    write_page(run, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    run = write_run(folder / "run", cases(), run={"limit": 7, "compat": "fixed"})
    write_page(run, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    watched = Watched(context.new_page())
    watched.page.set_default_timeout(15_000)
    # Counts the blocks that are unpacked; a page that looks for `busy` is never idle.
    watched.page.add_init_script(
        """window.unpacked = 0;
        const Stream = window.DecompressionStream;
        window.DecompressionStream = class extends Stream {
          constructor(how) { super(how); window.unpacked += 1; }
        };
        const idle = window.requestIdleCallback.bind(window);
        window.requestIdleCallback = (...given) => location.hash === "#q=busy" ? 0 : idle(...given);
        """
    )
    yield watched
    context.close()


def visit(window: Watched, report: Path, fragment: str = "") -> Any:
    """Load the page again; a new fragment alone would not load it."""
    window.page.goto("about:blank")
    window.page.goto(report.as_uri() + fragment)
    window.page.wait_for_selector("html[data-searched]")
    return window.page


def shown(page: Any) -> int:
    return int(page.inner_text("#shown").split()[0].replace(",", ""))


def names(page: Any) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(f"{ROW} .id").all_inner_texts()]


def test_filters_sort_and_columns_are_in_the_address(window: Watched, report: Path) -> None:
    page = visit(window, report, "#d=finqa")
    page.select_option("#f-s", label="csv")
    page.select_option("#sort", "-latency")
    page.click(".pick summary")
    page.check("#cols input[value=latency]")
    assert page.evaluate("location.hash") == "#d=finqa&s=csv&sort=-latency&cols=score%2Clatency"
    seconds = [float(text) for text in page.locator(f"{ROW} .latency").all_inner_texts()]
    assert len(seconds) > 5
    assert seconds == sorted(seconds, reverse=True)
    count = shown(page)

    page.reload()
    page.wait_for_selector("html[data-ready-ms]")
    assert page.input_value("#f-s") == "csv"
    assert shown(page) == count == 20
    assert [float(text) for text in page.locator(f"{ROW} .latency").all_inner_texts()] == seconds
    page.go_back()
    wait_for(page, "!location.hash.includes('cols')")
    assert page.locator(f"{ROW} .latency").count() == 0
    page.go_back()
    page.go_back()
    wait_for(page, "location.hash === '#d=finqa'")
    assert (page.input_value("#f-s"), shown(page)) == ("", 140)

    page.locator(ROW).first.click()
    page.wait_for_selector("dialog[open]")
    page.go_back()
    page.wait_for_selector("dialog", state="hidden")

    # A link to a section leaves the state in the address, and does not hide it.
    page.click("nav a[href='#datasets']")
    assert page.evaluate("location.hash") == "#d=finqa"


def test_a_heading_sorts_by_its_column_both_ways(window: Watched, report: Path) -> None:
    page = visit(window, report, "#d=odd&group=none&cols=score,latency")
    heading = page.get_by_role("button", name="Sort by Seconds")
    heading.click()
    assert page.locator(f"{ROW} .latency").all_inner_texts() == ["1.00", "2.00", "3.00"]
    heading.press("Enter")
    assert page.locator(f"{ROW} .latency").all_inner_texts() == ["3.00", "2.00", "1.00"]
    assert heading.get_attribute("aria-label") == "Sort by Seconds, now falling"


def test_repeats_and_equal_answers_are_grouped_and_counted(window: Watched, report: Path) -> None:
    page = visit(window, report, "#d=odd")
    assert names(page) == ["odd / it's $(here) csv · none"]
    assert "×3 2 right, 1 wrong" in page.inner_text(f"{ROW} .text")
    page.focus("#list")
    page.keyboard.press("Enter")
    assert names(page)[1:] == [
        f"odd / it's $(here) csv · none{end}" for end in ("", " · r2", " · r3")
    ]
    page.select_option("#group", "answers")  # one says FORMULA, two say 42, one of them wrong
    assert page.locator(f"{ROW}.group").count() == 0
    page.click("#clear")
    answers = Counter(str(r.prediction) for r in cases() if r.example_id == "fi-0")
    [(answer, number), (_, next_)] = answers.most_common(2)
    assert number > next_ == 1
    page.fill("#search", f"fi-0 {answer}")
    page.wait_for_url(lambda url: "fi-0" in url)
    [text] = page.locator(f"{ROW}.group").all_inner_texts()
    assert re.search(
        rf"finqa / fi-0 answer \d+: {answer} ×{number} 0 right, {number} wrong",
        " ".join(text.split()),
    )
    page.click("#clear")
    page.select_option("#group", "dataset")
    assert page.locator(f"{ROW}.group .id").all_inner_texts() == ["finqa", "odd"]
    assert "3 cases 2 right, 1 wrong" in page.locator(f"{ROW}.group .text").last.inner_text()
    for group, number in (("part:em", 3), ("tag:kind", 2), ("outcome", 3), ("serializer", 7)):
        page.select_option("#group", group)
        assert page.locator(f"{ROW}.group").count() == number


def test_cases_are_filtered_by_a_part_of_the_score(window: Watched, report: Path) -> None:
    page = visit(window, report)
    page.select_option("#f-part", "em=nothing")
    assert shown(page) == 1
    page.select_option("#f-part", "em=absent")
    assert shown(page) == 140


def test_the_search_covers_all_texts_and_pasted_ids(window: Watched, report: Path) -> None:
    page = visit(window, report)
    [example] = [r for r in cases() if r.case_id == "finqa/fi-2/html/none"]
    prompt = "Answer the question."
    for query, number in (
        ("needle", 1),  # after 4,800 characters of a reply
        ('"so far away needle"', 1),
        ("finqa/fi-2/html/none", 1),
        ("suites/torr/test_finqa.py::test_finqa[fi-2-html-none]", 1),
        ("test_finqa[fi-2-html-none]", 1),
        (f'"{str(example.raw).splitlines()[0]}"', 1),
        (f'"{prompt}"', 140),  # only in prompts
        ("NEEDLE finqa", 0),
    ):
        page.fill("#search", query)
        wait_for(
            page,
            "q => decodeURIComponent(location.hash.replaceAll('+', ' ')) === '#q=' + q",
            arg=query,
        )
        assert shown(page) == number, query
    assert page.inner_text("#searched") == ""
    assert page.inner_text(".nothing") == "No case matches."
    # Each block is read once for all searches.
    blocks = page.locator("script[id^='b-']").count()
    assert page.evaluate("window.unpacked") == blocks > 5


def test_the_search_shows_its_progress(window: Watched, report: Path) -> None:
    page = window.page
    page.goto("about:blank")
    page.goto(report.as_uri() + "#q=busy")
    page.wait_for_selector("html[data-ready-ms]")
    assert page.inner_text("#searched") == "Replies and prompts are still being read: 0 %."


def test_the_search_names_the_texts_it_does_not_cover(window: Watched, cut: Path) -> None:
    page = visit(window, cut, "#q=aaa")
    assert shown(page) == 1
    assert page.inner_text("#searched") == (
        "The search does not cover everything: 1 reply is cut to 20,000 characters here; "
        "whole ones are in records.jsonl."
    )


def test_filtered_cases_are_saved_with_notes(window: Watched, report: Path) -> None:
    page = visit(window, report, "#d=odd&case=odd%2Fe%2Fcsv%2Fnone")
    page.fill("textarea.note", "-1 is not asked\nsecond line")
    page.reload()
    page.wait_for_selector("dialog[open]")
    assert page.input_value("textarea.note") == "-1 is not asked\nsecond line"
    page.click("#close")
    assert "1 note" in page.inner_text("#noted")

    def saved(button: str) -> str:
        with page.expect_download() as download:
            page.click(button)
        return Path(download.value.path()).read_text("utf-8")

    rows = list(csv.DictReader(io.StringIO(saved("#save-csv").removeprefix("\ufeff"), newline="")))
    assert [row["case_id"] for row in rows] == [
        f"odd/e/csv/none{end}" for end in ("", "/r2", "/r3")
    ]
    assert rows[0]["prediction"] == f"'{FORMULA}"
    assert rows[0]["note"] == "'-1 is not asked\nsecond line"
    assert rows[1]["raw"] == LONG
    lines = [json.loads(line) for line in saved("#save-jsonl").splitlines()]
    assert [line["prediction"] for line in lines] == [FORMULA, "42", "42"]
    assert lines[0]["note"] == "-1 is not asked\nsecond line"
    assert (lines[2]["parts"], lines[2]["tags"]) == ({"em": 0, "f1": 0.5}, {"kind": "sum"})
    notes = [json.loads(line) for line in saved("#save-notes").splitlines()]
    assert notes == [{"case_id": "odd/e/csv/none", "note": "-1 is not asked\nsecond line"}]
    page.select_option("#f-note", "yes")
    assert shown(page) == 1
    assert page.locator(".row .id b").inner_text() == "it's $(here)"


def test_prompt_and_pytest_command_can_be_copied(window: Watched, report: Path) -> None:
    page = visit(window, report, "#case=finqa%2Ffi-2%2Fhtml%2Fnone")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_selector("dialog[open]")
    copied = []
    for label in ("Copy the pytest line", "Copy the prompt"):
        page.get_by_role("button", name=label).click()
        page.wait_for_selector(".copies >> text=Copied")
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    assert shlex.split(copied[0]) == [
        "pytest",
        "--model=openai/test-model",
        "--bench-dataset=finqa",
        "--bench-serializer=html",
        "--bench-perturbation=none",
        "--bench-strategy=direct",
        "--bench-modality=text",
        "--bench-limit=7",
        "-k",
        "[fi-2-html-none]",
    ]
    assert copied[1].startswith("Answer the question.\n")


def test_the_page_made_no_other_request(window: Watched) -> None:
    """No test above caused other events than page loads and downloads."""
    allowed = ("request: file://", "request: blob:", "download")
    assert [event for event in window.events if not event.startswith(allowed)] == []
