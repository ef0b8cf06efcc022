"""Odd values of registered datasets and metrics affect only their own cases."""

from __future__ import annotations

from tests.support.toy_bench import ADA, SCORED, SUITE

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


SCORES = {"float32": 0.5, "int": 1.0}
"""The scores of the metrics with a valid value."""

METRICS = ("float32", "int", "nan", "two", "text", "none", "bare", "raises")


def test_the_value_of_a_registered_metric_is_checked(bench):
    """Each dataset has the metric of its name."""
    bench.data(**{name: [ADA] for name in METRICS})
    names = "self.name = self.folder = "
    bench.adapt((f"{names}name", f"{names}self.metric = name"), add=HOSTILE_METRIC)
    test = SCORED.replace("(case, answer)\n", "(case, answer, threshold=0)\n")
    bench.suite("".join(test.replace("toy", name) for name in METRICS))
    thresholds = [f"--bench-threshold={name}=0.5" for name in METRICS]
    result = bench.run("--model=echo/any", "--bench-gate=toys.no_answer <= 1", *thresholds)
    result.assert_outcomes(passed=2, errors=6)
    assert result.ret == 1
    records = {record["dataset"]: record for record in bench.records()}
    lines = [line for line in result.outlines if line.startswith("no score (metric_error): ")]
    assert len(lines) == len(METRICS) - len(SCORES)
    for name, record in records.items():
        assert record["score"] == SCORES.get(name)
        if name not in SCORES:
            assert sum(f"metric {name!r}" in line for line in lines) == 1
            assert (record["outcome"], record["raw"]) == ("no_answer", "36")
            assert record["checks"] == {f"test_{name}": None}


def test_a_metric_that_an_assertion_names_is_checked_and_moves_no_score(bench):
    bench.adapt(add=HOSTILE_METRIC)
    names = ("float32", "nan", "raises")
    bench.suite(
        "".join(
            SCORED.replace(
                "(case, answer)\n", f"(case, answer, part='{name}', threshold=0)\n"
            ).replace("test_toy", f"test_{name}")
            for name in names
        )
    )
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(passed=1, failed=2)
    record = bench.record()
    assert (record["outcome"], record["score"]) == ("right", 1.0)
    assert record["checks"] == {f"test_{name}": name == "float32" for name in names}


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
