"""Whole runs against litellm's own proxy, which many teams have between them and their models.

The proxy is a process of its own with mock models and one scripted provider behind it. Each run
imports litellm anew, which costs seconds: one run meets many faults, one per case or model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.results import read_records
from tests.contract.conftest import UPSTREAM_KEY, Gateways
from tests.contract.servers import ForeignServer
from tests.support.openai_server import error, text
from tests.support.runs import KEY, Run, Script, right, run_pytest

pytestmark = pytest.mark.slow

AT_ONCE = {"Retry-After": "0"}


def relayed(folder: Path, server: ForeignServer, *arguments: str, **options: Any) -> Run:
    """A run that asks the provider through a gateway."""
    return run_pytest(folder, server.url, *arguments, model="openai/relay", **options)


def turned_away(server: ForeignServer) -> int:
    """How many requests the gateway has refused with 429 so far, by its own log."""
    return server.output.count('/chat/completions HTTP/1.1" 429')


def check_all_right(run: Run, count: int) -> None:
    assert run.exit_code == 0, run.output
    assert [record.outcome for record in run.records.values()] == ["right"] * count
    assert (run.facts["status"], run.facts["calls_paid"]) == ("complete", count)


# What the provider behind a gateway says reaches the run.

COUNT = 11
WITHOUT = {
    4: "context_window",
    5: "content_filter",
    8: "auth",
    9: "not_found",
    10: "bad_request",
}
ASKED_TWICE = {1, 2, 3}


def plan(script: Script) -> dict[int, list[Any]]:
    answers = [text(right(example)) for example in script.examples]
    return {
        1: [error(429, headers=AT_ONCE), answers[1]],
        2: [error(500), answers[2]],
        3: [error(503, headers={"Retry-After": "1"}), answers[3]],
        4: [error(400, "This model's maximum context length is 4096 tokens. However, ...")],
        5: [text("", finish_reason="content_filter")],
        6: [text(right(script.examples[6]), finish_reason="length")],
        7: [text("certainly not")],
        8: [error(401, "the gateway's own key is wrong")],
        9: [error(404, "the gateway's model has gone")],
        10: [error(400, "temperature is too high")],
    }


def test_answers_and_faults_of_the_provider_come_through(
    gateways: Gateways, tmp_path: Path
) -> None:
    script = Script(COUNT)
    script = Script(COUNT, plan(script))
    gateways.provider.decide = script
    run = relayed(tmp_path, gateways.plain, "--bench-retries", "1", count=COUNT)
    assert run.exit_code == 1, run.output
    assert len(run.records) == COUNT
    for number, example in enumerate(script.examples):
        record = run.by_number[example.id]
        outcome = "no_answer" if number in WITHOUT else "wrong" if number == 7 else "right"
        assert (record.outcome, record.reason) == (outcome, WITHOUT.get(number)), (number, record)
        assert list(record.flags) == (["truncated"] if number == 6 else []), number
        if outcome != "no_answer":
            assert (record.prompt_tokens, record.completion_tokens) == (7, 3)
    assert {number for number, asked in script.asked.items() if asked == 2} == ASKED_TWICE
    assert set(script.asked.values()) == {1, 2}
    # The gateway's key opens the gateway; the provider knows another.
    keys = {request.headers["authorization"] for request in gateways.provider.requests}
    assert keys == {f"Bearer {UPSTREAM_KEY}"}


# What a gateway says for itself.

SAID = {
    "mock": ("right", None),
    "window": ("no_answer", "context_window"),
    "small": ("no_answer", "context_window"),
    "filter": ("no_answer", "content_filter"),
    "length": ("right", None),
    "crash": ("no_answer", "server_error"),
    "busy": ("no_answer", "rate_limit"),
    "late": ("no_answer", "timeout"),
}

KEYS = """
import os

os.environ["HOSTED_VLLM_API_KEY"] = os.environ["OPENAI_API_KEY"]
os.environ["LITELLM_PROXY_API_KEY"] = os.environ["OPENAI_API_KEY"]
"""


def test_mock_models_have_their_outcome_by_every_way(gateways: Gateways, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(KEYS, encoding="utf-8")
    names = [f"{way}/{m}" for way in ("openai", "hosted_vllm", "litellm_proxy") for m in SAID]
    arguments = [word for name in names[1:] for word in ("--model", name)]
    run = run_pytest(
        tmp_path, gateways.plain.url, *arguments, "--bench-retries", "0", model=names[0]
    )
    assert run.exit_code == 1, run.output
    folders = [path.parent for path in tmp_path.glob("run/*/records.jsonl")]
    records = [record for folder in folders for record in read_records(folder)]
    found = {record.model: (record.outcome, record.reason) for record in records}
    assert found == {name: SAID[name.rpartition("/")[2]] for name in names}
    flagged = {record.model for record in records if record.flags}
    assert flagged == {name for name in names if name.endswith("/length")}


# Faults of the whole run.


@pytest.mark.parametrize(
    ("gateway", "model", "key", "reason", "words"),
    [
        ("plain", "openai/nosuch", KEY, "not_found", "unknown model or wrong address"),
        ("plain", "openai/mock", f"{KEY}x", "auth", "the API key is missing, wrong"),
        ("limited", "openai/mock", f"{KEY}x", "auth", "the API key is missing, wrong"),
    ],
    ids=["unknown model", "wrong key without a database", "wrong key"],
)
def test_an_unknown_model_or_a_wrong_key_stops_the_run(
    *,
    gateways: Gateways,
    tmp_path: Path,
    gateway: str,
    model: str,
    key: str,
    reason: str,
    words: str,
) -> None:
    server: ForeignServer = getattr(gateways, gateway)
    refused = server.output.count("/chat/completions HTTP/1.1")
    run = run_pytest(
        tmp_path, server.url, "--bench-connections", "1", model=model, key=key, count=12
    )
    assert run.exit_code == 2, run.output
    assert {(r.outcome, r.reason) for r in run.records.values()} == {("no_answer", reason)}
    [line] = [line for line in run.output.splitlines() if "stopped after 3 cases in a row" in line]
    assert words in line
    # Three of twelve were asked, each once.
    assert server.output.count("/chat/completions HTTP/1.1") - refused == 3
    assert run.facts["status"] == "incomplete"


# Limits: the run waits, asks again, and every case ends with its answer.


def test_a_limit_of_requests_in_a_window(gateways: Gateways, tmp_path: Path) -> None:
    script = Script(8)
    gateways.provider.decide = script
    before = turned_away(gateways.limited)
    run = relayed(tmp_path, gateways.limited, key=f"{KEY}-rpm", count=8)
    check_all_right(run, 8)
    assert turned_away(gateways.limited) > before
    assert set(script.asked.values()) == {1}


def test_a_limit_of_requests_at_once(gateways: Gateways, tmp_path: Path) -> None:
    script = Script(5)

    def slowly(body: dict[str, Any]) -> Any:
        script.asked[script.number(body) or 0] += 1
        return text(right(script.examples[script.number(body) or 0]), thinks=0.3)

    gateways.provider.decide = slowly
    before = turned_away(gateways.limited)
    arguments = ("--bench-connections", "3")
    run = relayed(tmp_path, gateways.limited, *arguments, key=f"{KEY}-one", count=5)
    check_all_right(run, 5)
    assert turned_away(gateways.limited) > before
    assert gateways.provider.max_in_flight == 1
    assert set(script.asked.values()) == {1}


def test_a_gateway_that_leaves_its_provider_alone_for_a_while(
    gateways: Gateways, tmp_path: Path
) -> None:
    script = Script(10, {1: [error(401, "not now")]})
    gateways.provider.decide = script
    before = turned_away(gateways.limited)
    # One after the other: cases after the fault come while the gateway still waits.
    run = relayed(tmp_path, gateways.limited, "--bench-connections", "1", count=10)
    assert turned_away(gateways.limited) > before
    assert run.exit_code == 1, run.output
    outcomes = [run.by_number[example.id].outcome for example in script.examples]
    assert outcomes == ["right", "no_answer", *["right"] * 8]
    assert run.by_number[script.examples[1].id].reason == "auth"
