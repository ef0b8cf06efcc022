"""Parts of a conftest.py below the given paths, which pytest reads during collection."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import ADA, CONFTEST, SUITE, Bench

DEEP = """
from pytest_tablebench import Score
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.tables.table import Table

AGES = Table(["Name", "Age"], [["Ada", "36"]])


def pytest_tablebench_register_dataset(register):
    deep = TableQuestions("deep", [table_question("ada", AGES, "How old is Ada?", ["36"])])
    deep.metric = "half"
    register(deep)


def pytest_tablebench_register_metric(register, register_postprocessor):
    register("half", lambda prediction, references, **_: Score(0.5))
"""
DEEP_SUITE = """
import pytest
from pytest_tablebench import assert_score


@pytest.mark.tablebench("deep", threshold=0.5)
def test_deep(case, answer):
    assert_score(case, answer)
"""
GIVEN = {
    "dataset": "--bench-dataset=deep",
    "threshold": "--bench-threshold=deep=0.4",
    "gate": "--bench-gate=deep.performance >= 0.4",
}


@pytest.fixture
def deep(bench: Bench) -> Bench:
    """`toy` at the top, and `deep` with its metric two folders below."""
    bench.data(toy=[ADA])
    folder = bench.path / "suites" / "own"
    folder.mkdir(parents=True)
    (folder / "conftest.py").write_text(DEEP, encoding="utf-8")
    (folder / "test_deep.py").write_text(DEEP_SUITE, encoding="utf-8")
    return bench


@pytest.mark.parametrize("option", GIVEN)
def test_an_option_may_name_a_part_of_a_deeper_conftest(deep: Bench, option: str) -> None:
    result = deep.run("--model=echo/any", GIVEN[option], "suites")
    result.assert_outcomes(passed=1)
    assert (deep.record()["dataset"], deep.record()["score"]) == ("deep", 0.5)
    assert result.ret == (11 if option == "gate" else 0)  # one example is too few


def test_options_may_name_parts_of_a_deeper_conftest_under_workers(deep: Bench) -> None:
    options = [*GIVEN.values(), "--bench-gate-point"]
    result = deep.run("--model=echo/any", *options, "suites", "-n1")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    [gate] = deep.facts()["gates"]
    assert gate["state"] == "holds"


@pytest.mark.parametrize(
    ("option", "workers"), [("dataset", []), ("threshold", []), ("gate", ["-n1"])]
)
def test_an_unregistered_name_is_refused(deep: Bench, option: str, workers: list[str]) -> None:
    run = deep.run_apart if workers else deep.run
    result = run("--model=echo/any", GIVEN[option].replace("deep", "deap"), "suites", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert "'deap'; did you mean 'deep'?" in line
    assert "PluggyTeardown" not in result.stdout.str() + result.stderr.str()
    assert deep.calls("ask") == []
    assert not (deep.path / "run").exists()


def test_a_name_of_a_conftest_outside_the_paths_is_refused(deep: Bench) -> None:
    line = deep.refused("--model=echo/any", GIVEN["dataset"], "test_suite.py")
    assert "unknown dataset 'deep'" in line
    assert line.endswith("if a conftest.py registers it, pass that file's folder to pytest")


INI = """
[pytest]
bench_model = echo/any
bench_serializer = html
bench_perturbation = none
bench_results = run
bench_store = none
bench_dataset = toy, deep
bench_threshold = deep=0.4
bench_gate =
    deep.performance >= 0.9
    toy.performance >= 0.9
bench_gate_point = true
"""


@pytest.mark.parametrize(
    ("path", "code", "judged"),
    [
        ("test_suite.py", 0, {"toy.performance >= 0.9": "holds"}),
        (".", 10, {"deep.performance >= 0.9": "fails", "toy.performance >= 0.9": "holds"}),
    ],
)
def test_an_ini_file_may_name_parts_of_a_conftest_outside_the_paths(
    deep: Bench, path: str, code: int, judged: dict[str, str]
) -> None:
    deep.pytester.makeini(INI)
    result = deep.pytester.runpytest_inprocess(path)
    assert result.ret == code
    assert {gate["gate"]: gate["state"] for gate in deep.facts()["gates"]} == judged
    said = "not judged: deep.performance >= 0.9: unknown name in this session"
    assert (said in result.outlines) == (len(judged) == 1)


def test_an_unregistered_name_in_an_ini_file_is_refused(bench: Bench) -> None:
    bench.pytester.makeini(INI)
    line = bench.refusal(bench.pytester.runpytest_inprocess())
    assert line.startswith("--bench-dataset: unknown dataset 'deep'")


@pytest.mark.parametrize("options", [[], ["--bench-seed=1"]], ids=["no option", "option"])
def test_a_dataset_may_use_a_metric_of_a_deeper_conftest(deep: Bench, options: list[str]) -> None:
    """The first case of the dataset is collected before that conftest.py is read."""
    deep.pytester.makeconftest(
        CONFTEST.replace('register("echo"', 'register("tablebench/lexical"').replace(
            'metric = "exact_match"', 'metric = "half"'
        )
    )
    deep.suite(SUITE.replace("assert_exact_match", "assert_score"))
    deep.pytester.makeini("[pytest]\n")
    result = deep.pytester.runpytest_inprocess("test_suite.py", "suites", *options)
    result.assert_outcomes(failed=35, passed=35)  # `half` gives .5, which is enough for `deep`
    [folder] = (deep.path / "tablebench-results").iterdir()
    scores = {record["score"] for record in deep.records(f"tablebench-results/{folder.name}")}
    assert scores == {0.5}
