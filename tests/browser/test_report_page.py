"""The page in a real browser: filters, search, keyboard, hostile texts, no network."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import RunFolder, summarize
from pytest_tablebench.results._texts import TEXTS, TextWriter, example_key
from pytest_tablebench.results.compare import compare_runs
from pytest_tablebench.results.gates import judge_gates
from tests.support.page_runs import make_records, record, write_run

pytest.importorskip("playwright.sync_api", reason="drives a browser with Playwright")

SCREENSHOTS = "TABLEBENCH_SCREENSHOTS"
"""Folder that keeps the screenshots; without it they are thrown away."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROW = "#spacer [role=option]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = os.environ.get("TABLEBENCH_CHROMIUM") or shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed (TABLEBENCH_CHROMIUM names another one)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield running
        running.close()


@dataclass
class Watched:
    """A page, and all it did that a page with hostile text must not do."""

    page: Any
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page, note = self.page, self.events.append
        page.on("console", lambda message: note(f"console: {message.text}"))
        page.on("pageerror", lambda error: note(f"error: {error}"))
        page.on("popup", lambda _: note("popup"))
        page.on("download", lambda _: note("download"))
        page.on("request", lambda request: note(f"request: {request.url}"))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.events.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path: Path, fragment: str = "") -> None:
        self.page.goto(path.as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready-ms]")

    @property
    def unwanted(self) -> list[str]:
        """Everything but the page itself being asked for; `hacked` if a payload ran."""
        own = self.page.url.partition("#")[0]
        ran = ["hacked"] if self.page.evaluate("window.hacked === 1") else []
        return ran + [e for e in self.events if e.partition("#")[0] != f"request: {own}"]


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Watched(context.new_page())
    context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 420 cases with gates and a baseline."""
    folder = tmp_path_factory.mktemp("report")
    names = ("finqa", "wikitq")
    new = list(make_records(names, 6))
    old = list(make_records(names, 6, model="openai/other", skill=0.4))
    now, then = write_run(folder / "new", new), write_run(folder / "old", old)
    gates = judge_gates(new, ["torr.performance >= 0.9", "all.no_answer <= 0.2"])
    out = folder / "report.html"
    write_page(now, out, gates=gates, baseline=then, comparison=compare_runs(then, now))
    return out


def until_shown(page: Any, start: str) -> None:
    """Wait for the line over the rows; the page's policy stops expressions given as text."""
    from playwright.sync_api import expect

    expect(page.locator("#shown")).to_have_text(re.compile(f"^{start}"))


def shown(page: Any) -> int:
    return int(page.inner_text("#shown").split()[0].replace(",", ""))


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


def test_filters_count_what_the_records_hold(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    expected = list(make_records(("finqa", "wikitq"), 6))
    page.select_option("#f-d", label="wikitq")
    page.select_option("#f-s", label="html")
    wanted = [r for r in expected if r.dataset == "wikitq" and r.serializer == "html"]
    assert shown(page) == len(wanted) == 30
    page.select_option("#f-o", label="wrong")
    assert shown(page) == sum(r.outcome == "wrong" for r in wanted)
    page.click("#clear")
    assert shown(page) == 420
    page.select_option("#f-p", label="transpose")
    page.select_option("#f-o", label="right")
    wanted = [r for r in expected if r.perturbation == "transpose" and r.outcome == "right"]
    assert shown(page) == len(wanted)


def test_flips_of_the_baseline_can_be_filtered(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    verdicts = [
        {r.case_id: r.outcome for r in make_records(("finqa", "wikitq"), 6, **how)}
        for how in ({}, {"model": "openai/other", "skill": 0.4})
    ]
    new, old = verdicts
    worse = [key for key in new if (old[key], new[key]) == ("right", "wrong")]
    better = [key for key in new if (old[key], new[key]) == ("wrong", "right")]
    page.select_option("#f-f", label="worse than baseline")
    assert shown(page) == len(worse) > 0
    page.select_option("#f-f", label="better than baseline")
    assert shown(page) == len(better) > 0
    page.click(".ids button >> nth=0")
    page.wait_for_selector("dialog[open]")
    assert "In the baseline: right" in page.inner_text("#case-body")


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


def test_a_case_opens_by_keyboard_and_shows_all_of_it(watched: Watched, report: Path) -> None:
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
    assert page.locator("#case-body .shown thead th").all_inner_texts() == [
        "year", "club", "points", "goals",
    ]  # fmt: skip
    page.click("#case-body summary")
    page.wait_for_selector("details .said")
    assert page.inner_text("details .said").startswith("Answer the question.")
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


def test_an_address_leads_to_a_case(watched: Watched, report: Path) -> None:
    watched.open(report, "#case=wikitq%2Fwi-1%2Fhtml%2Fnone")
    watched.page.wait_for_selector("dialog[open]")
    assert watched.page.inner_text("#case-title") == "wikitq/wi-1/html/none"


def test_a_cell_of_a_heat_map_leads_to_its_cases(watched: Watched, report: Path) -> None:
    page = watched.page
    watched.open(report)
    page.click("[data-d='1'][data-s='3']")
    assert page.evaluate("document.querySelector('#f-d').selectedOptions[0].text") == "wikitq"
    assert page.evaluate("document.querySelector('#f-s').selectedOptions[0].text") == "html"
    assert shown(page) == 30


def test_without_texts_the_case_says_so(watched: Watched, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [record(prompt_digest="ab12")], texts=False)
    write_page(folder, tmp_path / "report.html")
    watched.open(tmp_path / "report.html")
    page = watched.page
    page.focus("#list")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.click("#case-body summary")
    page.wait_for_selector("details .empty")
    text = page.inner_text("#case-body")
    assert "kept no texts" in text
    assert "ab12" in text


# Hostile texts

RUN = "window.hacked=1"
PAYLOADS = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"'><img src=x onerror='{RUN}'>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<body onload={RUN}>",
    f'<iframe src="javascript:parent.{RUN}"></iframe>',
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f'<object data="javascript:{RUN}"></object>',
    "<embed src=http://127.0.0.1:9/x>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<img src=http://127.0.0.1:9/x.png>",
    "<script src=http://127.0.0.1:9/x.js></script>",
    "<style>@import 'http://127.0.0.1:9/x.css';</style>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<base href=http://127.0.0.1:9/>",
    f'<a href="javascript:{RUN}" autofocus onfocus={RUN}>x</a>',
    f"<input autofocus onfocus={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<marquee onstart={RUN}>x</marquee>",
    f'<math><mi xlink:href="javascript:{RUN}">x</mi></math>',
    "<form action=http://127.0.0.1:9/><button>x</button></form>",
    f"<template><script>{RUN}</script></template>",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    f"--><script>{RUN}</script><!--",
    f"]]><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</select><img src=x onerror={RUN}>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"${{{RUN}}}",
    f"{{% for x in ().__class__.__base__.__subclasses__() %}}{RUN}{{% endfor %}}",
    f"javascript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"\x1b]8;;javascript:{RUN}\x07click\x1b]8;;\x07\x1b[31mred",
    f"\u202e<script>{RUN}</script>\u202c\u2066\u2069",
    f"\u2028{RUN}//\u2029{RUN}",
    f"\x00<scr\x00ipt>{RUN}</scr\x00ipt>",
    f"\ud800<script>{RUN}</script>\udfff",
    f"＜script＞{RUN}＜/script＞",
    '=HYPERLINK("http://127.0.0.1:9/","x")',
    "@import 'http://127.0.0.1:9/x'; ../../../etc/passwd",
    f'__proto__ constructor "; {RUN}; //',
]


def test_the_watch_notices_what_it_is_there_for(watched: Watched) -> None:
    watched.page.goto("about:blank")
    watched.page.set_content(f"<img src='http://127.0.0.1:9/' onerror='{RUN}; alert(1)'>")
    watched.page.wait_for_function(RUN.replace("=", "==="))
    assert {"hacked", "dialog: 1", "request: http://127.0.0.1:9/"} <= set(watched.unwanted)


def hostile_page(folder: Path) -> Path:
    """A run in which every text is a payload, each in every place."""
    run = RunFolder(folder)
    texts = TextWriter(folder / TEXTS)
    records = []
    for number, payload in enumerate(PAYLOADS):
        found = record(
            model=payload,
            benchmark=payload,
            dataset=payload,
            example_id=f"{number} {payload}",
            serializer=payload,
            perturbation=payload,
            outcome=("right", "wrong", "no_answer")[number % 3],
            raw=payload,
            prediction=payload,
            references=(payload,),
            metric=payload,
            parts={payload: 0.5},
            flags=(payload,),
            reason=payload,
            strategy=payload,
            modality=payload,
            prompt_digest=payload,
        )
        records.append(found)
        run.append(found.to_line())
        table = {"title": payload, "header": [payload, "b"], "rows": [[payload, payload]]}
        key = example_key(found.dataset, found.example_id, found.perturbation)
        texts.example(key, payload, [table])
        texts.prompt(payload, payload)
    texts.close()
    run.write_summary(summarize(records))
    run.write_run({"model": PAYLOADS[1], "params": dict.fromkeys(PAYLOADS, PAYLOADS[0])})
    run.close()
    return folder


@dataclass(frozen=True)
class Judged:
    gate: str
    reason: str
    method: str
    state: str = "fails"
    estimate: float = 0.1
    bound: float = 0.2
    interval: None = None
    n_examples: int = 1
    n_left_out: int = 0


@dataclass(frozen=True)
class Changed:
    case_id: str
    old: str
    new: str
    flipped: bool = True


def test_hostile_texts_run_nothing_and_load_nothing(watched: Watched, tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 50
    folder = hostile_page(tmp_path / "run")
    other = hostile_page(tmp_path / "other")
    write_page(
        folder,
        tmp_path / "report.html",
        gates=[Judged(payload, payload, payload) for payload in PAYLOADS],
        baseline=other,
        comparison=compare_runs(other, folder),
        snapshots=[Changed(payload, payload, f"{payload} x") for payload in PAYLOADS],
    )
    page = watched.page
    watched.open(tmp_path / "report.html")
    page.focus("#list")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    seen = set()
    for _ in PAYLOADS:
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        page.wait_for_selector("details .said, details .empty")
        seen.add(page.inner_text("#case-title"))
        if page.locator("#after:not([disabled])").count():
            title = page.inner_text("#case-title")
            page.click("#after")
            page.wait_for_function(
                "t => document.querySelector('#case-title').innerText !== t", arg=title
            )
    assert len(seen) == len(PAYLOADS)
    strange = "img,iframe,object,embed,link,base,video,audio,math,marquee,template,form[action]"
    assert page.locator(strange).count() == 0
    assert page.locator("script:not([type='text/plain'])").count() == 1
    assert page.locator("style").count() == 1
    assert watched.unwanted == []


@pytest.mark.parametrize("number", range(0, len(PAYLOADS), 7))
def test_a_hostile_reply_is_shown_as_it_is(watched: Watched, tmp_path: Path, number: int) -> None:
    payload = PAYLOADS[number]
    folder = write_run(tmp_path / "run", [record(raw=payload, prediction="x")])
    write_page(folder, tmp_path / "report.html")
    watched.open(tmp_path / "report.html")
    watched.page.focus("#list")
    watched.page.keyboard.press("Enter")
    watched.page.wait_for_selector("dialog[open]")
    assert watched.page.text_content("#case-body .said >> nth=0") == payload
    assert watched.unwanted == []


def test_characters_that_reorder_or_hide_are_named(watched: Watched, tmp_path: Path) -> None:
    raw = "a\u202eb\u200bc\x1bd\ud800e\x00f"
    folder = write_run(tmp_path / "run", [record(raw=raw)])
    write_page(folder, tmp_path / "report.html")
    watched.open(tmp_path / "report.html")
    watched.page.focus("#list")
    watched.page.keyboard.press("Enter")
    watched.page.wait_for_selector("dialog[open]")
    text = watched.page.text_content("#case-body .said >> nth=0")
    assert text == "aU+202EbU+200BcU+001BdU+D800eU+0000f"


# Looks


SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", SIZES)
def test_screenshots(browser: Any, report: Path, tmp_path: Path, scheme: str, device: str) -> None:
    folder = Path(os.environ.get(SCREENSHOTS) or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
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
    page.screenshot(path=folder / f"case-{scheme}-{device}.png")
    page.keyboard.press("Escape")
    page.screenshot(path=folder / f"report-{scheme}-{device}.png", full_page=True)
    assert watched.unwanted == []
    context.close()
