"""`--bench-executor=batch`: exit code 12 until every request is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.test_schemas import validator
from tests.support.batch_server import Answer, BatchServer
from tests.support.items import STARTER
from tests.support.own_folders import write_folder
from tests.support.runs import Script, right
from tests.support.toy_bench import Bench

COUNT = 3
MODEL = "openai/gpt-4o-mini"
THOUGHTS = "<think>\nOr is it 7?\n</think>\n\n"
"""Precedes the answer to the second question once and to the third twice."""
GATE = "--bench-gate=starter.pass_rate >= 0.1"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")


def test_repeating_the_command_finishes_a_run_by_batches(bench: Bench) -> None:
    bench.suite(STARTER)
    script = Script(COUNT)

    def answer(body: dict[str, Any]) -> str:
        number = script.number(body)
        assert number is not None
        return f"{THOUGHTS * number}{right(script.examples[number])}"

    def run(url: str, *options: str) -> pytest.RunResult:
        start = bench.run_apart if "-n1" in options else bench.run
        return start(
            *("--bench-executor=batch", "--bench-fresh", "--bench-store=answers", GATE),
            *(f"--bench-limit={COUNT}", "--bench-shots=0", f"--bench-api-base={url}"),
            *(f"--model={MODEL}", *options),
        )

    with BatchServer(answer) as server:
        refused = run(server.url, "--bench-max-cost=0.0000001", "--bench-store=other")
        assert refused.ret == 12
        output = refused.stdout.str()
        assert "3 requests not submitted: --bench-max-cost does not cover more" in output
        assert "goes on" not in output
        assert server.asked == []
        first = run(server.url, "-n1")
        assert first.ret == 12
        assert "3 cases wait for batches" in str(first.stdout)
        assert "undecided" in str(first.stdout)
        assert bench.records() == []
        named = json.loads((bench.path / "run/batches.json").read_text("utf-8"))
        assert [(example["batch_id"], example["requests"]) for example in named["batches"]] == [
            ("batch_1", 3)
        ]
        validator("batches").validate(named)
        server.finish()
        assert run(server.url).ret == 0
        assert len(server.asked) == len(set(server.asked)) == COUNT
    facts = bench.facts()
    assert (facts["calls_paid"], facts["cost_usd"]) == (COUNT, pytest.approx(COUNT * 7.8e-5))
    assert list((bench.path / "answers/batches").glob("*.json")) == []
    answers = {row["example_id"]: (row["outcome"], row["raw"]) for row in bench.records()}
    assert answers == {
        example.id: ("right", f"{THOUGHTS * number}{right(example)}")
        for number, example in enumerate(script.examples)
    }


def test_each_turn_with_tools_is_a_batch(bench: Bench) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        result = body["messages"][-1]
        if result["role"] != "tool":
            assert [tool["function"]["name"] for tool in body["tools"]][:2] == ["rows", "search"]
            return {"search": {"table": "df", "text": "coffee"}}
        assert (result["tool_call_id"], result["content"]) == (
            "call_0",
            "row,product,price\n0,coffee,3.10\n",
        )
        return "3.10"

    questions = "table,question,answer\nprices.csv,What does coffee cost?,3.10\n"
    prices = "product,price\ncoffee,3.10\ntea,2.20\n"
    write_folder(bench.path / "shop", {"prices.csv": prices, "questions.csv": questions})
    with BatchServer(answer) as server:
        options = (
            *("--pyargs", "pytest_tablebench.suites.test_own"),
            *("--bench-data=shop", "--bench-dataset=shop", "--bench-strategy=tools"),
            *("--bench-executor=batch", "--bench-store=store", f"--model={MODEL}"),
            f"--bench-api-base={server.url}",
        )
        codes = []
        for _ in range(3):
            codes.append(bench.run(*options).ret)
            server.finish()
        assert codes == [12, 12, 0]
        assert [len(batch.rows) for batch in server.batches] == [1, 1]
    assert bench.record()["outcome"] == "right"
    assert bench.record()["parts"]["turns"] == 2
