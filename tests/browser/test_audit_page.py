"""The page of suspicious gold answers in Chromium."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.reports.html.review import write_audit_page
from pytest_tablebench.results.corrections import (
    COLUMNS,
    Correction,
    Corrections,
    read_corrections,
    write_corrections,
)
from tests.browser.test_report_page_hostile import PAYLOADS
from tests.browser.test_report_page_narrow import PHONE
from tests.support.browser import Watched, wait_for
from tests.support.suspects import many, suspect, table

AWKWARD = "He said \"no\", then\nleft; ünïcode 42,5 'x' \\n"


IS_MARK_IN_VIEW = """() => {
  const frame = document.querySelector(".shown").getBoundingClientRect();
  const mark = document.querySelector("td.is-marked").getBoundingClientRect();
  return mark.top >= frame.top && mark.bottom <= frame.bottom;
}"""
UNNAMED = """() => [...document.querySelectorAll("button, input, select, textarea")]
  .filter((node) => node.type !== "file" &&
    !node.innerText && !node.labels?.length && !node.ariaLabel).length"""


def opened(watched: Watched, path: Path) -> Any:
    watched.open(path)
    watched.page.wait_for_selector("#verdict:not([hidden])")
    return watched.page


def title(page: Any) -> str:
    return str(page.text_content("#item"))


def wait_for_title(page: Any, text: str) -> None:
    wait_for(page, "t => document.querySelector('#item').textContent === t", arg=text)


def saved(page: Any, path: Path) -> Path:
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(path)
    return path


def test_verdicts_survive_a_reload_and_become_corrections(watched: Watched, tmp_path: Path) -> None:
    suspects = [suspect(0), suspect(1, dataset='a/"b", c', example_id="x,\ny"), suspect(2)]
    write_audit_page(tmp_path / "audit.html", suspects)
    page = opened(watched, tmp_path / "audit.html")
    page.fill("#name", "Ada, PhD")
    page.keyboard.press("1")  # inside a field: no verdict
    assert page.text_content("#progress") == "0 of 3 looked at"
    page.keyboard.press("Escape")
    page.fill("#name", "Ada, PhD")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("a")
    page.keyboard.type('42\n4"2, x')
    page.fill("#notes", AWKWARD)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    wait_for_title(page, 'a/"b", c / x, y')
    page.keyboard.press("3")
    assert page.input_value("#answers") == "17"
    page.click("text=Use as answer")
    page.keyboard.press("j")
    wait_for_title(page, "wikitq / nu-2")
    page.keyboard.press("4")
    page.keyboard.press("4")  # taken back
    page.reload()
    page.wait_for_selector("#verdict:not([hidden])")
    assert title(page) == "wikitq / nu-2"  # the first without a verdict
    assert page.text_content("#progress") == "2 of 3 looked at"
    assert page.input_value("#name") == "Ada, PhD"
    page.keyboard.press("k")
    page.keyboard.press("ArrowLeft")
    wait_for_title(page, "wikitq / nu-0")
    assert page.input_value("#notes") == AWKWARD
    path = saved(page, tmp_path / "corrections.csv")
    assert path.read_text("utf-8").partition("\n")[0] == ",".join(COLUMNS)
    first, second = read_corrections(path).by_example.values()
    assert (first.key, first.digest, first.verdict) == (("wikitq", "nu-0"), f"{0:020x}", "wrong")
    assert first.answers == ("42", '4"2, x')
    assert first.evidence == AWKWARD
    assert first.reviewer == "Ada, PhD"
    assert first.date.endswith("Z")
    assert second.key == ('a/"b", c', "x,\ny")
    assert (second.verdict, second.answers) == ("several", ("17", "42"))
    assert "Saved 2 verdicts." in page.text_content("#message")
    assert [event for event in watched.unwanted if event.startswith(("error", "console"))] == []


def test_earlier_corrections_are_shown_and_kept(watched: Watched, tmp_path: Path) -> None:
    earlier = [
        Correction("wikitq", "nu-0", f"{0:020x}", "wrong", ("42",), "a reason", "Bo", "2026-01-01"),
        Correction("wikitq", "nu-1", "another digest", "broken", (), "", "Bo", "2026-01-01"),
        Correction("elsewhere", "7", "d", "unclear", (), 'line\n"two"', "Bo", "2026-01-01"),
    ]
    suspects = [suspect(number) for number in range(3)]
    write_audit_page(tmp_path / "audit.html", suspects, corrections=Corrections.of(earlier))
    page = opened(watched, tmp_path / "audit.html")
    assert title(page) == "wikitq / nu-1"
    assert "another version" in page.text_content("#content .warning")
    again = read_corrections(saved(page, tmp_path / "again.csv"))
    assert again.by_example == Corrections.of(earlier).by_example
    page.keyboard.press("1")
    changed = read_corrections(saved(page, tmp_path / "changed.csv")).by_example
    assert changed["wikitq", "nu-1"].verdict == "right"
    assert changed["elsewhere", "7"].evidence == 'line\n"two"'


@pytest.mark.parametrize(("date", "verdict"), [("2999-01-01", "broken"), ("2000-01-01", "right")])
def test_the_later_of_an_earlier_and_a_stored_verdict_counts(
    watched: Watched, tmp_path: Path, date: str, verdict: str
) -> None:
    write_audit_page(tmp_path / "audit.html", [suspect(0)])
    page = opened(watched, tmp_path / "audit.html")
    page.keyboard.press("1")
    page.wait_for_selector("#choices [aria-pressed=true][value=right]")
    earlier = [Correction("wikitq", "nu-0", "*", "broken", (), "", "Bo", date)]
    write_audit_page(tmp_path / "audit.html", [suspect(0)], corrections=Corrections.of(earlier))
    page = opened(watched, tmp_path / "audit.html")
    assert page.get_attribute("#choices [aria-pressed=true]", "value") == verdict


def test_a_loaded_file_replaces_nothing_that_is_newer(watched: Watched, tmp_path: Path) -> None:
    write_audit_page(tmp_path / "audit.html", [suspect(0), suspect(1)])
    page = opened(watched, tmp_path / "audit.html")
    page.keyboard.press("1")
    earlier = [
        Correction("wikitq", "nu-0", f"{0:020x}", "wrong", ("5",), "", "Bo", "2020-01-01"),
        Correction("wikitq", "nu-1", f"{1:020x}", "several", ("5", "a\nb,"), AWKWARD, "Bo", "x"),
        Correction("other", "1", "d", "broken"),
    ]
    write_corrections(tmp_path / "earlier.csv", earlier)
    page.set_input_files("#file", tmp_path / "earlier.csv")
    wait_for(page, "document.querySelector('#message').textContent.includes('loaded')")
    assert page.text_content("#message").startswith("1 verdict loaded. 1 here are newer")
    merged = read_corrections(saved(page, tmp_path / "merged.csv")).by_example
    assert merged["wikitq", "nu-0"].verdict == "right"
    assert merged["wikitq", "nu-1"] == earlier[1]
    assert merged["other", "1"] == earlier[2]
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    page.set_input_files("#file", tmp_path / "bad.csv")
    wait_for(page, "document.querySelector('#message').textContent.includes('not loaded')")
    assert "lacks the column dataset" in page.text_content("#message")


def test_filters_keys_and_marks(watched: Watched, tmp_path: Path) -> None:
    odd = suspect(
        7,
        dataset="finqa",
        question="What share?",
        evidence=(Evidence("absent", "The gold is not in the table.", None, 1.0),),
        groups=(AnswerGroup("r2c1", 2, ("m",), is_gold=False),),
        tables=(table(300, 4),),
        cells=((0, 250, 2), (0, -1, 0)),
    )
    write_audit_page(tmp_path / "audit.html", [suspect(0), suspect(1), odd])
    page = opened(watched, tmp_path / "audit.html")
    page.keyboard.press("/")
    page.keyboard.type("share")
    wait_for_title(page, "finqa / nu-7")
    assert page.locator(".rv-row").count() == 1
    marked = page.locator("td.is-marked, th.is-marked")
    assert marked.all_text_contents() == ["Year", "r250c2"]
    assert page.locator("td.is-answer").all_text_contents() == ["r2c1"]
    assert page.evaluate(IS_MARK_IN_VIEW)  # scrolled to the mark
    assert page.locator("tbody tr:not(.rv-gap)").count() == 12 + 7
    page.click("text=Show 200 more rows")
    assert page.locator("tbody tr:not(.rv-gap)").count() == 12 + 7 + 200
    page.fill("#query", "")
    page.keyboard.press("Escape")
    page.select_option("#kind", label="program on the table")
    assert page.locator(".rv-row").count() == 2
    page.select_option("#kind", "")
    page.select_option("#dataset", label="finqa")
    assert page.locator(".rv-row").count() == 1
    page.select_option("#dataset", "")
    page.check("#todo")
    page.focus("#item")
    page.keyboard.press("1")
    page.keyboard.press("n")
    page.evaluate("document.querySelector('#todo').dispatchEvent(new Event('input'))")
    assert page.locator(".rv-row").count() == 2


def test_blind_mode_hides_models_and_evidence_until_a_verdict(
    watched: Watched, tmp_path: Path
) -> None:
    write_audit_page(tmp_path / "audit.html", [suspect(0)], blind=True)
    page = opened(watched, tmp_path / "audit.html")
    assert page.locator(".rv-groups, .rv-evidence, .rv-share, .is-marked").count() == 0
    assert "42" not in page.inner_text("#review")
    page.keyboard.press("2")
    page.wait_for_selector(".rv-groups")
    assert page.locator(".is-marked").count() > 0


def test_hostile_texts_neither_run_nor_load_anything(watched: Watched, tmp_path: Path) -> None:
    suspects = []
    for number, text in enumerate([*PAYLOADS, "x" * 100_000, "\u202e" + "w " * 3000]):
        hostile = {"title": text, "header": [text, "b"], "rows": [[text, None], [float("nan"), 1]]}
        suspects.append(
            suspect(
                number,
                dataset=text,
                example_id=f"{number} {text}",
                question=text,
                gold=(text,),
                tables=(hostile,),
                evidence=(Evidence("agreement", text, text, 1.0),),
                groups=(AnswerGroup(text, 1, (text,), is_gold=False),),
                cells=((0, 0, 0), (5, 900, -3)),
            )
        )
    write_audit_page(tmp_path / "audit.html", suspects, title=PAYLOADS[1])
    page = opened(watched, tmp_path / "audit.html")
    seen = set()
    for number in range(len(suspects)):
        wait_for(
            page,
            "n => document.querySelector('#item').textContent.includes(` / ${n} `)",
            arg=str(number),
        )
        assert page.locator(".rv-groups li").count() == 1
        seen.add(page.text_content("#item"))
        page.keyboard.press("2")
        page.keyboard.press("j")
    assert len(seen) == len(suspects)
    strange = "iframe,object,embed,link,base,video,audio,math,marquee,template,form,img,svg"
    assert page.locator(strange).count() == 0
    assert page.locator("script:not([type='text/plain'])").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.unwanted == []
    # The file is readable whatever the names; UTF-8 has no lone surrogates.
    corrections = read_corrections(saved(page, tmp_path / "corrections.csv")).by_example
    encodable = [item for item in suspects if "\ud800" not in item.dataset]
    keys = {(item.dataset.strip(), item.example_id.strip()) for item in encodable}
    assert keys <= set(corrections)
    assert len(corrections) == len(suspects)


def test_two_thousand_suspects_open_within_a_second(watched: Watched, tmp_path: Path) -> None:
    write_audit_page(tmp_path / "audit.html", many(2000))
    page = opened(watched, tmp_path / "audit.html")
    assert float(page.get_attribute("html", "data-ready-ms")) < 3000  # 100 ms on a free machine
    assert page.locator(".rv-row").count() < 60
    page.focus("#list")
    page.keyboard.press("End")
    wait_for_title(page, "finqa / nu-1999")
    assert page.locator("tbody tr").count() == 30


CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (colors) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((v) => v / 255)
    .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const out = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const owner = node.parentElement;
    if (!node.data.trim() || !owner.checkVisibility()) continue;
    if (owner.closest("script, :disabled, .skip")) continue;
    const backs = [];
    for (let at = owner; at; at = at.parentElement) {
      backs.unshift(getComputedStyle(at).backgroundColor);
    }
    const front = [...backs, getComputedStyle(owner).color];
    const [a, b] = [light(over(backs)), light(over(front))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) out.push(`${node.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return out;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(browser: Any, tmp_path: Path, scheme: str) -> None:
    """4.5 to 1, as WCAG 2.2 requires (success criterion 1.4.3)."""
    write_audit_page(tmp_path / "audit.html", [suspect(n, suspicion=n / 5) for n in range(6)])
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = opened(Watched(context.new_page()), tmp_path / "audit.html")
    for key in "12345":
        page.keyboard.press(key)
        assert page.evaluate(CONTRASTS) == []
        page.keyboard.press("j")
        wait_for_title(page, f"wikitq / nu-{key}")
    assert page.evaluate(CONTRASTS) == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_without_scrolling_to_the_side(
    browser: Any, tmp_path: Path, scheme: str
) -> None:
    write_audit_page(tmp_path / "audit.html", [suspect(0), replace(suspect(1), tables=())])
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)
    watched = Watched(context.new_page())
    page = opened(watched, tmp_path / "audit.html")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.is_visible("#list")
    page.click("#toggle")
    page.click(".rv-row >> nth=1")
    wait_for_title(page, "wikitq / nu-1")
    assert not page.is_visible("#list")
    assert page.is_visible("text=Gold right")
    assert page.evaluate(UNNAMED) == 0
    assert watched.unwanted == []
    context.close()
