"""Runs with a judged metric: cost, records, store, and rejudging."""

from __future__ import annotations

import json
import shutil

import pytest

from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.metrics import METRICS, POSTPROCESSORS, Score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message
from pytest_tablebench.registry import Registry
from pytest_tablebench.running.rejudge import rejudge
from pytest_tablebench.tables.table import Table
from tests.support.matrix import reduced
from tests.support.toy_bench import SCORED

CONFTEST = """
import json
from pathlib import Path

from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message, Reply

HERE = Path(__file__).parent


def log(*what):
    with (HERE / "calls.log").open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\\n")


def tone(prediction, references, **_):
    reply = yield Ask((Message("user", f"Is {prediction} like {references[0]}?"),))
    value = float(reply.text)
    return Score(value, {"tone": value}, "tone")


tone.params = {"temperature": 0.5, "max_tokens": 2000}


def pytest_tablebench_register_metric(register):
    register("tone", tone)


TABLE = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])


def pytest_tablebench_register_dataset(register):
    questions = [
        table_question("ada", TABLE, "How old is Ada?", ["36"]),
        table_question("bo", TABLE, "How old is Bo?", ["41"]),
    ]
    register(TableQuestions("ages", questions, metric="tone", threshold=0.5))


class Echo:
    def __init__(self, model):
        self.model = model

    def complete(self, request):
        log("ask", self.model, request.text)
        (HERE / f"{self.model.partition('/')[0]}.json").write_text(json.dumps(dict(request.params)))
        if self.model == "judge/refuses":
            raise ModelError("too long", reason="context_window")
        if self.model.startswith("judge/"):
            text = "0.75" if "like 36" in request.text else "0.25"
            return Reply(text, prompt_tokens=5, completion_tokens=1, cost_usd=0.5)
        return Reply("36", prompt_tokens=10, completion_tokens=1, cost_usd=0.25)


def pytest_tablebench_register_provider(register):
    for prefix in ("echo", "judge"):
        register(prefix, lambda model, settings: Echo(model))
"""

TONE = SCORED.replace("toy", "ages").replace("test_ages", "test_tone")
SUITE = TONE + TONE.replace("answer)\n", "answer, part='exact_match')\n").replace("tone", "exact")


@pytest.fixture
def ages(bench):
    """A folder with two questions whose metric asks a judge."""
    bench.pytester.makeconftest(CONFTEST)
    bench.suite(SUITE)
    return bench


def test_the_reply_of_the_judge_is_the_score(ages):
    judge = ("--bench-judge=judge/any", "--bench-param=temperature=0.1")
    result = ages.run("--model=echo/any", *judge, "-k=test_tone")
    result.assert_outcomes(passed=1, failed=1, deselected=2)
    ada, bo = ages.records()
    assert (ada["outcome"], ada["score"], ada["parts"]) == ("right", 0.75, {"tone": 0.75})
    assert (bo["outcome"], bo["score"], bo["metric"]) == ("wrong", 0.25, "tone")
    assert [(step["model"], step["cost_usd"]) for step in ada["steps"]] == [
        (None, 0.25),
        ("judge/any", 0.5),
    ]
    facts = ages.facts()
    assert facts["judge"] == "judge/any"
    assert (facts["calls_paid"], facts["cost_usd"], facts["prompt_tokens"]) == (4, 1.5, 30)
    # The judge receives the parameters of the metric; an option overrides them.
    sent = {"temperature": 0.1, "max_tokens": 2000}
    assert facts["judge_params"] == {"tone": sent}
    logged = [json.loads((ages.path / f"{name}.json").read_text()) for name in ("judge", "echo")]
    assert logged == [sent, {"temperature": 0.1, "max_tokens": 512}]


@pytest.mark.parametrize("options", [[], ["--bench-judge=judge/refuses"]])
def test_a_case_without_a_verdict_of_the_judge_has_no_answer(ages, options):
    gate = "--bench-gate=ages.performance >= 0.1"
    result = ages.run("--model=echo/any", gate, *options)
    # test_exact needs no judge: right for the first question, wrong for the second.
    result.assert_outcomes(passed=1, failed=1, errors=2)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*: no example has a score (2 were asked)*"])
    for record in ages.records():
        assert (record["outcome"], record["reason"]) == ("no_answer", "not_judged")
        assert (record["raw"], record["score"], record["passed"]) == ("36", None, None)
    assert [record["checks"] for record in ages.records()] == [
        {"test_exact": True, "test_tone": None},
        {"test_exact": False, "test_tone": None},
    ]
    scope = ages.summary()["benchmarks"]["own"]["datasets"]["ages"]
    assert (scope["reasons"], scope["performance"]) == ({"not_judged": 2}, None)
    assert any("no score (not_judged)" in line for line in result.outlines)
    models = {model for model, _ in ages.calls("ask")}
    assert models == {"echo/any", *("judge/refuses" for _ in options)}


def registry() -> Registry:
    def tone(prediction, references, **_):
        reply = yield Ask((Message("user", f"Is {prediction} like {references[0]}?"),))
        # Another rule over the same answer of the judge.
        return Score(1 - float(reply.text), {"tone": 1 - float(reply.text)}, "tone")

    table = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])
    questions = [
        table_question("ada", table, "How old is Ada?", ["36"]),
        table_question("bo", table, "How old is Bo?", ["41"]),
    ]
    dataset = TableQuestions("ages", questions, metric="tone", threshold=0.5)
    return Registry(
        datasets={"ages": dataset},
        metrics={**METRICS, "tone": tone},
        postprocessors=dict(POSTPROCESSORS),
        providers={"judge": lambda model, settings: object()},  # type: ignore[dict-item,return-value]
    )


def test_a_second_run_and_rejudging_do_not_call_the_judge(ages):
    kept = ("--bench-store=answers", "--bench-judge=judge/any")
    ages.run("--model=echo/any", *kept)
    assert len(ages.calls("ask")) == 4
    ages.run("--model=echo/any", *kept, results="again")
    assert [record["score"] for record in ages.records("again")] == [0.75, 0.25]
    again = rejudge(ages.path / "run", compat="fixed", registry=registry())
    assert [record.score for record in again.run.records] == [0.25, 0.75]
    assert [record.outcome for record in again.run.records] == ["wrong", "right"]
    assert len(ages.calls("ask")) == 4
    # Without the store the verdicts of the judge are missing.
    shutil.rmtree(ages.path / "answers")
    again = rejudge(ages.path / "run", compat="fixed", registry=registry())
    assert [record.reason for record in again.run.records] == ["not_judged", "not_judged"]
    assert [record.raw for record in again.run.records] == ["36", "36"]


@pytest.fixture
def called(ages):
    """The same folder, with models that run in the callers."""
    named = "\n\nclass Named(Echo):\n    def __init__(self, model, settings):\n"
    named += "        super().__init__(model)\n"
    text = CONFTEST.replace("lambda model, settings: Echo(model)", "Named")
    ages.pytester.makeconftest(text + named)
    return ages


@pytest.mark.parametrize("workers", reduced("02", "1"))
def test_callers_send_each_question_to_the_judge_once(called, workers):
    options = ("--model=echo/any", "--bench-judge=judge/any", "-n", workers)
    result = called.run(*options)
    result.assert_outcomes(passed=2, failed=2)
    # Two tests over each of two cases: two answers and two verdicts.
    assert sorted(model for model, _ in called.calls("ask")) == [
        *("echo/any", "echo/any"),
        *("judge/any", "judge/any"),
    ]
    facts = called.facts()
    assert (facts["calls_paid"], facts["cost_usd"]) == (4, 1.5)
    assert {record["example_id"]: record["score"] for record in called.records()} == {
        "ada": 0.75,
        "bo": 0.25,
    }


def test_a_budget_includes_the_cost_of_the_judge(called):
    # An answer costs 0.25 and a verdict 0.5: with the first verdict the budget is spent.
    result = called.run("--model=echo/any", "--bench-judge=judge/any", "--bench-max-cost=0.6")
    spent = sum({"echo/any": 0.25, "judge/any": 0.5}[model] for model, _ in called.calls("ask"))
    assert spent <= 1.0
    assert called.facts()["cost_usd"] == spent
    assert any("the budget of 0.6 USD is spent" in line for line in result.outlines)
