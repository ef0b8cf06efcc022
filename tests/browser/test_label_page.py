"""The page for marking judged replies in Chromium."""

from __future__ import annotations

import csv
from pathlib import Path

from pytest_tablebench.reports.html.review import LABEL_COLUMNS, write_label_page
from tests.browser.test_audit_page import opened, saved, title, wait_for_title
from tests.support.browser import Watched, wait_for
from tests.support.suspects import label_case

CASE = "realhit_da/{}/html/none"
DETAIL = """async () => {
  const raw = Uint8Array.from(atob(document.getElementById("b-d0").textContent),
    (sign) => sign.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return await new Response(stream).text();
}"""


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_labels_of_each_person_are_saved_apart(watched: Watched, tmp_path: Path) -> None:
    cases = [label_case(0), label_case(1), label_case(2, scale="right_wrong")]
    write_label_page(tmp_path / "labels.html", cases)
    page = opened(watched, tmp_path / "labels.html")
    page.keyboard.press("7")
    wait_for_title(page, CASE.format(1))  # the next one opens
    page.keyboard.press("t")
    wait_for_title(page, CASE.format(2))
    assert page.locator("#choices button span").all_text_contents() == ["Right", "Wrong"]
    page.keyboard.press("0")
    page.click("#save")
    assert "Enter your name first" in page.text_content("#message")
    page.fill("#name", "Ada")
    page.keyboard.press("Escape")
    rows = read(saved(page, tmp_path / "labels.csv"))
    assert list(rows[0]) == list(LABEL_COLUMNS)
    assert [(row["case_id"], float(row["label"]), row["who"]) for row in rows] == [
        (CASE.format(0), 0.7, "Ada"),
        (CASE.format(1), 1, "Ada"),
        (CASE.format(2), 0, "Ada"),
    ]
    page.fill("#name", "Bo")
    page.keyboard.press("Escape")
    assert page.text_content("#progress") == "0 of 3 labelled"
    page.set_input_files("#file", tmp_path / "labels.csv")
    wait_for(page, "document.querySelector('#message').textContent.includes('loaded')")
    assert page.text_content("#progress") == "0 of 3 labelled"  # labels of another person
    page.fill("#name", "Ada")
    page.keyboard.press("Escape")
    assert page.text_content("#progress") == "3 of 3 labelled"
    page.reload()
    page.wait_for_selector("#verdict:not([hidden])")
    assert page.text_content("#progress") == "3 of 3 labelled"
    assert title(page) == CASE.format(0)


def test_the_judges_mark_is_hidden_in_blind_mode(watched: Watched, tmp_path: Path) -> None:
    cases = [label_case(judge_mark=0.123, scale="right_wrong")]
    write_label_page(tmp_path / "blind.html", cases)
    write_label_page(tmp_path / "open.html", cases, blind=False)
    page = opened(watched, tmp_path / "blind.html")
    assert "judge" not in page.inner_text("#content").lower()
    assert "0.123" not in page.evaluate(DETAIL)
    page = opened(watched, tmp_path / "open.html")
    assert "0.123" in page.evaluate(DETAIL)
    assert "The judge's score: 0.123" in page.inner_text("#content")
    assert page.locator("#choices button").count() == 2


def test_reply_and_reference_are_shown_unchanged(watched: Watched, tmp_path: Path) -> None:
    reply = "<b>1</b>\n\n  two\u202e </script><script>window.hacked=1</script>"
    case = label_case(reply=reply, references=("a", "<i>b</i>"), tables=(), question="<u>q</u>")
    write_label_page(tmp_path / "labels.html", [case])
    page = opened(watched, tmp_path / "labels.html")
    assert page.text_content(".said") == reply.replace("\u202e", "U+202E")
    assert page.locator(".rv-gold .rv-answer").all_text_contents() == ["a", "<i>b</i>"]
    assert page.text_content(".rv-big") == "<u>q</u>"
    assert watched.unwanted == []


def test_a_reply_that_is_cut_says_so(watched: Watched, tmp_path: Path) -> None:
    write_label_page(tmp_path / "labels.html", [label_case(reply="x" * 20_001)])
    page = opened(watched, tmp_path / "labels.html")
    assert len(page.text_content(".said")) == 20_000
    assert "the whole reply has 20,001 characters" in page.inner_text("#content")


def test_no_cases_are_said_so(watched: Watched, tmp_path: Path) -> None:
    write_label_page(tmp_path / "labels.html", [])
    watched.open(tmp_path / "labels.html")
    assert "nothing to look at" in watched.page.inner_text("#content")
    assert watched.unwanted == []
