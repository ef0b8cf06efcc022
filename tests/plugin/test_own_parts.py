"""Odd values of registered datasets and metrics affect only their own cases."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import SCORED, SUITE

HOSTILE_METRIC = """
import numpy as np
from pytest_tablebench import Score

VALUES = {"float32": np.float32(0.5), "int": np.int64(1), "nan": float("nan"), "two": 2.0,
          "text": "x", "none": None}

def pytest_tablebench_register_metric(register, register_postprocessor):
    for name, value in VALUES.items():
        register(name, lambda prediction, references, value=value, **_: Score(value))
    register("bare", lambda prediction, references, **_: 0.5)
    register("raises", lambda prediction, references, **_: {}[prediction])
"""


GIVEN = [
    ("float32", 0.5),
    ("int", 1.0),
    ("nan", None),
    ("two", None),
    ("text", None),
    ("none", None),
    ("bare", None),
    ("raises", None),
]


@pytest.mark.parametrize(("metric", "score"), GIVEN)
def test_the_value_of_a_registered_metric_is_checked(bench, metric, score):
    bench.adapt(('metric = "exact_match"', f'metric = "{metric}"'), add=HOSTILE_METRIC)
    bench.suite(SCORED.replace("(case, answer)\n", "(case, answer, threshold=0)\n"))
    gates = ["--bench-gate=toy.no_answer <= 1", "--bench-threshold=toy=0.5"]
    result = bench.run("--model=echo/any", "--bench-limit=1", *gates)
    record = bench.record()
    if score is None:
        result.assert_outcomes(errors=1)
        assert result.ret == 1
        lines = [line for line in result.outlines if line.startswith("no score (metric_error): ")]
        assert f"metric {metric!r}" in lines[0]
        assert (record["outcome"], record["score"], record["raw"]) == ("no_answer", None, "36")
        assert record["checks"] == {"test_toy": None}
    else:
        result.assert_outcomes(passed=1)
        assert result.ret == 0
        assert record["score"] == score


@pytest.mark.parametrize(("metric", "score"), [("float32", 0.5), ("nan", None), ("raises", None)])
def test_a_metric_that_an_assertion_names_is_checked_and_moves_no_score(bench, metric, score):
    bench.adapt(add=HOSTILE_METRIC)
    call = f"assert_score(case, answer, part='{metric}', threshold=0)"
    bench.suite(SCORED.replace("assert_score(case, answer)", call))
    result = bench.run("--model=echo/any", "--bench-limit=1")
    result.assert_outcomes(**{"passed" if score is not None else "failed": 1})
    record = bench.record()
    assert (record["outcome"], record["score"]) == ("right", 1.0)
    assert record["checks"] == {"test_toy": score is not None}


IN_CONTEXT = """
from pytest_tablebench import Score

def pytest_tablebench_register_metric(register):
    register("years", lambda prediction, references, *, unit, **_: Score(float(unit == "years")))
"""


def test_a_metric_that_an_assertion_names_receives_the_context(bench):
    answers = '", ".join(answers), '
    bench.adapt((answers, f'{answers}{{"unit": "years"}}, '), add=IN_CONTEXT)
    call = "assert_score(case, answer, part='years')"
    bench.suite(SCORED.replace("assert_score(case, answer)", call))
    bench.run("--model=echo/any").assert_outcomes(passed=3)


ODD_CELLS = """
import datetime
import decimal
import numpy as np
from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question

CUT = "Ada \\ud83d"  # half of an emoji, as a file that was cut may hold it


def questions():
    row = [CUT, np.int64(3), np.str_("a"), datetime.date(2020, 1, 1), decimal.Decimal("1.50")]
    table = Table([CUT, "a", "b", "c", "d"], [row], title=CUT)
    yield table_question(f"one {CUT}", table, f"Who is {CUT}?", ["36", CUT])


def pytest_tablebench_register_dataset(register):
    register(TableQuestions("odd", questions))
"""


def test_odd_texts_and_cells_survive_workers(bench):
    bench.adapt(("def pytest_tablebench_register_dataset", "def _"), add=ODD_CELLS)
    bench.suite(SUITE.replace('"toy"', '"odd"'))
    arguments = ["--model=echo/any", "--bench-serializer=html,csv", "--bench-perturbation=none"]
    kept = ["--bench-results=run", "--bench-store=none"]
    result = bench.pytester.runpytest_inprocess(*arguments, *kept, "-n1")
    assert result.ret == 1, result.stdout.str()
    assert [record["outcome"] for record in bench.records()] == ["wrong", "wrong"]
    assert {record["example_id"] for record in bench.records()} == {"one Ada \ud83d"}
    shown = (bench.path / "run/report.html").read_text("utf-8")
    assert "<title>echo/any</title>" in shown
