"""The run folder: its files, the same under workers, and never overwritten."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import read_facts, read_records
from pytest_tablebench.results.texts import ExampleText, PromptText, read_texts
from tests.support.matrix import FULL
from tests.support.toy_bench import CONFTEST, SUITE, read_lines

RECORD_FIELDS = {
    *("case_id", "model", "benchmark", "dataset", "example_id", "serializer", "perturbation"),
    "repeat",
    *("strategy", "modality", "outcome", "score", "passed", "metric", "parts", "prediction"),
    *("raw", "references", "reason", "flags", "prompt_digest", "latency_s", "prompt_tokens"),
    *("completion_tokens", "reasoning_tokens", "reply_limit", "cost_usd", "from_store", "checks"),
    *("threshold", "part", "tags", "preserves_meaning", "cluster", "steps", "transcript"),
}
TIME_FIELDS = ("latency_s",)
SCOPE_FIELDS = {
    *("performance", "robustness", "pass_rate", "no_answer"),
    *("n_examples", "n_clusters", "n_cases", "ci95"),
}


# Files


def test_a_record_has_every_field(bench):
    bench.run("--model=echo/any", "--bench-limit=1")
    record = bench.record()
    assert set(record) == {"schema", *RECORD_FIELDS}
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


def test_a_record_without_an_answer_has_every_field(bench):
    bench.run("--model=echo/refuses", "--bench-limit=1")
    record = bench.record()
    assert set(record) == {"schema", *RECORD_FIELDS}
    empty = {
        "score",
        "threshold",
        "passed",
        "metric",
        "part",
        "prediction",
        "raw",
        "latency_s",
        "cost_usd",
    }
    assert {name for name in empty if record[name] is not None} == set()
    assert record["references"] == ["36"]


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


def test_a_run_without_any_answer_has_unknown_cost_and_tokens(bench):
    bench.run("--model=echo/refuses")
    facts = bench.facts()
    assert facts["calls_paid"] == 0
    assert [facts[name] for name in ("prompt_tokens", "completion_tokens", "cost_usd")] == [
        None
    ] * 3


def test_token_counts_are_unknown_if_one_call_has_none(bench):
    bench.run(f"--model={bench.script({'default': '36'})}")
    assert bench.facts()["prompt_tokens"] is None
    assert bench.facts()["cost_usd"] is None


def test_the_summary_has_every_scope(bench):
    bench.run(
        "--model=echo/any",
        "--bench-serializer=csv,html",
        "--bench-perturbation=none,transpose",
    )
    summary = bench.summary()
    assert summary["schema"] == 2
    toys = summary["benchmarks"]["toys"]
    toy = toys["datasets"]["toy"]
    assert set(toy["serializers"]) == {"csv", "html"}
    assert set(toy["perturbations"]) == {"none", "transpose"}
    scopes = [toys, toy, *toy["serializers"].values(), *toy["perturbations"].values()]
    for scope in scopes:
        assert set(scope) >= SCOPE_FIELDS
    assert [scope["n_cases"] for scope in scopes] == [12, 12, 6, 6, 6, 6]
    assert {scope["n_examples"] for scope in scopes} == {3}


def test_there_is_a_record_for_every_item(bench):
    result = bench.run("-v", "--model=echo/any", "--bench-serializer=csv,html,df")
    items = [line for line in result.outlines if line.startswith("test_suite.py::")]
    records = bench.records()
    assert len(items) == len(records) == 9
    assert len({record["case_id"] for record in records}) == 9


def test_files_are_ascii_lines_whatever_the_reply(bench):
    reply = "é\u2028\n\x85\ud800\x00"
    bench.run(f"--model={bench.script({'default': reply})}", "--bench-limit=2")
    content = (bench.path / "run" / "records.jsonl").read_bytes()
    assert content.isascii()
    assert content.count(b"\n") == 2
    assert content.endswith(b"}\n")
    assert [record["raw"] for record in bench.records()] == [reply, reply]


def test_no_other_file_is_left_in_the_folder(bench):
    bench.run("--model=echo/any")
    names = {path.name for path in (bench.path / "run").iterdir()}
    assert names == {"run.json", "records.jsonl", "summary.json", "texts.jsonl.gz"}


# The same run alone and under workers


GRID = (
    "--model=tablebench/scripted:script.jsonl",
    "--bench-shots=2",
    "--bench-serializer=html,csv",
    "--bench-perturbation=none,transpose",
    "--bench-repeats=2",
)


@pytest.fixture(scope="module")
def alone_and_parallel(tmp_path_factory):
    """Two run folders: in one process, and in workers."""
    folder = tmp_path_factory.mktemp("parallel")
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    rows = [[f"q{n}", f"Question {n}?", [str(n)]] for n in range(6)]
    (folder / "toy.json").write_text(json.dumps({"toy": rows}), encoding="utf-8")
    script = [
        {"match": "Question: Question 0?", "text": "0"},
        {"case_id": "toy/q1/csv/none", "text": "1"},
        {"match": "Question: Question 2?", "text": "2, 3"},
        {"case_id": "toy/q3/html/transpose", "error": "timeout"},
        {"case_id": "toy/q3/csv/transpose", "text": "3", "finish_reason": "length"},
        {"match": "Question: Question 4?", "error": "content_filter"},
        {"default": "5"},
    ]
    lines = "".join(json.dumps(line) + "\n" for line in script)
    (folder / "script.jsonl").write_text(lines, encoding="utf-8")
    for name, workers in (("alone", "0"), ("parallel", "4" if FULL else "2")):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", f"-n{workers}", f"--bench-results={name}", *GRID],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            timeout=120,
        )
        assert done.returncode == 1, done.stdout + done.stderr
    return folder / "alone", folder / "parallel"


def without_times(folder: Path) -> dict[str, dict[str, object]]:
    records = read_lines(folder / "records.jsonl")
    by_case = {record["case_id"]: record for record in records}
    assert len(by_case) == len(records)
    for record in records:
        for name in TIME_FIELDS:
            del record[name]
    return by_case


def test_workers_give_the_same_records(alone_and_parallel):
    alone, parallel = map(without_times, alone_and_parallel)
    assert len(alone) == 6 * 2 * 2 * 2
    assert alone == parallel
    counts = [record["outcome"] for record in alone.values()]
    # Asked twice: q0: 8, q5: 8; no answer: q4's 8. A line with a case id is for the first time
    # only: q1: 1, q3 csv/transpose: 1; no answer: one of q3.
    assert (counts.count("right"), counts.count("no_answer")) == (18, 9)


def test_workers_give_the_same_summary_to_the_byte(alone_and_parallel):
    alone, parallel = ((path / "summary.json").read_bytes() for path in alone_and_parallel)
    assert alone == parallel


def test_workers_give_the_same_run_file_except_for_times(alone_and_parallel):
    alone, parallel = (dict(read_facts(path).entries) for path in alone_and_parallel)
    for facts in (alone, parallel):
        del facts["start"], facts["end"]
    assert alone == parallel
    assert alone["status"] == "complete"


# Refusals


def folder_content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kept", ["run.json", "records.jsonl", None])
def test_a_folder_with_a_run_is_refused_and_left_unchanged(bench, kept):
    bench.run("--model=echo/any", "--bench-limit=1")
    if kept:
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


def test_an_empty_folder_is_used(bench):
    (bench.path / "run").mkdir()
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(passed=1)
    assert len(bench.records()) == 1


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "workers"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_first_call(bench, workers):
    (bench.path / "file").write_text("here")
    result = bench.run("--model=echo/any", *workers, results="file/run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert line.startswith("ERROR: --bench-results: cannot write into ")
    assert "choose another folder" in line
    assert bench.calls("ask") == []


def test_a_run_that_is_refused_leaves_no_folder(bench):
    # No call is made: the price of this model is unknown.
    model = ("--model=openai/no-such-model", "--bench-api-base=http://127.0.0.1:9/v1")
    result = bench.run_apart(*model, "--bench-max-cost=1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "is unknown, so a budget cannot be kept" in result.stdout.str() + result.stderr.str()
    assert not (bench.path / "run").exists()


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "workers"])
def test_a_default_folder_that_cannot_be_written_stops_before_the_first_call(bench, workers):
    # Without options only collection shows that the run has cases.
    (bench.path / "tablebench-results").write_text("a file in the way")
    run = bench.pytester.runpytest_subprocess if workers else bench.pytester.runpytest_inprocess
    bench.pytester.makeini("[pytest]\n")
    bench.data(toy=[["ada", "How old is Ada?", ["36"]]])
    conftest = bench.path / "conftest.py"
    text = conftest.read_text("utf-8").replace('("echo", "other")', '("tablebench/lexical",)')
    conftest.write_text(text, encoding="utf-8")
    result = run(*workers)
    assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)
    assert "cannot write into" in result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert bench.calls("ask") == []


# A run without records


# Secrets


def test_passwords_and_keys_are_not_written_or_shown(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    result = bench.run(
        "--model=echo/any", "--bench-api-base=https://user:hunter2@host:8000/v1?key=sk-very-secret"
    )
    assert bench.facts()["api_base"] == "https://host:8000/v1?sha256:e0ed3cbf9e4d"
    written = "".join(
        (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode()
        for content in folder_content(bench.path / "run").values()
    )
    for text in (written, result.stdout.str(), result.stderr.str()):
        assert "hunter2" not in text
        assert "sk-very-secret" not in text


# Reading


def test_an_incomplete_last_line_is_left_out(bench):
    bench.run("--model=echo/any")
    path = bench.path / "run" / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert [record.example_id for record in read_records(bench.path / "run")] == ["ada", "bo"]


def test_a_newer_schema_is_refused(bench):
    bench.run("--model=echo/any")
    for name in ("records.jsonl", "run.json"):
        path = bench.path / "run" / name
        path.write_text(path.read_text().replace('"schema": 2', '"schema": 99'))
    with pytest.raises(SettingsError, match=r"schema 99.*up to 2.*upgrade"):
        list(read_records(bench.path / "run"))
    with pytest.raises(SettingsError, match=r"run\.json has schema 99"):
        read_facts(bench.path / "run")


def test_what_is_no_run_folder_is_said(tmp_path):
    with pytest.raises(SettingsError, match=r"is not a run folder: it has no run\.json"):
        read_facts(tmp_path)
    assert list(read_records(tmp_path)) == []


def test_records_are_read_back_as_written(bench):
    bench.run("--model=echo/any")
    read = [json.loads(record.to_line()) for record in read_records(bench.path / "run")]
    assert read == bench.records()


def test_a_case_of_two_tests_has_one_record(bench):
    bench.suite(name="test_again.py")
    bench.run("--model=echo/any", "--bench-limit=1")
    assert len(bench.records()) == 1
    run = bench.facts()
    assert (run["cases_planned"], run["cases_recorded"], run["calls_paid"]) == (1, 1, 2)
    assert run["status"] == "complete"
    assert bench.summary()["benchmarks"]["toys"]["n_cases"] == 1
