"""Another judge for a finished run: its plan, its questions, and the new records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.results.folder import RunFolder, read_records
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.rejudge import Rejudged, rejudge, totals_with
from pytest_tablebench.running.runner import Runner
from tests.support.openai_server import Behaviour, OpenAIServer, error, text
from tests.support.plain_model import Plain
from tests.support.realhit_files import write_folder

REPLY = "[Final Answer]: People came."


def record(case: str, **values: Any) -> Record:
    dataset, example_id, serializer, perturbation = case.split("/")
    fields: dict[str, Any] = {
        "outcome": "right", "score": 1.0, "threshold": 0.3, "passed": True,
        "metric": "realhit_judged", "part": "rouge_l", "raw": REPLY, "flags": ("not_judged",),
        "parts": {"rouge_l": 1.0, "parse@1": 0.0}, **values,
    }  # fmt: skip
    return Record(
        case, "m", "realhitbench", dataset, example_id, serializer, perturbation,
        strategy="direct", modality="text", **fields,
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of three cases without a judge: two that a judge marks, one with a plain metric."""
    write_folder(tmp_path / "data")
    runner = Runner(Settings(data=tmp_path / "data"), builtin_registry())
    for name in ("realhit_da", "realhit_fc"):
        runner.source(name)
    folder = RunFolder(tmp_path / "run")
    for unjudged in (
        record("realhit_da/2/csv/none"),
        record("realhit_da/2/csv/transpose"),
        record("realhit_fc/1/csv/none", metric="realhit", part="em", score=0.0, passed=False),
    ):
        folder.append(unjudged.to_line())
    folder.write_run(
        {
            "model": "m", "compat": "fixed", "seed": 0, "store": "none",
            "data": str(tmp_path / "data"), "datasets": runner.dataset_facts(),
        }
    )  # fmt: skip
    folder.close()
    return tmp_path / "run"


def by(run: Path, judge: list[dict[str, str]], *, ask: bool = True) -> Rejudged:
    script = run.parent / "judge.jsonl"
    script.write_text("\n".join(map(json.dumps, judge)), "utf-8")
    return rejudge(run, judge=f"tablebench/scripted:{script}", ask=ask)


def test_without_ask_only_the_plan_is_made(run: Path) -> None:
    result = by(run, [{"default": "[Score]: 70/100"}], ask=False)
    assert result.plan is not None
    # Each question contains the table, which differs after the transposition.
    assert (result.plan.questions, result.plan.hits, result.plan.calls) == (2, 0, 2)
    assert result.plan.prompt_tokens is not None


def test_new_marks_count_and_other_scores_stay(run: Path) -> None:
    result = by(
        run, [{"match": "& Rome", "text": "[Score]: 20/100"}, {"default": "[Score]: 70/100"}]
    )
    plain, transposed, fact = result.run.records
    assert (plain.score, plain.part, plain.outcome, plain.flags) == (0.7, "gpt_eval", "right", ())
    assert (plain.parts["rouge_l"], plain.parts["parse@1"]) == (1.0, 0.0)
    assert (transposed.score, transposed.outcome) == (0.2, "wrong")
    assert fact == next(old for old in read_records(run) if old.dataset == "realhit_fc")
    assert str(result.run.facts.entries["judge"]).startswith("tablebench/scripted:")
    assert result.run.facts.entries["rejudged"]["judge"] is None


def test_replies_and_cost_replace_those_of_the_old_judge(run: Path) -> None:
    old = {
        "kind": "ask", "digest": "0", "outcome": "stop", "model": "old/judge", "latency_s": 1.0,
        "prompt_tokens": 40, "completion_tokens": 2, "cost_usd": 0.5, "from_store": False,
    }  # fmt: skip
    answer = {**old, "model": None, "cost_usd": 0.25, "from_store": True}
    lines = (run / "records.jsonl").read_text().splitlines()
    judged = json.loads(lines[0]) | {"steps": [answer, {**old, "text": "[Score]: 10/100"}]}
    (run / "records.jsonl").write_text("\n".join([json.dumps(judged), *lines[1:], ""]))
    facts = json.loads((run / "run.json").read_text()) | {
        "judge": "old/judge", "calls_paid": 4, "prompt_tokens": 240, "completion_tokens": 12,
        "cost_usd": 2.5,
    }  # fmt: skip
    (run / "run.json").write_text(json.dumps(facts))
    result = by(run, [{"default": "Nearly. [Score]: 70/100"}])
    plain, transposed, fact = result.run.records
    # The steps of the answer stay; without any the record's own figures are the answer's step.
    assert [step.get("text") for step in plain.steps] == [None, "Nearly. [Score]: 70/100"]
    assert [step.get("text") for step in transposed.steps] == [None, "Nearly. [Score]: 70/100"]
    assert plain.steps[0] == answer
    assert plain.steps[1]["model"] == result.run.facts.entries["judge"] != "old/judge"
    assert plain.steps[1]["cost_usd"] != 0.5
    assert not fact.steps
    # Four calls, without the old judge's one, with two of the new judge.
    assert result.run.facts.entries["calls_paid"] == 5
    # A scripted model has neither tokens nor a price.
    assert (result.run.facts.entries["prompt_tokens"], result.run.facts.entries["cost_usd"]) == (
        None,
        None,
    )


def test_totals_have_the_new_judge_in_place_of_the_old() -> None:
    def judged(cost: float | None, *, stored: bool = False) -> Record:
        step = {"text": "x", "prompt_tokens": 10, "completion_tokens": 1, "cost_usd": cost}
        answer = {"prompt_tokens": 3, "completion_tokens": 3, "cost_usd": 1.0, "from_store": False}
        return record("realhit_da/2/csv/none", steps=(answer, {**step, "from_store": stored}))

    run = RunFacts(calls_paid=3, prompt_tokens=100, completion_tokens=9, cost_usd=4.0)
    old = [judged(0.5), judged(0.5, stored=True)]
    assert totals_with(run, old, [judged(0.25), judged(0.25)]) == {
        "calls_paid": 4, "prompt_tokens": 110, "completion_tokens": 10, "cost_usd": 4.0,
    }  # fmt: skip
    assert totals_with(run, old, [judged(None)])["cost_usd"] is None
    nothing = {"calls_paid": 0, "prompt_tokens": None, "completion_tokens": None, "cost_usd": None}
    assert totals_with(RunFacts.from_json(nothing), [], []) == nothing
    assert totals_with(RunFacts.from_json(nothing), [], [judged(0.25)])["cost_usd"] == 0.25


def test_marks_that_cannot_be_read_are_no_score_and_the_others_stay(run: Path) -> None:
    plain, *_ = by(run, [{"default": "splendid"}]).run.records
    assert (plain.score, plain.outcome, plain.reason) == (None, "no_answer", "judge_parse_error")
    assert (plain.flags, plain.parts["rouge_l"]) == (("judge_parse_error",), 1.0)


def test_a_judge_without_an_answer_is_counted_as_such(run: Path) -> None:
    plain, *_ = by(run, [{"match": "nowhere", "text": "x"}]).run.records
    assert (plain.score, plain.reason) == (None, "not_judged")


def test_marks_are_in_the_store_that_machines_share(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(machine: str, **options: Any) -> Rejudged:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine))
        registry = builtin_registry()
        registry.providers["plain"] = Plain
        return rejudge(run, registry=registry, **options)

    with OpenAIServer(lambda _: text("[Score]: 70/100")) as server:
        facts = json.loads((run / "run.json").read_text())
        facts |= {"store": f"file://{tmp_path}/net", "judge": "plain/j", "api_base": server.url}
        (run / "run.json").write_text(json.dumps(facts))
        judge = {"judge": "plain/j", "api_base": server.url}
        first, second = (again(name, **judge, ask=True) for name in ("one", "two"))
        # Without a new judge, the replies of the run's own judge are fetched.
        third = again("three", compat="fixed")
    assert [run.plan.calls for run in (first, second) if run.plan is not None] == [2, 0]
    assert len(server.requests) == 2
    for result in (first, second, third):
        assert [record.parts.get("gpt_eval") for record in result.run.records] == [0.7, 0.7, None]


def test_what_a_judges_server_refuses_is_left_out(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "none")
    answered: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Behaviour:
        if "temperature" in body:
            return error(400, "Unsupported parameter: 'temperature' is not supported.")
        answered.append(body)
        return text("[Score]: 70/100")

    with OpenAIServer(answer) as server:
        judged = rejudge(run, judge="hosted_vllm/judge", api_base=server.url, ask=True)
    assert len(answered) == 2
    assert [record.parts.get("gpt_eval") for record in judged.run.records] == [0.7, 0.7, None]
    assert sum("temperature is left out from now on" in note for note in judged.notes) == 1
