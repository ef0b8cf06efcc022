"""Runs against a model server: answers, replies of any shape, and every fault."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pytest_tablebench.errors import PAID_WITHOUT_ANSWER
from pytest_tablebench.models.model_table import litellm_folder
from tests.support.matrix import reduced
from tests.support.openai_server import (
    OpenAIServer,
    error,
    no_choices,
    nonsense,
    null_content,
    packed,
    text,
)
from tests.support.runs import KEY, LITELLM, Run, Script, examples, right, run_inside, run_pytest
from tests.support.toy_bench import CONFTEST, Bench

AT_ONCE = {"Retry-After": "0"}


def closed_port() -> str:
    """Return an address without a server."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/v1"


def one_line(output: str, *words: str) -> str:
    """Return the only line that contains all words."""
    lines = [line for line in output.splitlines() if all(word in line for word in words)]
    assert len(lines) == 1, (words, lines, output)
    return lines[0]


# Answers


def test_a_run_with_direct_calls_imports_litellm_in_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package of the same name fails on import; its table of models is litellm's."""
    fake, folder = tmp_path / "fake" / "litellm", litellm_folder()
    assert folder is not None
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise ImportError('litellm is imported')")
    for table in folder.glob("model_prices*.json"):
        (fake / table.name).symlink_to(table)
    with OpenAIServer(Script(2)) as server:
        monkeypatch.setenv("PYTHONPATH", str(fake.parent))
        run = run_pytest(tmp_path / "run", server, count=2, model=LITELLM)
    assert run.exit_code == 0, run.output
    assert {record.outcome for record in run.records.values()} == {"right"}


def test_a_run_against_a_server_records_right_answers(tmp_path: Path) -> None:
    script = Script(2)
    with OpenAIServer(script) as server:
        run = run_inside(tmp_path, server, "--bench-serializer", "json", count=2, model=LITELLM)
        headers = [
            {name.lower(): value for name, value in request.headers.items()}
            for request in server.requests
        ]
        assert [header["authorization"] for header in headers] == [f"Bearer {KEY}"] * 4
        sent = [request.body for request in server.requests]
    assert run.exit_code == 0, run.output
    assert len(run.records) == 4
    for record in run.records.values():
        assert (record.outcome, record.score, record.passed) == ("right", 1.0, True)
        assert (record.prompt_tokens, record.completion_tokens) == (7, 3)
        # The price at another server is unknown, and unknown is not 0.
        assert record.cost_usd is None
        assert record.latency_s is not None
        assert record.latency_s > 0
        assert record.model == "openai/test-model"
    for body in sent:
        assert body.keys() == {"model", "messages", "temperature", "max_tokens"}
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("test-model", 0, 512)
        assert [message["role"] for message in body["messages"]] == ["user"]
    facts = run.facts
    assert (facts["status"], facts["exit_code"]) == ("complete", 0)
    assert (facts["calls_paid"], facts["prompt_tokens"], facts["completion_tokens"]) == (4, 28, 12)
    assert facts["cost_usd"] is None
    assert facts["api_base"] == server.url
    line = one_line(run.output, "starter", "100.0 %")
    assert "1.000" in line


def test_a_run_survives_replies_of_any_shape(tmp_path: Path) -> None:
    script = Script(6)
    answers = [right(example) for example in script.examples]
    script._plan = {
        0: [text("漢" * 1_000_000)],
        1: [text(answers[1] + " " * 5_000_000)],
        2: [nonsense(b"[" * 100_000), text(answers[2])],
        3: [packed(b"no gzip"), text(answers[3])],
        4: [text(answers[4], usage=(-100_000, -1_000))],
    }
    with OpenAIServer(script) as server:
        run = run_inside(tmp_path, server, "--bench-max-reply=5000", count=6, model=LITELLM)
        assert server.calls == 8
    records = [run.by_number[example.id] for example in script.examples]
    assert [record.outcome for record in records] == ["wrong", *["right"] * 5], run.output
    assert [list(record.flags) for record in records] == [["cut"], ["cut"], [], [], [], []]
    assert [len((record.raw or "").encode()) for record in records[:2]] == [4998, 5000]
    assert [record.prompt_tokens for record in records] == [7, 7, 7, 7, None, 7]
    assert run.facts["max_reply"] == 5000
    assert run.facts["calls_repeated"] == 2


FAULTS = 18
PASSING = [0, 2, 4, 10, 14]
CUT_OFF = 11
PAID = {7, 8, 9, CUT_OFF}
WITHOUT = {
    3: ("rate_limit", "too many requests", "(after 2 attempts)"),
    5: ("server_error", "status 503", "(after 2 attempts)"),
    6: ("bad_reply", "no chat completion", "(after 2 attempts)"),
    7: ("empty", "the reply is complete and contains no text"),
    8: ("empty", "the reply is complete and contains no text"),
    9: ("content_filter", "content filter"),
    11: ("cut_off", "ended the reply after 3 tokens, which contains no text"),
    12: ("auth", "API key"),
    13: ("not_found", "unknown model or wrong address"),
    15: ("context_window", "longer than the model can read"),
    16: ("bad_request", "status 400"),
}
"""Case to reason, and words of its line."""


def faulty_script() -> Script:
    answers = [right(example) for example in examples(FAULTS)]
    return Script(
        FAULTS,
        {
            1: [text("certainly not")],
            2: [error(429, headers=AT_ONCE), text(answers[2])],
            3: [error(429, headers=AT_ONCE)],
            4: [error(500, headers=AT_ONCE), text(answers[4])],
            5: [error(503, headers=AT_ONCE)],
            6: [nonsense()],
            7: [no_choices()],
            8: [null_content()],
            9: [text("", finish_reason="content_filter")],
            10: [text(answers[10], finish_reason="length")],
            11: [text(None, finish_reason="length")],
            12: [error(401, f"Incorrect API key provided: {KEY}")],
            13: [error(404, "no such model")],
            15: [error(400, "too long", code="context_length_exceeded")],
            16: [error(400, f"cannot read Authorization: Bearer {KEY}")],
            17: [text("neither \x1b[31mthis\u202e\nnor that", usage=None)],
        },
    )


Faulty = tuple[Run, Script]


@pytest.fixture(scope="module")
def faulty_run(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    """A run with every fault of a case."""
    script = faulty_script()
    with OpenAIServer(script) as server:
        options = ["--bench-retries", "1", "--bench-show", "20", "--bench-reasoning-tokens", "0"]
        folder = tmp_path_factory.mktemp("faults")
        return run_inside(folder, server, *options, count=FAULTS, model=LITELLM), script


def test_each_fault_of_a_case_has_its_outcome_and_reason(faulty_run: Faulty) -> None:
    run, script = faulty_run
    assert run.exit_code == 1, run.output
    assert len(run.records) == FAULTS
    for number, example in enumerate(script.examples):
        record = run.by_number[example.id]
        if number in WITHOUT:
            assert (record.outcome, record.reason) == ("no_answer", WITHOUT[number][0]), number
            raw = "" if number in PAID else None
            assert (record.score, record.passed, record.raw) == (None, None, raw)
        else:
            expected = "right" if number in PASSING else "wrong"
            assert (record.outcome, record.reason) == (expected, None), number
            assert record.score == (1.0 if number in PASSING else 0.0)
    truncated = [n for n, e in enumerate(script.examples) if run.by_number[e.id].flags]
    assert truncated == [10]
    assert list(run.by_number[script.examples[10].id].flags) == ["truncated"]
    assert run.by_number[script.examples[CUT_OFF].id].completion_tokens == 3
    # Passing faults are retried once, permanent ones are not.
    assert {n for n, count in script.asked.items() if count == 2} == {2, 3, 4, 5, 6}
    assert set(script.asked.values()) == {1, 2}


def test_the_terminal_shows_each_reason_on_one_line(faulty_run: Faulty) -> None:
    run, _ = faulty_run
    lines = [line for line in run.output.splitlines() if line.startswith("no answer (")]
    assert len(lines) == len(WITHOUT)
    for line, words in zip(lines, WITHOUT.values(), strict=True):
        assert line.startswith(f"no answer ({words[0]}): ")
        assert words[0] in PAID_WITHOUT_ANSWER or " openai/test-model" in line
        for word in words[1:]:
            assert word in line
    assert "Traceback" not in run.output
    assert "\x1b" not in run.output
    assert "\u202e" not in run.output
    reasons = one_line(run.output, "no answer by reason")
    assert "empty 2" in reasons
    assert (
        "11.1 % of the replies were cut off at 512 tokens: --bench-extend-cut 4096 asks only "
        "these again (5.6 % contain no answer)" in run.output
    )
    assert run.facts["status"] == "complete"
    # Replies without an answer are paid for as well.
    assert run.facts["calls_paid"] == FAULTS - len(WITHOUT) + len(PAID)
    assert run.facts["cases_recorded"] == run.facts["cases_planned"] == FAULTS
    # One answer came without token counts: the sum is unknown.
    assert run.facts["prompt_tokens"] is None


# Faults of the whole run


AUTH = ("auth", "the API key is missing, wrong or not allowed")
WHOLE_RUN = {
    "down": [("unreachable", "no connection")],
    "refused": [AUTH, AUTH, ("not_found", "unknown model or wrong address; check both")],
}
"""Fault to reason and words, one for each of the first cases or one for all."""


@pytest.mark.parametrize(
    ("fault", "workers"),
    reduced([("down", "0"), ("refused", "0"), ("refused", "2")], ("down", "0"), ("refused", "2")),
)
def test_a_fault_of_the_whole_run_stops_it(tmp_path: Path, fault: str, workers: str) -> None:
    count = 12
    # Without workers the three statuses follow each other, and each counts.
    statuses = iter([401, 403, 404] if workers == "0" else [401] * count)
    with OpenAIServer(lambda _: error(next(statuses), f"refused {KEY}")) as server:
        address: str | None = closed_port() if fault == "down" else server.url
        run = run_inside(
            tmp_path,
            address,
            "-n",
            workers,
            "--bench-retries",
            "0",
            "--bench-connections",
            "1",
            count=count,
        )
        # Without a connection no request is sent.
        assert server.calls == (3 if fault == "refused" else 0)
    assert run.exit_code == 2, run.output
    expected = WHOLE_RUN[fault] * (3 // len(WHOLE_RUN[fault]))
    if workers == "0":
        # The case of the third fault may receive the stop before its own fault.
        reasons = [record.reason for record in run.records.values()]
        assert reasons in [[reason for reason, _ in expected[:n]] for n in (2, 3)]
    else:
        # Three calls for both workers together.
        assert 1 <= len(run.records) <= 3
        expected = WHOLE_RUN[fault][:1] * 3
        assert {record.reason for record in run.records.values()} == {expected[0][0]}
    assert {record.outcome for record in run.records.values()} == {"no_answer"}
    message = one_line(run.output, "stopped after 3 cases in a row without an answer: ")
    assert expected[-1][1] in message
    lines = [line for line in run.output.splitlines() if line.startswith("no answer (")]
    assert len(lines) == len(run.records)
    for line, (reason, words) in zip(lines, expected, strict=False):
        assert line.startswith(f"no answer ({reason}): ")
        assert words in line
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    facts = run.facts
    assert (facts["status"], facts["exit_code"]) == ("incomplete", 2)
    assert (facts["cases_planned"], facts["cases_recorded"]) == (count, len(run.records))


WAITING = """
import os, time

def pytest_collection_finish():
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        deadline = time.monotonic() + 60
        while not any('"ask"' in line for line in (HERE / "calls.log").open()):
            assert time.monotonic() < deadline, "no request before this worker has collected"
            time.sleep(0.02)
"""


def test_the_first_calls_do_not_wait_for_the_last_worker(bench: Bench) -> None:
    bench.pytester.makeconftest(CONFTEST + WAITING)
    bench.run("--model=echo/any", "-n2").assert_outcomes(passed=1, failed=2)
    assert len(bench.calls("ask")) == 3
