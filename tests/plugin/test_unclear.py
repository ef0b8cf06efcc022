"""Replies that no rule decides: counted as wrong, named, and decided by a judge or by people."""

from __future__ import annotations

import pytest

from pytest_tablebench.cli import main
from tests.support.toy_bench import SCORED

PARTS = """
from pytest_tablebench.metrics import Score, may_be_unclear

REPLIES = {"ada": "36", "bo": "41 or 42", "cy": "12 or 13", "di": "unknown"}


@may_be_unclear
def vague(prediction, references, **_):
    if prediction == references[0]:
        return Score(1.0, {"vague": 1.0}, "vague")
    if references[0] in prediction:
        return Score(0.0, {"vague": 0.0}, "vague", unclear=True, why="two values <b>\\x1b[31m")
    return Score(0.0, {"vague": 0.0}, "vague", why="not in the reply")


def pytest_tablebench_register_metric(register):
    register("vague", vague)


class Model:
    def __init__(self, model):
        self.model = model

    def complete(self, request):
        if self.model.startswith("judge/"):
            assert "Expected answer" in request.text
            return Reply("Yes." if "41 or 42" in request.text else "no")
        return Reply(REPLIES[request.case_id.split("/")[1]])


def pytest_tablebench_register_provider(register):
    for prefix in ("plain", "judge"):
        register(prefix, lambda model, settings: Model(model))
"""


@pytest.fixture
def ages(bench):
    """A folder with four questions; two replies to them are unclear."""
    rows = (("ada", "36"), ("bo", "41"), ("cy", "12"), ("di", "9"))
    bench.data(ages=[[name, f"How old is {name}?", [age]] for name, age in rows])
    bench.adapt(('metric = "exact_match"', 'metric = "vague"'), add=PARTS)
    bench.suite(SCORED.replace("toy", "ages"))
    return bench


def flags(records):
    return {record["example_id"]: (record["outcome"], record["flags"]) for record in records}


def test_unclear_replies_count_as_wrong_and_leave_a_gate_undecided(ages, capsys):
    gates = ["ages.pass_rate >= 0.5", "ages.unclear <= 0.5"]
    options = [f"--bench-gate={gate}" for gate in gates]
    result = ages.run("--model=plain/any", "--bench-gate-point", *options)
    assert result.ret == 11
    assert flags(ages.records()) == {
        "ada": ("right", []),
        "bo": ("wrong", ["unclear"]),
        "cy": ("wrong", ["unclear"]),
        "di": ("wrong", []),
    }
    assert [record.get("why") for record in ages.records()] == [
        None,
        *["two values <b>\x1b[31m"] * 2,
        "not in the reply",
    ]
    scope = ages.summary()["benchmarks"]["toys"]["datasets"]["ages"]
    assert (scope["pass_rate"], scope["pass_rate_high"], scope["unclear"]) == (0.25, 0.75, 0.5)
    text = result.stdout.str()
    assert "50.0 % unclear, counted as wrong; pass rate 25.0 to 75.0 %" in text
    assert "the gate fails only because unclear replies count as wrong; if they were right" in text
    assert "2 of 4 cases are unclear (0.5)" in text
    assert "unclear: two values <b>\\x1b[31m" in text
    assert "unclear, counted as wrong" in (ages.path / "run" / "summary.md").read_text("utf-8")
    capsys.readouterr()
    assert main(["show", str(ages.path / "run")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("2 unclear replies, counted as wrong\nages/bo/")
    assert "got:      41 or 42\n  why:      two values <b>\\x1b[31m\n" in shown


def test_a_judge_decides_the_unclear_replies_alone(ages):
    judged = ("--model=plain/any", "--bench-judge=judge/any", "--bench-store=answers")
    plan = ages.run(*judged, "--bench-plan").stdout.str()
    assert "judge judge/any: at most 4 questions of these" in plan
    ages.run(*judged)
    assert flags(ages.records()) == {
        "ada": ("right", []),
        "bo": ("right", ["decided_by_judge"]),
        "cy": ("wrong", ["decided_by_judge"]),
        "di": ("wrong", []),
    }
    bo = ages.records()[1]
    assert (bo["score"], bo["parts"], bo.get("why")) == (1.0, {"vague": 1.0}, None)
    assert [step["model"] for step in bo["steps"]] == [None, "judge/any"]
    assert ages.facts()["calls_paid"] == 6
    ages.run(*judged, "--bench-replay", results="again")
    assert flags(ages.records("again")) == flags(ages.records())
    assert ages.facts("again")["calls_paid"] == 0


def test_people_decide_unclear_replies(ages, capsys):
    ages.run("--model=plain/any")
    cases = [record["case_id"] for record in ages.records() if "unclear" in record["flags"]]
    rows = [f"{case},{label},ada,\n" for case, label in zip(cases, ("right", "wrong"), strict=True)]
    labels = ages.path / "labels.csv"
    labels.write_text("case_id,label,who,when\n" + "".join(rows), encoding="utf-8")
    run, out = str(ages.path / "run"), str(ages.path / "decided")
    capsys.readouterr()
    assert main(["labels", run, str(labels)]) == 0
    assert "2 of 2 unclear cases decided; `tablebench rejudge" in capsys.readouterr().out
    gate = "--bench-gate=ages.pass_rate >= 0.5"
    assert main(["rejudge", run, "-o", out, "--bench-gate-point", gate]) == 0
    assert flags(ages.records("decided")) == {
        "ada": ("right", []),
        "bo": ("right", ["decided_by_people"]),
        "cy": ("wrong", ["decided_by_people"]),
        "di": ("wrong", []),
    }
