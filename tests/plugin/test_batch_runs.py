"""`--bench-executor=batch`: exit code 12 until every request is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.batch_server import Answer, BatchServer
from tests.support.own_folders import write_folder
from tests.support.runs import Script, right, run_pytest
from tests.support.toy_bench import Bench

COUNT = 3
MODEL = "openai/gpt-4o-mini"
THOUGHTS = "<think>\nOr is it 7?\n</think>\n\n"
"""Precedes the answer to the second question once and to the third twice."""
GATE = "--bench-gate=starter.pass_rate >= 0.1"


def test_repeating_the_command_finishes_a_run_by_batches(tmp_path: Path) -> None:
    script = Script(COUNT)

    def answer(body: dict[str, Any]) -> str:
        number = script.number(body)
        assert number is not None
        return f"{THOUGHTS * number}{right(script.examples[number])}"

    def run(url: str, *options: str) -> Any:
        options = ("--bench-executor=batch", "--bench-fresh", GATE, *options)
        return run_pytest(tmp_path / "batch", url, *options, model=MODEL, count=COUNT)

    with BatchServer(answer) as server:
        first = run(server.url, "-n1")
        assert first.exit_code == 12, first.output
        assert "3 cases wait for batches" in first.output
        assert "undecided" in first.output
        assert first.records == {}
        named = json.loads((tmp_path / "batch/run/batches.json").read_text("utf-8"))
        assert [(example["batch_id"], example["requests"]) for example in named["batches"]] == [
            ("batch_1", 3)
        ]
        schema = Path(__file__).parents[2] / "docs/schemas/batches.schema.json"
        Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(named)
        server.finish()
        last = run(server.url)
        assert last.exit_code == 0, last.output
        assert len(server.asked) == len(set(server.asked)) == COUNT
    assert last.facts["calls_paid"] == COUNT
    assert abs(last.facts["cost_usd"] - COUNT * 7.8e-5) < 1e-12
    assert list((tmp_path / "batch/answers/batches").glob("*.json")) == []
    answers = {key: (example.outcome, example.raw) for key, example in last.by_number.items()}
    assert answers == {
        example.id: ("right", f"{THOUGHTS * number}{right(example)}")
        for number, example in enumerate(script.examples)
    }


def test_a_request_that_the_budget_does_not_cover_is_named(tmp_path: Path) -> None:
    options = ("--bench-executor=batch", "--bench-max-cost=0.0000001")
    with BatchServer(lambda _: "never asked") as server:
        run = run_pytest(tmp_path / "batch", server.url, *options, model=MODEL, count=1)
        assert server.asked == []
    assert run.exit_code == 12, run.output
    assert "1 case waits for batches" in run.output
    assert "1 request not submitted: --bench-max-cost does not cover more" in run.output
    assert "goes on" not in run.output


def test_each_turn_with_tools_is_a_batch(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")

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
            *("--pyargs", "pytest_tablebench.suites.test_own", "-pno:randomly"),
            *("--bench-data=shop", "--bench-dataset=shop", "--bench-strategy=tools"),
            *("--bench-executor=batch", "--bench-store=store", f"--model={MODEL}"),
            f"--bench-api-base={server.url}",
        )
        codes = []
        for _ in range(3):
            codes.append(bench.run_apart(*options).ret)
            server.finish()
        assert codes == [12, 12, 0]
        assert [len(batch.rows) for batch in server.batches] == [1, 1]
    assert bench.record()["outcome"] == "right"
    assert bench.record()["parts"]["turns"] == 2
