"""Allure generates a site from our results; a browser shows all of them, and no script runs.

Needs the npm package `allure` 3.x and Chromium; `.ci/browser-tools` installs both.
`TABLEBENCH_ALLURE` names the generator, `TABLEBENCH_CHROMIUM` the browser, where they are
elsewhere; `TABLEBENCH_SCREENSHOTS` a folder for pictures.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.allure import write_allure
from pytest_tablebench.results import Record, read_facts, read_records
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import ExampleText, PromptText
from tests.support.matrix import reduced
from tests.support.runs import SUITE, environment

ROOT = Path(__file__).parents[2]

ANALYTICS = "https://www.googletagmanager.com/"
"""Requests of every page of Allure, which the tests block."""

PAYLOADS = [
    form.format(code=f"window.pwned={number}")
    for number, form in enumerate(
        [
            "<script>{code}</script>",
            "</script><script>{code}</script>",
            "<img src=x onerror={code}>",
            "<svg onload={code}>",
            "<svg><script>{code}</script></svg>",
            "<body onload={code}>",
            "<iframe srcdoc='<script>parent.{code}</script>'>",
            "<iframe src='javascript:parent.{code}'>",
            "<a href='javascript:{code}'>x</a>",
            "[x](javascript:{code})",
            "![x](http://127.0.0.1:9/leak.png)<!-- {code} -->",
            "<img src='http://127.0.0.1:9/leak.png' onload={code}>",
            "<details open ontoggle={code}>",
            "<video><source onerror={code}></video>",
            "<audio src=x onerror={code}>",
            "<input autofocus onfocus={code}>",
            "<select autofocus onfocus={code}>",
            "<marquee onstart={code}>",
            "<math><mtext></mtext><img src=x onerror={code}></math>",
            "<object data='javascript:{code}'></object>",
            "<embed src='javascript:{code}'>",
            "<style>@import 'http://127.0.0.1:9/x.css';</style><!-- {code} -->",
            "<link rel=stylesheet href='http://127.0.0.1:9/x.css'><!-- {code} -->",
            "<base href='http://127.0.0.1:9/'><!-- {code} -->",
            "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><!-- {code} -->",
            "<form action='http://127.0.0.1:9/'><button autofocus>{code}</button></form>",
            "<template><script>{code}</script></template>",
            "<noscript><p title='</noscript><img src=x onerror={code}>'>",
            "<p style='animation:x' onanimationstart={code}>",
            "<textarea></textarea><img src=x onerror={code}>",
            "<title></title><img src=x onerror={code}>",
            "--><img src=x onerror={code}>",
            "]]><img src=x onerror={code}>",
            "'\"><img src=x onerror={code}>",
            '"}}}};{code};//',
            "${{{code}}}",
            "{{{{constructor.constructor('{code}')()}}}}",
            "#{{{code}}}",
            "\x1b]8;;javascript:{code}\x07x\x1b]8;;\x07",
            "\x1b[31m<img src=x onerror={code}>\x1b[0m",
            "\x00<script>{code}</script>",
            "<scr\x00ipt>{code}</script>",
            "\u202e<script>{code}</script>\u2066",
            "&lt;img src=x onerror={code}&gt;",
            "&#60;img src=x onerror={code}&#62;",
            "\\u003cimg src=x onerror={code}\\u003e",
            "%3Cimg src=x onerror={code}%3E",
            "=cmd|' /C {code}'!A0",
            "```\n<img src=x onerror={code}>\n```",
            "<img src=x onerror={code}>" * 2000,
        ]
    )
]


def generator() -> list[str]:
    """The command of Allure 3, or a skip that says how to get it."""
    local = ROOT / ".tools/npm/node_modules/.bin/allure"
    named = os.environ.get("TABLEBENCH_ALLURE") or (
        str(local) if local.exists() else shutil.which("allure")
    )
    if named is None or shutil.which("node") is None:
        pytest.skip("the npm package allure is not there; .ci/browser-tools installs it")
    version = subprocess.run([named, "--version"], capture_output=True, text=True, check=False)
    if not version.stdout.strip().startswith("3."):
        pytest.skip(f"{named} is not version 3 of the npm package allure")
    return [named]


def generate(results: Path, out: Path) -> Path:
    subprocess.run(
        [*generator(), "generate", results, "-c", results / "allurerc.json", "-o", out],
        check=True,
        capture_output=True,
        env={**environment(None), "ALLURE_NO_ANALYTICS": "true"},
        cwd=out.parent,
    )
    return out


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@dataclass
class Page:
    """A page in Chromium, and its unexpected requests and dialogs."""

    page: Any
    address: str
    strange: list[str] = field(default_factory=list)

    def open(self, path: str = "") -> None:
        self.page.goto(f"{self.address}/index.html{path}")

    def numbers(self, *names: str) -> dict[str, int]:
        """Return the counts in the head of the report."""
        counts = {}
        for name in names:
            value = self.page.get_by_test_id(f"metadata-item-{name}").get_by_test_id(
                "metadata-value"
            )
            counts[name] = int(value.inner_text()) if value.count() else 0
        return counts

    def unfold(self, outer: str, inner: str) -> None:
        """Open all elements, unless the page has remembered them as open."""
        self.page.get_by_test_id(outer).first.wait_for()
        if not self.page.get_by_test_id(inner).count():
            for place in self.page.get_by_test_id(outer).all():
                place.click()

    def picture(self, name: str) -> None:
        folder = os.environ.get("TABLEBENCH_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))


def show(browser: Any, site: Path) -> Iterator[Page]:
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        shown = browser.new_page(viewport={"width": 1280, "height": 1000})
        page = Page(shown, f"http://127.0.0.1:{server.server_address[1]}")

        def route(request_route: Any) -> None:
            url = request_route.request.url
            if url.startswith((page.address, "data:", "blob:")):
                request_route.continue_()
                return
            if not url.startswith(ANALYTICS):
                page.strange.append(url)
            request_route.abort()

        def dialog(opened: Any) -> None:
            page.strange.append(f"dialog {opened.message}")
            opened.dismiss()

        shown.route("**/*", route)
        shown.on("dialog", dialog)
        try:
            yield page
        finally:
            shown.close()
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the built-in model over the embedded dataset: real right and wrong answers."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no"]
    command += ["--bench-limit=25", "--bench-shots=0", "--bench-results=run"]
    command += ["--bench-serializer=csv,html", "--bench-perturbation=none,transpose"]
    done = subprocess.run(
        command, cwd=folder, env=environment(None), capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def records(run_folder: Path) -> list[Record]:
    """The records of the run, and one that has no answer."""
    run_records = list(read_records(run_folder))
    assert len(run_records) == 100
    last = run_records[-1]
    run_records[-1] = replace(
        last, outcome="no_answer", score=None, passed=None, raw=None, reason="timeout"
    )
    return run_records


@pytest.mark.parametrize("mode", reduced(["all", "wrong", "summary"], "all"))
def test_allure_counts_every_result(
    browser: Any, records: list[Record], run_folder: Path, tmp_path: Path, mode: Any
) -> None:
    texts = [ExampleText(f"starter/{r.example_id}/{r.perturbation}", "The question?", ({
        "title": "T", "header": ["A"], "rows": [["cell text"]]},)) for r in records]  # fmt: skip
    write_allure(records, tmp_path / "in", run=read_facts(run_folder), mode=mode, texts=texts)
    site = generate(tmp_path / "in", tmp_path / "site")
    outcomes = Counter(record.outcome for record in records)
    right = {(r.serializer, r.perturbation) for r in records if r.outcome == "right"}
    expected = {
        "all": {
            "total": 100,
            "passed": outcomes["right"],
            "failed": outcomes["wrong"],
            "broken": 1,
        },
        "wrong": {
            "total": len(right) + outcomes["wrong"] + 1,
            "passed": len(right),
            "failed": outcomes["wrong"],
            "broken": 1,
        },
    }.get(mode, {"total": 4})
    assert len(list((tmp_path / "in").glob("*-result.json"))) == expected["total"]
    for page in show(browser, site):
        page.open()
        page.page.get_by_test_id("tree-leaf").first.wait_for()
        assert page.numbers(*expected) == expected
        assert page.page.get_by_test_id("tree-leaf").count() == expected["total"]
        page.picture(f"allure-{mode}")
        assert page.strange == []


def test_allure_shows_reply_table_and_category_of_a_wrong_case(
    browser: Any, records: list[Record], run_folder: Path, tmp_path: Path
) -> None:
    wrong = next(record for record in records if record.outcome == "wrong")
    same = [r for r in records if r.outcome == "wrong" and r.example_id == wrong.example_id
            and r.perturbation == wrong.perturbation]  # fmt: skip
    key = f"starter/{wrong.example_id}/{wrong.perturbation}"
    table = {"title": None, "header": ["Name", "Age"], "rows": [["Ada of the attachment", 36]]}
    texts: list[ExampleText | PromptText] = [
        ExampleText(key, "How old is Ada?", (table,)),
        PromptText("none", ""),
    ]
    write_allure(same, tmp_path / "in", run=read_facts(run_folder), mode="all", texts=texts)
    site = generate(tmp_path / "in", tmp_path / "site")
    for page in show(browser, site):
        for number in range(len(same)):
            page.open()
            page.page.get_by_test_id("tree-leaf").nth(number).click()
            error = page.page.get_by_test_id("test-result-error-message")
            error.wait_for()
            assert error.inner_text().startswith("wrong answer")
            assert "Category: Wrong answers" in page.page.inner_text("body")
            # The table is attached to a set-up that its cases share.
            page.unfold("test-result-step-arrow-button", "test-result-attachment-header")
            page.unfold("test-result-attachment-header", "code-attachment-content")
            page.page.get_by_text("Ada of the attachment").wait_for()
        page.picture("allure-case")
        assert page.strange == []


def test_hostile_text_does_not_run_in_allure(
    browser: Any, records: list[Record], run_folder: Path, tmp_path: Path
) -> None:
    assert len(PAYLOADS) == 50
    base = next(record for record in records if record.outcome == "wrong")
    hostile = [
        replace(
            base, case_id=f"starter/h-{n}/csv/none", example_id=text[:300], raw=text,
            references=(text,), model=text[:300], serializer=text[:90], dataset=text[:90],
            benchmark=text[:90], perturbation=text[:90], prompt_digest=f"{n}",
            flags=(text[:50],), metric=text[:90],
        )
        for n, text in enumerate(PAYLOADS)
    ]  # fmt: skip
    unanswered = [
        replace(record, case_id=f"starter/n-{n}/csv/none", outcome="no_answer", raw=None,
                score=None, passed=None, reason=record.raw)
        for n, record in enumerate(hostile)
    ]  # fmt: skip
    texts: list[PromptText | ExampleText] = []
    for n, text in enumerate(PAYLOADS):
        table = {"title": text, "header": [text], "rows": [[text]]}
        texts += [PromptText(f"{n}", text), ExampleText(
            f"{text[:90]}/{text[:300]}/{text[:90]}", text, (table,))]  # fmt: skip
    run = {**read_facts(run_folder).entries, "model": PAYLOADS[0], "params": {"stop": PAYLOADS}}
    write_allure(
        [*hostile, *unanswered],
        tmp_path / "in",
        run=RunFacts.from_json(run),
        mode="all",
        texts=texts,
    )
    site = generate(tmp_path / "in", tmp_path / "site")
    tree = json.loads((site / "widgets" / "default" / "tree.json").read_text("utf-8"))
    leaves_by_id = tree["leavesById"]
    for page in show(browser, site):
        page.open()
        leaves = page.page.get_by_test_id("tree-leaf")
        leaves.first.wait_for()
        opened = 0
        wrong = [leaf for leaf in leaves_by_id.values() if leaf["status"] == "failed"]
        silent = [leaf for leaf in leaves_by_id.values() if leaf["status"] == "broken"]
        assert (len(wrong), len(silent)) == (50, 50)
        for number, leaf in enumerate(reduced([*wrong, *silent[::10]], *wrong[::2], *silent[::10])):
            page.open(f"#{leaf['nodeId']}")
            page.page.get_by_test_id("test-result-error-message").wait_for()
            if number % 10 == 0:
                page.unfold("test-result-step-arrow-button", "test-result-attachment-header")
                for header in page.page.get_by_test_id("test-result-attachment-header").all():
                    header.click()
                opened += page.page.get_by_text("window.pwned").count()
        assert opened > 15  # messages, replies, tables and prompts, all as text
        page.open("#categories")
        page.picture("allure-hostile")
        assert page.page.evaluate("window.pwned") is None
        assert page.strange == []
