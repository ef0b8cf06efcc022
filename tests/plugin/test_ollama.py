"""Runs and checks against a server that drops the front of long prompts, as Ollama does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.results import read_facts, read_records
from tests.support.ollama_server import OllamaServer
from tests.support.own_folders import OWN_SUITE

ROWS = 3000
"""Rows of the long table, about 30,000 tokens of our tokenizer."""


def project(folder: Path) -> Path:
    """Write a suite, and a folder with one question over a short table and one over a long one."""
    (folder / "test_own.py").write_text(OWN_SUITE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    lines = [f"item {n},{n * 37 % 1000}.50" for n in range(ROWS)]
    data = folder / "data/mine"
    data.mkdir(parents=True)
    (data / "long.csv").write_text("\n".join(["name,price", *lines]), encoding="utf-8")
    (data / "short.csv").write_text("name,price\nitem 1,37.50\n", encoding="utf-8")
    questions = [
        {
            "id": name,
            "table": f"{name}.csv",
            "question": "What does item 1 cost?",
            "answer": "37.50",
        }
        for name in ("long", "short")
    ]
    text = "\n".join(map(json.dumps, questions))
    (data / "questions.jsonl").write_text(text, encoding="utf-8")
    return folder


def reply(prompt: str) -> str:
    """Answer from the first rows, which are the front of a prompt."""
    return "37.50" if "item 1,37.50" in prompt else "12.50"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    project(pytester.path)
    monkeypatch.setenv("COLUMNS", "400")

    def run(server: OllamaServer, *arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess(
            *("-p", "no:cacheprovider", "--model", "ollama/llama3.2", "--bench-data", "data"),
            *("--bench-results", "run", "--bench-store", "answers", "--bench-serializer", "csv"),
            *("--bench-perturbation", "none", "--bench-api-base", server.url, *arguments),
        )

    return run


def test_requests_name_the_context_of_the_model(run, pytester):
    with OllamaServer(reply, limit=131_072) as server:
        done = run(server, "--bench-no-page")
        assert {options["num_ctx"] for options in server.options} == {131_072}
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*ollama/llama3.2: num_ctx=131072 is sent, so that Ollama reads*"])
    assert read_facts(pytester.path / "run").entries["params_sent"]["num_ctx"] == 131_072


def test_an_older_server_gets_a_context_that_is_long_enough(run):
    with OllamaServer(reply) as server:
        run(server, "--bench-no-page").assert_outcomes(passed=2)
        assert max(options["num_ctx"] for options in server.options) >= 30_000
        done = run(server, "--bench-no-page", "--bench-context=8192", "--bench-results=other")
        assert server.options[-1]["num_ctx"] == 8192
    done.assert_outcomes(passed=1, errors=1)


def test_a_prompt_that_the_server_cuts_is_no_answer(run, pytester):
    gate = "--bench-gate=mine.prompt_cut_by_server <= 0.1"
    with OllamaServer(reply, window=4096) as server:
        done = run(server, gate)
    done.assert_outcomes(passed=1, errors=1)
    assert done.ret == 10
    done.stdout.fnmatch_lines(
        [
            "*no answer (prompt_cut_by_server): the server read 2,048 of about * tokens",
            "50.0 % of the prompts were cut by the server: the server read 2,048 of about *",
        ]
    )
    [long, short] = sorted(read_records(pytester.path / "run"), key=lambda r: r.example_id)
    assert (long.outcome, long.reason, long.prompt_tokens) == (
        *("no_answer", "prompt_cut_by_server"),
        2048,
    )
    assert long.prompt_sent is not None
    assert 20_000 < long.prompt_sent < 45_000
    assert (short.outcome, short.prompt_sent) == ("right", None)
    for name in ("report.html", "summary.md"):
        page = (pytester.path / "run" / name).read_text(encoding="utf-8")
        assert "the server read 2,048 of about" in page

    # A replay of the stored replies, without the server, finds the same.
    again = run(server, "--bench-replay", "--bench-results=again", "--bench-no-page")
    again.assert_outcomes(passed=1, errors=1)


def test_doctor_says_from_which_length_on_the_front_is_lost(tmp_path, capsys):
    def words(prompt: str) -> str:
        return " ".join(word for word in ("marigold", "sandstone") if word in prompt)

    options = ["--bench-store", str(tmp_path / "answers"), "--bench-data", str(tmp_path)]
    with OllamaServer(words, limit=131_072) as server:
        assert main(["doctor", "--model=ollama/x", "--bench-api-base", server.url, *options]) == 0
        assert len(server.options) == 1
    assert "the front of a prompt of 31,9" in capsys.readouterr().out
    with OllamaServer(words, window=4096) as server:
        assert main(["doctor", "--model=ollama/x", "--bench-api-base", server.url, *options]) == 1
    assert (
        "the front of a prompt is lost between 7,972 and 15,972 tokens (of 15,972 tokens 2,048 "
        "are read)"
    ) in capsys.readouterr().out
