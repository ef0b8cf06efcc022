"""Several tests over one dataset: each case has one record, which contains a check per test."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from tests.support.matrix import reduced
from tests.support.outcomes import ALL_THREE, plain
from tests.support.present import present
from tests.support.toy_bench import SUITE

pytest.importorskip("pytest_randomly", reason="installed with the extra `test`")
pytest.importorskip("pytest_rerunfailures", reason="installed with the extra `test`")

TWO = """
import pytest
from pytest_tablebench import assert_exact_match

@pytest.mark.tablebench("toy")
def test_base(case, answer):
    assert_exact_match(case, answer)

@pytest.mark.tablebench("toy")
def test_tone(case, answer):
    assert not answer.text.startswith("no ")
"""
"""One of the four replies below is right; three have the right tone."""
REPLIES = [
    {"match": "How old is Ada?", "text": "36"},
    {"match": "How old is Bo?", "text": "no idea"},
    {"match": "How old is Cy?", "text": "13"},
    {"match": "How old is Di?", "text": "15"},
]
ROWS = [[name.lower(), f"How old is {name}?", [age]] for name, age in
        (("Ada", "36"), ("Bo", "41"), ("Cy", "12"), ("Di", "14"))]  # fmt: skip
BOTH = {"test_base": True, "test_tone": True}


@pytest.fixture
def two(bench):
    """Two tests over four questions of the toy dataset."""
    bench.data(toy=ROWS)
    bench.suite(TWO)
    bench.script(*REPLIES)
    return bench


MODEL = "--model=tablebench/scripted:script.jsonl"


def verdicts(bench, folder="run"):
    """Return outcome, score and checks of each example."""
    return {
        record["example_id"]: (record["outcome"], record["score"], record["checks"])
        for record in bench.records(folder)
    }


EXPECTED = {
    "ada": ("right", 1.0, BOTH),
    "bo": ("wrong", 0.0, {"test_base": False, "test_tone": False}),
    "cy": ("wrong", 0.0, {"test_base": False, "test_tone": True}),
    "di": ("wrong", 0.0, {"test_base": False, "test_tone": True}),
}


REVERSED = ["test_suite.py::test_tone", "test_suite.py::test_base"]
RANDOM = ["-p", "randomly", "-p", "rerunfailures", "--reruns=1", "-n", "1"]
EACH = ["-n", "2", "--dist=each"]
ARGUMENTS = [[], REVERSED, ["-p", "randomly"], RANDOM, ["-n", "2", "--dist=loadgroup"], EACH]


@pytest.mark.parametrize("arguments", reduced(ARGUMENTS, RANDOM, EACH), ids=" ".join)
def test_order_workers_and_reruns_do_not_change_records(two, arguments):
    seed = ["--randomly-seed=3"] if "randomly" in arguments else []
    result = two.run(MODEL, "--junitxml=junit.xml", *seed, *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(two.records()) == 4
    assert verdicts(two) == EXPECTED
    scope = two.summary()["benchmarks"]["toys"]["datasets"]["toy"]
    assert (scope["pass_rate"], scope["performance"], scope["n_cases"]) == (0.25, 0.25, 4)
    rates = {name: check["pass_rate"] for name, check in scope["checks"].items()}
    assert rates == {"test_base": 0.25, "test_tone": 0.75}
    facts = two.facts()
    assert (facts["status"], facts["cases_recorded"]) == ("complete", 4)
    result.stdout.fnmatch_lines(["toy: test_tone passes 75.0 %, failed 1 of 4 cases"])
    if "each" in "".join(arguments):
        return
    suite = present(ET.parse(two.path / "junit.xml").getroot().find("testsuite"))
    shared = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert shared["tablebench.toy::test_tone.pass_rate"] == "0.75"
    # pytest writes each attempt as a test case.
    for case in suite.iter("testcase"):
        names = [p.get("name") for p in case.iter("property")]
        assert len(names) == len(set(names)), names


def test_without_a_metric_a_case_is_right_if_all_its_tests_pass(two):
    two.without_metric()
    gate = "--bench-gate=toy.pass_rate >= 0.1"
    result = two.run(MODEL, gate, "--bench-gate-point")
    assert verdicts(two) == {
        "ada": ("right", 1.0, BOTH),
        # Without a metric of the dataset, assert_exact_match computes its own.
        "bo": ("wrong", 0.0, {"test_base": False, "test_tone": False}),
        "cy": ("wrong", 0.0, {"test_base": False, "test_tone": True}),
        "di": ("wrong", 0.0, {"test_base": False, "test_tone": True}),
    }
    assert result.ret == 0  # the failures are in the pass rate


def test_a_run_stopped_before_the_second_test_is_incomplete(two):
    gate = "--bench-gate=toy.no_answer <= 1"
    result = two.run(MODEL, "-x", gate, "-k", "bo")
    result.assert_outcomes(failed=1)
    facts = two.facts()
    assert (facts["cases_planned"], facts["cases_recorded"]) == (1, 1)
    assert facts["status"] == "incomplete"
    assert facts["gates"][0]["state"] == "undecided"


# Gates


def test_gates_can_name_a_test(two):
    gates = {
        "toy.no_answer <= 0": "holds",  # test_base fails where answers are wrong
        "toy::test_tone.pass_rate >= 0.7": "holds",
        "toy::test_tone.pass_rate >= 0.8": "fails",
        "toy::test_tone[html].pass_rate >= 0.7": "holds",
        "toy::test_base.pass_rate >= 0.3": "fails",
    }
    options = [f"--bench-gate={gate}" for gate in gates]
    assert two.run(MODEL, "--bench-gate-point", *options).ret == 10
    assert {gate["gate"]: gate["state"] for gate in two.facts()["gates"]} == gates


def test_a_gate_on_a_deselected_test_is_undecided(two):
    gate = "--bench-gate=toy::test_tone.pass_rate >= 0.7"
    result = two.run(MODEL, gate, "-k", "base")
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*no case has a verdict of test_tone*"])


@pytest.mark.parametrize("named", [False, True])
def test_a_failed_test_without_a_gate_sets_exit_code_one(bench, named):
    bench.suite(SUITE + plain("assert 0").replace("test_toy", "test_other"))
    gates = ["--bench-gate=toy.no_answer <= 0.5"]
    gates += ["--bench-gate=toy::test_other.pass_rate >= 0"] if named else []
    result = bench.run("--model=echo/any", "--bench-limit=1", "--bench-gate-point", *gates)
    assert result.ret == (0 if named else 1)
    assert {gate["state"] for gate in bench.facts()["gates"]} == {"holds"}
    is_reported = "test_other failed 1 time and has no gate" in result.stdout.str()
    assert is_reported is not named


# Exceptions and subtests


@pytest.mark.parametrize("metric", [True, False])
def test_an_exception_in_a_test_is_a_wrong_answer_and_no_missing_one(bench, metric):
    if not metric:
        bench.without_metric()
    raising = "import json; json.loads(answer.text)['age']", "{}[answer.text]"
    for number, body in enumerate((*raising, "pytest.fail('not so')")):
        bench.suite(plain(body), f"test_{number}.py")
    model = bench.script({"default": "not { json"})
    gate = ("--bench-gate=toy.pass_rate >= 0.5", "--bench-gate-point")
    result = bench.run(f"--model={model}", *gate, *(f"test_{number}.py" for number in range(3)))
    result.assert_outcomes(failed=9)
    assert result.ret == 10
    assert {record["outcome"] for record in bench.records()} == {"wrong"}
    assert bench.summary()["benchmarks"]["toys"]["no_answer"] == 0


def test_a_rerun_shows_the_failure_of_the_last_attempt(bench):
    body = """
    from pathlib import Path
    tries = Path("tries")
    if not tries.exists():
        tries.touch()
        assert_exact_match(case, answer)
    raise KeyError("the second attempt")
"""
    suite = plain(body).replace("import pytest", "import pytest\n" + SUITE.splitlines()[2])
    bench.suite(suite)
    model = bench.script({"default": "no idea"})
    result = bench.run(f"--model={model}", "--bench-limit=1", "-p", "rerunfailures", "--reruns=1")
    result.stdout.fnmatch_lines(["*KeyError: 'the second attempt'"])
    result.stdout.fnmatch_lines(
        ["*a rerun (pytest --reruns) tests the same answer again and makes*"]
    )
    assert len(bench.records()) == 1


def test_a_failed_subtest_fails_its_test_without_another_call(bench):
    body = """
    for word in ("3", "\\x1b[31m"):
        with subtests.test(word=word):
            assert word in answer.text
"""
    bench.suite(plain(body, fixtures=", subtests"))
    gate = "--bench-gate=toy.no_answer <= 0"
    result = bench.run("--model=echo/any", "--bench-limit=1", gate)
    assert result.ret == 1
    [record] = bench.records()
    assert (record["outcome"], record["checks"]) == ("right", {"test_toy": False})
    assert bench.facts()["calls_paid"] == 1
    assert "contains 1 failed subtest" in result.stdout.str()
    assert "\x1b[31m" not in result.stdout.str()


def test_subtests_decide_the_outcome_without_a_metric(bench):
    bench.without_metric()
    body = "with subtests.test(): assert answer.text == '36'\n    with subtests.test(): assert {}"
    bench.suite(plain(body.format("case.example.id == 'ada'"), fixtures=", subtests"))
    bench.run("--model=echo/any", "--bench-limit=2")
    assert [record["outcome"] for record in bench.records()] == ["right", "wrong"]


# Reports


def test_every_report_shows_the_checks(two):
    result = two.run(MODEL, "--bench-allure", "--bench-gate=all.no_answer <= 0", "-k not page")
    shown = two.path / "run"
    assert "test&#95;tone</code> | 75.0 % |" in (shown / "summary.md").read_text("utf-8")
    assert "<code>toy::test_tone</code></th>" in (shown / "report.html").read_text("utf-8")
    environment = (shown / "allure/environment.properties").read_text("ascii")
    assert "toy\\:\\:test_tone.pass_rate=75.0 % of 4" in environment
    allure_results = [
        json.loads(path.read_text()) for path in (shown / "allure").glob("*-result.json")
    ]
    steps = {step["name"] for allure_result in allure_results for step in allure_result["steps"]}
    assert {"check test_tone: passed", "check test_tone: failed"} <= steps
    assert result.ret == 0


def test_checks_of_tests_with_the_same_name_include_the_file(bench):
    bench.suite(SUITE, "test_a.py")
    bench.suite(plain("assert 0"), "test_b.py")
    bench.run("--model=echo/any", "--bench-limit=1", "test_a.py", "test_b.py")
    checks = {"test_a.py::test_toy": True, "test_b.py::test_toy": False}
    assert bench.record()["checks"] == checks


def test_a_check_counts_its_cases_without_an_answer(bench):
    bench.suite(SUITE + plain("assert 1").replace("test_toy", "test_other"))
    model = bench.script(*ALL_THREE)
    bench.run(f"--model={model}").assert_outcomes(passed=3, failed=1, errors=2)
    assert bench.records()[-1]["checks"] == {"test_other": None, "test_toy": None}
    checks = bench.summary()["benchmarks"]["toys"]["datasets"]["toy"]["checks"]
    assert checks["test_other"] | {"ci95": 0} == {
        "pass_rate": 1.0, "n_examples": 2, "n_cases": 2, "failed": 0, "untold": 1, "ci95": 0,
    }  # fmt: skip
