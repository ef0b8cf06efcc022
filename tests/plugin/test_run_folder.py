"""The run folder: its files, the same under workers, and never overwritten."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from pytest_tablebench.results.texts import ExampleText, PromptText, read_texts
from tests.support.matrix import FULL

# Files


def test_a_record_has_every_field(bench):
    bench.run("--model=echo/any", "--bench-limit=1")
    record = bench.record()
    digest, latency = record.pop("prompt_digest"), record.pop("latency_s")
    assert re.fullmatch("[0-9a-f]{16}", digest)
    assert 0 <= latency < 60
    assert re.fullmatch("[0-9a-f]{20}", record.pop("cluster"))  # the content of the table
    assert record == {
        "schema": 2,
        "case_id": "toy/ada/html/none",
        "model": "echo/any",
        "benchmark": "toys",
        "dataset": "toy",
        "example_id": "ada",
        "serializer": "html",
        "perturbation": "none",
        "repeat": 1,
        "strategy": "direct",
        "modality": "text",
        "outcome": "right",
        "score": 1.0,
        "threshold": 1.0,
        "passed": True,
        "metric": "exact_match",
        "part": "exact_match",
        "parts": {"exact_match": 1.0, "partial": 1.0},
        "checks": {"test_toy": True},
        "prediction": "36",
        "raw": "36",
        "references": ["36"],
        "reason": None,
        "flags": [],
        "tags": {"asks": "age"},
        "preserves_meaning": True,
        "steps": [],
        "transcript": None,
        "prompt_tokens": 10,
        "completion_tokens": 1,
        "cost_usd": None,
        "from_store": False,
        "reasoning_tokens": None,
        "reply_limit": 512,
    }


def test_run_json_contains_the_settings_and_totals(bench):
    before = datetime.now().astimezone().replace(microsecond=0)
    bench.run(
        "--model=echo/any",
        "--bench-limit=2",
        "--bench-serializer=csv,html",
        "--bench-seed=5",
        "--bench-shots=1",
    )
    facts = bench.facts()
    assert facts["schema"] == 2
    assert facts["model"] == "echo/any"
    assert facts["params"] == {"temperature": 0, "max_tokens": 512}
    assert (facts["seed"], facts["shots"], facts["limit"]) == (5, 1, 2)
    assert facts["compat"] == "fixed"
    assert facts["grid"] == {
        "serializers": ["csv", "html"],
        "perturbations": ["none"],
        "strategies": ["direct"],
        "modalities": ["text"],
    }
    assert facts["datasets"]["toy"]["files"] == {"toy.json": "0" * 64}
    assert (facts["cases_planned"], facts["cases_recorded"]) == (4, 4)
    assert (facts["status"], facts["exit_code"]) == ("complete", 1)
    start, end = (datetime.fromisoformat(facts[name]) for name in ("start", "end"))
    assert before <= start <= end <= datetime.now().astimezone()
    assert (facts["calls_paid"], facts["store_hits"]) == (4, 0)
    assert (facts["prompt_tokens"], facts["completion_tokens"]) == (40, 4)
    assert facts["cost_usd"] is None  # unknown is not 0
    assert {"pytest-tablebench", "pytest", "litellm"} <= set(facts["versions"])
    assert set(facts["host"]) >= {"system", "python"}


# The same run alone and under workers


GRID = (
    "--bench-shots=2",
    "--bench-serializer=html,csv",
    "--bench-perturbation=none,transpose",
    "--bench-repeats=2",
)


def test_workers_give_the_same_files(bench):
    bench.data(toy=[[f"q{n}", f"Question {n}?", [str(n)]] for n in range(6)])
    model = bench.script(
        {"match": "Question: Question 0?", "text": "0"},
        {"case_id": "toy/q1/csv/none", "text": "1"},
        {"match": "Question: Question 2?", "text": "2, 3"},
        {"case_id": "toy/q3/html/transpose", "error": "timeout"},
        {"case_id": "toy/q3/csv/transpose", "text": "3", "finish_reason": "length"},
        {"match": "Question: Question 4?", "error": "content_filter"},
        {"default": "5"},
    )
    for name, workers in (("alone", "0"), ("parallel", "4" if FULL else "2")):
        bench.run(f"-n{workers}", f"--model={model}", *GRID, results=name)
    by_case = []
    for name in ("alone", "parallel"):
        records = {record["case_id"]: record for record in bench.records(name)}
        assert len(records) == len(bench.records(name)) == 6 * 2 * 2 * 2
        by_case.append({case: {**each, "latency_s": None} for case, each in records.items()})
    alone, parallel = by_case
    assert alone == parallel
    counts = [record["outcome"] for record in alone.values()]
    # Asked twice: q0: 8, q5: 8; no answer: q4's 8. A line with a case id is for the first time
    # only: q1: 1, q3 csv/transpose: 1; no answer: one of q3.
    assert (counts.count("right"), counts.count("no_answer")) == (18, 9)
    files = [(bench.path / name / "summary.json").read_bytes() for name in ("alone", "parallel")]
    assert files[0] == files[1]
    times = {"start": None, "end": None}
    assert bench.facts("alone") | times == bench.facts("parallel") | times
    assert bench.facts("alone")["status"] == "complete"


# Refusals


def folder_content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kept", ["run.json", "records.jsonl"])
def test_a_folder_with_a_run_is_refused_and_left_unchanged(bench, kept):
    bench.run("--model=echo/any", "--bench-limit=1")
    for path in (bench.path / "run").iterdir():
        if path.name != kept:
            path.unlink()
    before, calls_before = folder_content(bench.path / "run"), len(bench.calls("ask"))
    result = bench.run("--model=echo/other")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert line.startswith("ERROR: --bench-results: ")
    assert "already contains a run" in line
    assert folder_content(bench.path / "run") == before
    assert len(bench.calls("ask")) == calls_before


@pytest.mark.parametrize("option", ["--bench-limit=1", "--collect-only"])
def test_a_refused_run_does_not_repair_the_texts_of_another(bench, option):
    bench.run("--model=echo/any", "--bench-limit=1")
    texts = bench.path / "run" / "texts.jsonl.gz"
    texts.write_bytes(texts.read_bytes() + b"the beginning of a block")
    before = folder_content(bench.path / "run")
    bench.run("--model=echo/other", option)
    assert folder_content(bench.path / "run") == before


def test_each_model_has_the_texts_of_its_page(bench):
    bench.run("--model=echo/one", "--model=echo/two", "--bench-serializer=html,csv")
    for model in ("echo-one", "echo-two"):
        texts = list(read_texts(bench.path / "run" / model / "texts.jsonl.gz"))
        questions = [text.question for text in texts if isinstance(text, ExampleText)]
        assert questions == [f"How old is {name}?" for name in ("Ada", "Bo", "Cy")], model
        assert sum(isinstance(text, PromptText) for text in texts) == 6


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "workers"])
def test_a_default_folder_that_cannot_be_written_stops_before_the_first_call(bench, workers):
    # Without options only collection shows that the run has cases.
    (bench.path / "tablebench-results").write_text("a file in the way")
    bench.pytester.makeini("[pytest]\n")
    bench.data(toy=[["ada", "How old is Ada?", ["36"]]])
    bench.adapt(('("echo", "other")', '("tablebench/lexical",)'))
    result = bench.pytester.runpytest_inprocess(*workers)
    assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)
    assert "cannot write into" in result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert bench.calls("ask") == []
