"""Runs that take labels by people from an earlier run."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.cli import main
from tests.support.toy_bench import SCORED, Bench

CONFTEST = """
from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message, Reply


def marked(prediction, references, **_):
    reply = yield Ask((Message("user", f"Mark {prediction} against {references[0]}"),))
    value = float(reply.text)
    return Score(value, {"llm_score": value}, "llm_score")


def pytest_tablebench_register_metric(register):
    register("marked", marked)


def pytest_tablebench_register_dataset(register):
    table = Table(["Name", "Age"], [["Ada", "36"]])
    questions = [
        table_question(f"q{n}", table, f"What is {n}?", [str(n)], cluster=f"t{n}")
        for n in range(30)
    ]
    register(TableQuestions("marks", questions, metric="marked", threshold=0.5))


class Model:
    def __init__(self, model):
        self.model = model

    def complete(self, request):
        if self.model.startswith("judge/"):
            return Reply("1.0")
        number = request.text.rpartition("What is ")[2].partition("?")[0]
        return Reply("new" if self.model == "plain/other" and number == "7" else number)


def pytest_tablebench_register_provider(register):
    for prefix in ("plain", "judge"):
        register(prefix, lambda model, settings: Model(model))
"""

SUITE = SCORED.replace("toy", "marks")


def test_labels_follow_the_answers_into_another_run(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.pytester.makeconftest(CONFTEST)
    bench.suite(SUITE)
    options = (
        "--bench-judge=judge/a",
        "--bench-gate=marks.performance >= 0.9",
        "--bench-serializer=html",
    )
    result = bench.run("--model=plain/any", *options)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*judge not calibrated: 0 labels*"])
    records = bench.records()
    facts = bench.facts()
    assert len(facts["judge_prompts"]["marked"]) == 16
    rows = [f"{record['case_id']},{int(n >= 15)},ann," for n, record in enumerate(records)]
    file = bench.path / "labels.csv"
    file.write_text("\n".join(["case_id,label,who,when", *rows, ""]), encoding="utf-8")
    earlier = bench.path / "earlier"
    (bench.path / "run").rename(earlier)
    assert main(["labels", str(earlier), str(file)]) == 0
    # People call half of the answers right, where the judge calls all right.
    result = bench.run("--model=plain/other", *options, f"--bench-labels={earlier}")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*1 label of other answers or other cases ignored*"])
    summary = json.loads((bench.path / "run" / "summary.json").read_text("utf-8"))
    figure = summary["judged"]["datasets"]["marks"]
    assert (figure["naive"], figure["n_labels"], summary["judged"]["n_others"]) == (1, 29, 1)
    assert figure["ci95"][1] < 0.9
    capsys.readouterr()
    assert main(["labels", str(bench.path / "run")]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "carried over from another run (--bench-labels) cover unchanged answers only" in last
