"""The page with very long words on a phone: everything stays inside its card."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results.texts import TEXTS, TextWriter, example_key
from tests.support.browser import Watched, wait_for
from tests.support.page_runs import record, write_run

PHONE = {"width": 390, "height": 844}
LONG = "Donaudampfschifffahrtsgesellschaft" * 8
"""As wide as four phones."""

OUTSIDE = """() => {
  const out = [];
  const check = (box, frame, what) => {
    const of = frame.getBoundingClientRect();
    if (box.width && (box.right > of.right + 1 || box.left < of.left - 1)) out.push(what);
  };
  const root = document.querySelector(ROOT);
  if (root.scrollWidth > root.clientWidth) out.push(`${ROOT} scrolls to the side`);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const owner = node.parentElement;
    if (!node.data.trim()) continue;
    // Tables and figures scroll inside frames of their own, rows of the list are cut.
    if (owner.closest("script, style, select, .skip, .scroll, .shown, .plot, .row")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const frame = owner.closest(".card, .bar, .tiles li, .verdict, dialog, main, header");
    const what = `${owner.tagName}.${owner.className} in ${frame.tagName}.${frame.className}`;
    for (const box of range.getClientRects()) check(box, frame, `text of ${what}`);
    check(owner.getBoundingClientRect(), frame, what);
  }
  return [...new Set(out)];
}"""


def outside(page: Any, root: str) -> list[str]:
    """Return the texts that are wholly or partly outside their card."""
    texts: list[str] = page.evaluate(OUTSIDE.replace("ROOT", repr(root)))
    return texts


@pytest.fixture
def phone(browser: Any) -> Iterator[Watched]:
    context = browser.new_context(viewport=PHONE)
    yield Watched(context.new_page())
    context.close()


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Three cases, one of each outcome, with a long word in every text."""
    folders = {}
    for name, turned in (("old", ("wrong", "right", "no_answer")), ("new", None)):
        records = [
            record(
                model=LONG,
                benchmark=LONG,
                dataset=LONG,
                example_id=f"{number}{LONG}",
                serializer=LONG,
                perturbation=LONG,
                strategy=LONG,
                modality=LONG,
                outcome=(turned or ("right", "wrong", "no_answer"))[number],
                metric=LONG,
                parts={LONG: 0.5, "partial": None},
                flags=(LONG,),
                raw=f"{name}{LONG}",
                prediction=f"{name}{LONG}",
                references=(LONG, LONG),
                reason=LONG,
                prompt_digest=f"{number}",
            )
            for number in range(3)
        ]
        folder = write_run(tmp_path / name, records, texts=False, run={"params": {LONG: LONG}})
        folders[name] = folder
        texts = TextWriter(folder / TEXTS)
        for drawn in records:
            key = example_key(drawn.dataset, drawn.example_id, drawn.perturbation)
            texts.example(key, LONG, [{"title": LONG, "header": [LONG, "b"], "rows": [[LONG, 1]]}])
            texts.prompt(str(drawn.prompt_digest), LONG)
        texts.close()
    out = tmp_path / "report.html"
    write_page(
        folders["new"],
        out,
        gates=judge_gates(records, [f"{LONG}.performance >= 0.9"]),
        baseline=folders["old"],
        comparison=compare_runs(folders["old"], folders["new"]),
    )
    return out


def test_a_case_stays_inside_its_card(phone: Watched, report: Path) -> None:
    page = phone.page
    phone.open(report)
    page.focus("#list")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    for left in (2, 1, 0):
        page.click("#case-body details.card > summary")
        page.wait_for_selector("details.card .said")
        assert page.inner_text("#case-body .big").startswith("Donau")
        facts = page.inner_text("#case-body .card >> nth=0")
        assert "partial –" in facts
        assert "partial: for a list, how much of it is right: F1 over the items." in facts
        assert outside(page, "dialog") == []
        if left:
            title = page.inner_text("#case-title")
            page.click("#after")
            wait_for(page, "t => document.querySelector('#case-title').innerText !== t", arg=title)


def test_the_page_stays_inside_its_cards(phone: Watched, report: Path) -> None:
    phone.open(report)
    for details in phone.page.locator("main details").all():
        details.evaluate("node => node.open = true")
    assert outside(phone.page, "body") == []
    assert phone.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_no_two_rows_look_alike(browser: Any, tmp_path: Path) -> None:
    """Long ids that differ in any place, and every axis of a run, at 360 pixels."""
    ids = (f"{LONG}-1", f"{LONG}-2", f"1-{LONG}", f"{LONG[:40]}1{LONG}", f"{LONG[:40]}2{LONG}", "e")
    records = [
        record(
            case_id=f"d/{number}/{strategy}/{modality}/{repeat}",
            example_id=example,
            serializer="indexed_row_major",
            perturbation=f"{LONG}{number % 2}",
            strategy=strategy,
            modality=modality,
            repeat=repeat,
        )
        for number, example in enumerate(ids)
        for strategy in ("direct", "treethinker")
        for modality in ("text", "image_text")
        for repeat in (1, 2)
    ]
    write_page(write_run(tmp_path / "run", records, texts=False), tmp_path / "report.html")
    context = browser.new_context(viewport={"width": 360, "height": 780})
    page = Watched(context.new_page())
    page.open(tmp_path / "report.html", "#group=none")
    seen: dict[str, str] = {}
    page.page.focus("#list")
    for _ in records:
        rows = page.page.locator("#spacer .row").evaluate_all(
            """rows => rows.map((row) => {
              const id = row.querySelector(".id"), box = row.getBoundingClientRect();
              const how = id.querySelector(".how").getBoundingClientRect();
              const cut = id.scrollWidth > id.clientWidth || how.bottom > box.bottom - 18;
              return [row.ariaPosInSet, id.innerText, cut];
            })"""
        )
        for place, text, cut in rows:
            assert not cut, text
            seen[place] = text
        page.page.keyboard.press("PageDown")
    assert len(seen) == len(set(seen.values())) == len(records)
    context.close()


def test_the_filters_are_folded_and_show_how_many_are_set(phone: Watched, report: Path) -> None:
    page = phone.page
    phone.open(report, "#o=wrong")
    assert page.inner_text("#fold summary") == "Filters 1"
    assert not page.is_visible("#f-o")
    above = (
        "document.querySelector('#listed').offsetTop - document.querySelector('#cases').offsetTop"
    )
    assert page.evaluate(above) < PHONE["height"] / 2
    page.click("#fold summary")
    page.select_option("#f-o", "")
    wait_for(page, "document.querySelector('#fold summary').innerText.trim() === 'Filters'")
    page.click("#fold summary")
    page.set_viewport_size({"width": 1280, "height": 800})
    wait_for(page, "document.querySelector('#fold').open")
    assert page.is_visible("#f-o")
    assert not page.is_visible("#fold summary")
    page.emulate_media(media="print")
    shown = [page.is_visible(selector) for selector in (".verdict", "main table", "#cases", "nav")]
    assert shown == [True, True, False, False]
