"""Whole runs by tcot, pot, icot and treethinker: records, transcripts, page, store and plan."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.results.texts import TranscriptText, read_texts
from tests.support.present import present

TREE = "(C0, 1, 1, Name)\n(C0, 2, 2, <img src=x onerror=alert(1)>)"
SCRIPT = [
    {"match": "exactly two keys", "text": '```json\n{"thought": "row 1", "answer": "36"}\n```'},
    {"match": "```CodeExecuteResult\n", "text": "So \\boxed{36}."},
    {"match": "Work on the task step by step", "text": "See.\n```python\ndf.Age.max()\n```\nlost"},
    {"match": "Write a short plan", "text": "```python\nprint(df.Age[0])\n```"},
    {"match": "Now do the following task", "text": "Action: look.\nFinal Answer: 36"},
    {"match": "Describe the headers", "text": TREE},
    {"default": "36"},
]
ALL = "--bench-strategy=direct,tcot,pot,icot,treethinker"


@pytest.fixture
def model(bench):
    return f"--model={bench.script(*SCRIPT)}"


def test_every_strategy_answers_and_its_transcript_is_on_the_page(bench, model):
    result = bench.run(model, ALL, "--bench-limit=1", "--bench-serializer=html,csv", "-k=not page")
    result.assert_outcomes(passed=8)
    records = {record["case_id"]: record for record in bench.records()}
    assert {name: record["raw"].strip() for name, record in records.items()} == {
        **{
            f"toy/ada/{form}/none/{name}": "36"
            for form in ("html", "csv")
            for name in ("direct", "tcot", "treethinker")
        },
        "toy/ada/frame/none/pot": "36",
        "toy/ada/frame/none/icot": "36",
    }
    steps = {name: [step["kind"] for step in record["steps"]] for name, record in records.items()}
    assert steps["toy/ada/frame/none/pot"] == ["ask", "execute"]
    assert steps["toy/ada/frame/none/icot"] == ["ask", "execute", "ask"]
    assert steps["toy/ada/html/none/treethinker"] == ["ask", "ask"]
    texts = read_texts(bench.path / "run" / "texts.jsonl.gz")
    kept = {text.digest: text.turns for text in texts if isinstance(text, TranscriptText)}
    assert records["toy/ada/csv/none/direct"]["transcript"] is None
    turns = {name: kept.get(record["transcript"]) for name, record in records.items()}
    assert turns["toy/ada/html/none/tcot"] == (("reply", SCRIPT[0]["text"]),)
    assert turns["toy/ada/frame/none/icot"] == (
        ("reply", SCRIPT[2]["text"]),
        ("program", "df.Age.max()\n"),
        ("output", "41"),
        ("reply", "So \\boxed{36}."),
    )
    tree = present(turns["toy/ada/html/none/treethinker"])
    assert [speaker for speaker, _ in tree] == ["reply", "drawn", "user", "reply"]
    assert tree[1][1].startswith("ROOT (columns)\n  Name  [C0 1]\n  <img src=x")
    page = (bench.path / "run" / "report.html").read_text("utf-8")
    assert "Step by step" in page
    assert "<img src=x" not in page


def test_a_shared_tree_is_charged_once_even_after_rejudge_and_import(bench):
    ways = "--bench-strategy=direct,treethinker"
    bench.run("--model=echo/any", ways, "--bench-store=answers")
    shown = bench.summary()["benchmarks"]["toys"]["strategies"]
    made = Counter("Now do the following" in text for _, text in bench.calls("ask"))
    # Three direct questions, one tree for the table, three questions with the tree.
    assert (shown["direct"]["calls"], shown["treethinker"]["calls"]) == (3, 4)
    assert sum(made.values()) == 7
    records = [record for record in bench.records() if record["strategy"] == "treethinker"]
    first = {record["steps"][0]["key"]: record["steps"][0]["prompt_tokens"] for record in records}
    second = [record["steps"][1]["prompt_tokens"] for record in records]
    assert len(first) == 1
    assert shown["treethinker"]["prompt_tokens"] == sum([*first.values(), *second])

    picture = b"\x89PNG\r\n\x1a\n"
    name = f"{hashlib.sha256(picture).hexdigest()}.png"
    media = bench.path / "run" / "media"
    media.mkdir(exist_ok=True)
    (media / name).write_bytes(picture)
    run, new, up, back = (str(bench.path / record) for record in ("run", "new", "upload", "back"))
    assert main(["rejudge", run, "--bench-threshold", "toy=0.5", "--out", new]) == 0
    model = ["--model-id", "own/echo"]
    assert main(["export", run, "--to", "every-eval-ever", *model, "--out", up]) == 0
    assert main(["import", up, "--out", back]) == 0
    for folder in ("new", "back"):
        assert bench.summary(folder)["benchmarks"]["toys"]["strategies"] == shown
        assert (bench.path / folder / "media" / name).read_bytes() == picture
