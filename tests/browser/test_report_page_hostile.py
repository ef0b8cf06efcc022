"""A page of hostile texts in a browser: no script runs and nothing loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import RunFolder
from pytest_tablebench.results.run import load_run
from pytest_tablebench.results.texts import TEXTS, TextWriter, example_key
from tests.support.browser import Watched, wait_for
from tests.support.page_files import changed, gate_result
from tests.support.page_runs import record, write_run

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


def test_the_watch_reports_scripts_dialogs_and_requests(watched: Watched) -> None:
    watched.page.goto("about:blank")
    watched.page.set_content(f"<img src='http://127.0.0.1:9/' onerror='{RUN}; alert(1)'>")
    wait_for(watched.page, RUN.replace("=", "==="))
    assert {"hacked", "dialog: 1", "request: http://127.0.0.1:9/"} <= set(watched.unwanted)


def hostile_page(folder: Path) -> Path:
    """Write a run in which every text is a payload, each in every field."""
    run = RunFolder(folder)
    texts = TextWriter(folder / TEXTS)
    records = []
    for number, payload in enumerate(PAYLOADS):
        hostile = record(
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
            tags={payload: payload, "same": payload},
            preserves_meaning=number % 2 == 0,
        )
        records.append(hostile)
        run.append(hostile.to_line())
        table = {"title": payload, "header": [payload, "b"], "rows": [[payload, payload]]}
        key = example_key(hostile.dataset, hostile.example_id, hostile.perturbation)
        texts.example(key, payload, [table])
        texts.prompt(payload, payload)
    texts.close()
    run.write_summary(summarize(records))
    run.write_run({"model": PAYLOADS[1], "params": dict.fromkeys(PAYLOADS, PAYLOADS[0])})
    run.close()
    return folder


def test_hostile_texts_neither_run_nor_load_anything(watched: Watched, tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 50
    folder = hostile_page(tmp_path / "run")
    other = hostile_page(tmp_path / "other")
    gates: list[Any] = [
        gate_result(payload, reason=payload, method=payload, notes=(payload,))
        for payload in PAYLOADS
    ]
    run = load_run(folder)
    run.changes = {"changes": [changed(text, "flipped", text, f"{text} x") for text in PAYLOADS]}
    write_page(
        run,
        tmp_path / "report.html",
        gates=gates,
        baseline=other,
        comparison=compare_runs(other, folder),
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
            wait_for(page, "t => document.querySelector('#case-title').innerText !== t", arg=title)
    assert len(seen) == len(PAYLOADS)
    strange = "img,iframe,object,embed,link,base,video,audio,math,marquee,template,form[action]"
    assert page.locator(strange).count() == 0
    assert page.locator("script:not([type='text/plain'])").count() == 1
    assert page.locator("style").count() == 1
    assert watched.unwanted == []


NAMED = "a\u202eb\u200bc\x1bd\ud800e\x00f"
"""Characters that reorder or hide text, which the page names."""


def test_a_hostile_reply_is_shown_unchanged(watched: Watched, tmp_path: Path) -> None:
    replies = [NAMED, *PAYLOADS[::7]]
    records = [
        record(raw=reply, prediction="x", example_id=f"e{number}")
        for number, reply in enumerate(replies)
    ]
    write_page(write_run(tmp_path / "run", records), tmp_path / "report.html")
    watched.open(tmp_path / "report.html")
    replies[0] = "aU+202EbU+200BcU+001BdU+D800eU+0000f"
    for row, reply in enumerate(replies):
        watched.page.focus("#list")
        if row:
            watched.page.keyboard.press("ArrowDown")
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_selector("dialog[open]")
        assert watched.page.text_content("#case-body .said >> nth=0") == reply
        watched.page.keyboard.press("Escape")
        watched.page.wait_for_selector("dialog", state="hidden")
    assert watched.unwanted == []
