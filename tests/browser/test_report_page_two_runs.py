"""Two runs in one page, in a browser: both answers, maps, points that can be selected."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.publish import publish_pair
from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import TEXTS, TextWriter
from tests.support.browser import Watched, wait_for
from tests.support.page_runs import record, write_run

SCREENSHOTS = "TABLEBENCH_SCREENSHOTS"
HOSTILE = "<img src=x onerror=window.hacked=1>"
TAG = f"<b>{HOSTILE}"

# Each case: outcome and answer before, and now. R right, W wrong, N none.
E1 = {
    ("csv", "none"): ("R", "The total is 42 goals.", "W", f"The total is {HOSTILE} 41 goals."),
    ("csv", "transpose"): ("R", "42", "R", "42"),
    ("html", "none"): ("W", "7", "R", "42"),
    ("html", "transpose"): ("R", "42", "N", ""),
}
E2 = {
    ("csv", "none"): ("N", "", "R", "5"),
    ("csv", "transpose"): ("W", "four", "W", "six"),
    ("html", "none"): ("R", "5", "R", "5"),
}
OUTCOMES = {"R": "right", "W": "wrong", "N": "no_answer"}
STEPS = (
    {"kind": "ask", "outcome": "length", "latency_s": 1.5, "prompt_tokens": 700},
    {"kind": "execute", "outcome": "ok"},
    {"kind": "ask", "outcome": "stop", "cost_usd": 0.002, "from_store": True},
    {"kind": "ask", "outcome": "stop", "model": "openai/judge", "text": f"Score: 3 {HOSTILE}"},
)
TURNS = [("reply", "Let me compute."), ("program", "print(6 * 7)"), ("output", "42"),
         ("user", "So what is it?"), ("reply", "42")]  # fmt: skip


def cases(now: bool) -> Iterator[Record]:
    for example, cells in (("e1", E1), ("e2", E2)):
        for (form, change), pair in cells.items():
            letter, answer = pair[2 * now : 2 * now + 2]
            yield record(
                example_id=example,
                serializer=form,
                perturbation=change,
                outcome=OUTCOMES[letter],
                tags={"kind": TAG},
                **({} if letter == "N" else {"raw": answer, "prediction": answer}),
            )
    for repeat, outcome in enumerate(("right", "wrong" if now else "right"), start=1):
        yield record(
            dataset="finqa",
            case_id="finqa/e1/csv/none" + ("/r2" if repeat > 1 else ""),
            outcome=outcome,
            repeat=repeat,
            steps=STEPS if now else (),
            transcript="t1" if now and repeat == 1 else None,
        )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    old = write_run(folder / "old", list(cases(False)), texts=False)
    new = write_run(folder / "new", list(cases(True)), texts=False)
    texts = TextWriter(new / TEXTS)
    texts.transcript("t1", TURNS)
    texts.close()
    publish_pair(old, new, folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def shared(browser: Any, report: Path) -> Iterator[Watched]:
    """One page for all tests: each opens its own address."""
    context = browser.new_context(viewport={"width": 1280, "height": 1100})
    watched = Watched(context.new_page())
    watched.page.set_default_timeout(5000)
    yield watched
    assert watched.unwanted == []
    context.close()


def opened(shared: Watched, report: Path, state: str = "") -> Any:
    shared.page.goto("about:blank")
    shared.events.clear()
    shared.open(report, state)
    return shared.page


def case(shared: Watched, report: Path, case_id: str) -> Any:
    page = opened(shared, report, f"#case={case_id}")
    page.wait_for_selector("dialog[open] #case-outcome")
    return page


def shown(page: Any) -> int:
    return int(page.inner_text("#shown").split()[0])


def card(page: Any, title: str) -> Any:
    return page.locator("#case-body .card", has=page.locator("h3", has_text=re.compile(title)))


def test_cases_can_be_filtered_by_their_change(shared: Watched, report: Path) -> None:
    page = opened(shared, report)
    assert shown(page) == 9
    counts = {}
    for label in ("regressed", "improved", "newly unanswered", "newly answered", "changed"):
        page.select_option("#f-f", label=label)
        counts[label] = shown(page)
    assert counts == {
        "regressed": 2,  # e1 as plain CSV, and the second time of finqa
        "improved": 1,
        "newly unanswered": 1,
        "newly answered": 1,
        "changed": 6,  # all of these, and another wrong answer
    }
    assert "f=changed" in page.evaluate("location.hash")


def test_the_comparison_comes_before_the_figures(shared: Watched, report: Path) -> None:
    page = opened(shared, report)
    heads = page.locator("main h2").all_inner_texts()
    assert heads[:2] == ["Before and after", "Datasets"]
    assert page.locator("nav a").first.inner_text() == "Before and after"


def test_columns_and_files_contain_the_previous_values(shared: Watched, report: Path) -> None:
    page = opened(shared, report, "#f=improved&cols=before,change")
    [row] = page.locator("#spacer .row").all()
    assert row.locator(".cell").all_inner_texts() == ["wrong", "1.00"]
    page.locator("#save-jsonl").evaluate(
        "node => { node.closest('details')?.setAttribute('open', ''); }"
    )
    with page.expect_download() as saved:
        page.click("#save-jsonl")
    [line] = Path(saved.value.path()).read_text("utf-8").splitlines()
    saved_case = json.loads(line)
    assert [saved_case[f"{name}_before"] for name in ("outcome", "score", "prediction", "raw")] == [
        "wrong", 0, "7", "7",
    ]  # fmt: skip
    shared.events.clear()


def test_a_case_shows_both_answers_and_their_word_diff(shared: Watched, report: Path) -> None:
    page = case(shared, report, "wikitq/e1/csv/none")
    facts = card(page, "^Before and after").locator(".facts").inner_text()
    assert " ".join(facts.split()) == "before right 1 after wrong 0 change regressed"
    assert "The total is 42 goals." in card(page, "^Reply before").inner_text()
    diff = card(page, "^Before and after").locator(".said").first
    assert diff.locator("del").all_inner_texts() == ["42"]
    assert diff.locator("ins").all_inner_texts() == [f"{HOSTILE} 41"]
    assert diff.inner_text() == f"The total is 42{HOSTILE} 41 goals."
    page = case(shared, report, "wikitq/e1/csv/transpose")
    assert "the same in both" in card(page, "^Before and after").inner_text()
    assert card(page, "^Reply before").count() == 0
    page = case(shared, report, "wikitq/e1/html/transpose")
    assert "No reply: timeout" in page.inner_text("#case-body")
    assert "newly unanswered" in card(page, "^Before and after").inner_text()


def test_a_cell_of_the_example_map_opens_its_case(shared: Watched, report: Path) -> None:
    page = opened(shared, report, "#f=regressed&case=wikitq/e1/csv/none")
    table = page.locator(".outcomes")
    table.wait_for()
    assert table.locator("thead th").all_inner_texts() == ["none", "transpose"]
    assert table.locator("tbody tr").all_inner_texts() == ["csv\tW▼\tR", "html\tR▲\tN"]
    looks = [table.locator("tbody td").nth(n).get_attribute("class") for n in range(4)]
    assert looks == ["h0", "h20", "h20", "unknown"]
    cell = table.get_by_role("button", name="html, none: right, score 1.00; before wrong")
    cell.click()
    wait_for(
        page, "() => document.querySelector('#case-title').textContent === 'wikitq/e1/html/none'"
    )
    # The filter stays, though this case does not pass it.
    assert "f=regressed" in page.evaluate("location.hash")
    # Arrows go from cell to cell and not to another case; Enter opens.
    page.locator(".outcomes [aria-current]").focus()
    page.keyboard.press("ArrowRight")
    assert "html, transpose" in page.evaluate("document.activeElement.title")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # there is no row above
    assert "csv, transpose" in page.evaluate("document.activeElement.title")
    assert page.inner_text("#case-title") == "wikitq/e1/html/none"
    page.keyboard.press("Enter")
    wait_for(
        page,
        "() => document.querySelector('#case-title').textContent === 'wikitq/e1/csv/transpose'",
    )


def test_equal_answers_are_grouped_and_counted(shared: Watched, report: Path) -> None:
    page = case(shared, report, "wikitq/e1/csv/none")
    box = card(page, "^Answers to this example: 3 different answers in 4 cases")
    assert [line.split("\n")[0] for line in box.locator("figcaption").all_inner_texts()] == [
        "2 of 4 right",
        "1 of 4 wrong",
        "1 of 4 no answer",
    ]
    texts = box.locator(".said").all_inner_texts()
    assert texts == ["42", f"The total is {HOSTILE} 41 goals."]
    box.locator("summary").click()
    box.get_by_role("button", name="html · none").click()
    wait_for(
        page, "() => document.querySelector('#case-title').textContent === 'wikitq/e1/html/none'"
    )


def test_repeats_share_a_cell(shared: Watched, report: Path) -> None:
    page = case(shared, report, "finqa/e1/csv/none")
    assert page.locator(".outcomes tbody tr").all_inner_texts() == ["csv\tR1 W1▼"]
    assert page.locator(".outcomes td[class=h10]").count() == 1


def test_steps_show_texts_tokens_and_cost(shared: Watched, report: Path) -> None:
    page = case(shared, report, "finqa/e1/csv/none")
    steps = [re.sub(r"\s+", " ", text) for text in page.locator(".steps li").all_inner_texts()]
    assert steps == [
        "Reply Let me compute. ended length seconds 1.5 prompt tokens 700",
        "Program print(6 * 7)",
        "Output of the program 42 ended ok",
        "User message So what is it?",
        "Reply 42 ended stop cost $0.002 from the store",
        f"Reply of the judge Score: 3 {HOSTILE} ended stop model openai/judge",
    ]
    # A run without texts has no transcript; what is known of the steps stays.
    page = case(shared, report, "finqa/e1/csv/none/r2")
    steps = page.locator(".steps li").all_inner_texts()
    assert [text.split("\n")[0] for text in steps] == [
        "Call to the model", "Program", "Call to the model", "Reply of the judge",
    ]  # fmt: skip


def test_points_can_be_selected_by_mouse_and_keyboard(shared: Watched, report: Path) -> None:
    page = opened(shared, report)
    points = page.locator("#plane .point")
    labels = [point.get_attribute("aria-label") for point in points.all()]
    assert labels[1].startswith("finqa: 1.000 before, 0.500 after, −0.500; 1 example, 0 better")
    assert len(labels) == 2
    points.nth(1).scroll_into_view_if_needed()
    box = points.nth(1).bounding_box()
    page.mouse.move(box["x"] - 30, box["y"] - 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 30, box["y"] + 30, steps=3)
    assert page.locator("#plane .brush").count() == 1
    page.mouse.up()
    assert shown(page) == 2
    assert page.locator("#plane .brush").count() == 0
    assert "finqa: 1.000 before" in page.inner_text("#picked")
    assert "points=" in page.evaluate("location.hash")
    page.reload()
    page.wait_for_selector("html[data-ready-ms]")
    assert shown(page) == 2
    page.click("#unpick")
    assert shown(page) == 9

    page.select_option("#by", "serializer")
    assert points.count() == 3
    page.locator("#plane [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
    first = shown(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    assert first < shown(page) < 9
    page.keyboard.press("Escape")
    assert shown(page) == 9
    page.select_option("#by", "tag")
    page.get_by_role("checkbox", name=re.compile("wikitq · kind=<b>")).click()
    assert shown(page) == 7
    assert TAG in page.inner_text("#picked")
    page.click("#clear")
    assert shown(page) == 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_two_runs_fit_the_screen(browser: Any, report: Path, scheme: str) -> None:
    if scheme == "dark" and SCREENSHOTS not in os.environ:
        pytest.skip("looks the same; only drawn where screenshots are kept")
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    watched = Watched(context.new_page())
    watched.open(report, "#case=wikitq/e1/csv/none")
    page = watched.page
    page.wait_for_selector("dialog[open] .outcomes")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    if folder := os.environ.get(SCREENSHOTS):
        page.locator(".outcomes").scroll_into_view_if_needed()
        page.screenshot(path=Path(folder) / f"grid-{scheme}-phone.png")
        page.click("#close")
        page.locator("#scatter").screenshot(path=Path(folder) / f"scatter-{scheme}-phone.png")
    context.close()
