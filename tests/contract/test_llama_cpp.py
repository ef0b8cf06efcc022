"""Whole runs against llama.cpp's OpenAI server, over a model of random weights that writes letters.

The server works off one call after the other. Each run imports litellm anew, which costs seconds.
"""

from __future__ import annotations

import json
import string
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.servers import ForeignServer, free_port, interpreter
from tests.support.runs import KEY, run_pytest

pytestmark = pytest.mark.slow

TOKENS = 24
SHORT = ("--bench-param", f"max_tokens={TOKENS}")

CONTEXTS = {"tiny": 8192, "small": 256}
"""Name of a model to the tokens it can read; a token is a byte."""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignServer]:
    python = interpreter("TABLEBENCH_LLAMA_PYTHON", ["llama_cpp", "fastapi", "gguf"], "llama")
    folder = tmp_path_factory.mktemp("llama")
    writer = Path(__file__).parent / "tiny_gguf.py"
    subprocess.run([python, str(writer), str(folder / "tiny.gguf")], check=True, timeout=120)
    threads = {"n_threads": 1, "n_threads_batch": 1, "n_gpu_layers": 0, "verbose": False}
    offered = [
        {"model": "tiny.gguf", "model_alias": name, "n_ctx": context, **threads}
        for name, context in CONTEXTS.items()
    ]
    # The server looks for a model's file when it is first asked for.
    offered.append({"model": "gone.gguf", "model_alias": "gone", **threads})
    port = free_port()
    config = {"host": "127.0.0.1", "port": port, "api_key": KEY, "models": offered}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    server = ForeignServer.start(
        python, folder, port, "llama_cpp.server", "--config_file", "config.json"
    )
    try:
        server.wait("/v1/models", {"Authorization": f"Bearer {KEY}"})
        yield server
    finally:
        server.end()


@pytest.mark.parametrize("name", ["openai/tiny", "hosted_vllm/tiny"])
def test_an_answer_cut_off_at_its_limit_is_flagged(
    llama: ForeignServer, tmp_path: Path, name: str
) -> None:
    (tmp_path / "conftest.py").write_text(
        'import os\n\nos.environ["HOSTED_VLLM_API_KEY"] = os.environ["OPENAI_API_KEY"]\n',
        encoding="utf-8",
    )
    run = run_pytest(tmp_path, llama.url, *SHORT, model=name, count=4)
    assert run.exit_code == 1, run.output
    assert len(run.records) == 4
    for record in run.records.values():
        # Four calls at once to a server that takes one: the others wait, none is turned away.
        assert (record.outcome, record.reason) == ("wrong", None)
        assert list(record.flags) == ["truncated"]
        assert record.raw is not None
        assert set(record.raw) <= set(string.ascii_lowercase)
        assert len(record.raw) == record.completion_tokens == TOKENS
        assert record.prompt_tokens is not None
        assert record.prompt_tokens > 256
    assert run.facts["calls_paid"] == 4


def test_an_answer_that_ends_by_itself_is_not(llama: ForeignServer, tmp_path: Path) -> None:
    # Whatever it writes first: of several that it could stop at, it takes the first of the list.
    stop = f"stop={json.dumps(list(string.ascii_lowercase))}"
    run = run_pytest(tmp_path, llama.url, *SHORT, "--bench-param", stop, model="openai/tiny")
    [record] = run.records.values()
    assert (record.outcome, list(record.flags)) == ("wrong", [])
    assert record.raw is not None
    assert len(record.raw) < TOKENS
    assert "a" not in record.raw


def test_a_prompt_longer_than_the_context(llama: ForeignServer, tmp_path: Path) -> None:
    run = run_pytest(tmp_path, llama.url, *SHORT, model="openai/small", count=4)
    assert run.exit_code == 1, run.output
    found = [(record.outcome, record.reason) for record in run.records.values()]
    assert found == [("no_answer", "context_window")] * 4
    # It concerns single cases: the run goes on to its end.
    assert run.facts["status"] == "complete"
    assert "maximum context length is 256 tokens" in run.output


@pytest.mark.parametrize(
    ("model", "key", "reason", "words"),
    [
        ("openai/gone", KEY, "not_found", "unknown model or wrong address"),
        ("openai/tiny", f"{KEY}x", "auth", "the API key is missing, wrong"),
    ],
    ids=["unknown model", "wrong key"],
)
def test_an_unknown_model_or_a_wrong_key_stops_the_run(
    *, llama: ForeignServer, tmp_path: Path, model: str, key: str, reason: str, words: str
) -> None:
    arguments = ("--bench-connections", "1", *SHORT)
    run = run_pytest(tmp_path, llama.url, *arguments, model=model, key=key, count=12)
    assert run.exit_code == 2, run.output
    assert {(r.outcome, r.reason) for r in run.records.values()} == {("no_answer", reason)}
    [line] = [line for line in run.output.splitlines() if "stopped after 3 cases in a row" in line]
    assert words in line


def test_a_model_that_takes_too_long(llama: ForeignServer, tmp_path: Path) -> None:
    # The second case waits behind the first, which the server does not give up.
    arguments = ("--bench-param", "max_tokens=2000", "--bench-timeout", "0.2")
    run = run_pytest(
        tmp_path, llama.url, *arguments, "--bench-retries", "0", model="openai/tiny", count=2
    )
    assert run.exit_code == 1, run.output
    found = [(record.outcome, record.reason) for record in run.records.values()]
    assert found == [("no_answer", "timeout")] * 2
    # It is there again for whoever allows it the time.
    again = run_pytest(tmp_path / "again", llama.url, *SHORT, model="openai/tiny")
    assert [record.outcome for record in again.records.values()] == ["wrong"], again.output
