"""`--bench-repeats`: ids, records, the answer store, workers and reports."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import CONFTEST, Bench

FICKLE = """

class Fickle:
    def complete(self, request):
        log("asked", request.case_id, request.repeat, request.key())
        name = request.case_id.split("/")[1]
        if (name, request.repeat) == ("cy", 2):
            raise ModelError("not this one", reason="content_filter")
        right = {"ada": "36", "bo": "41", "cy": "12"}[name]
        wrong = name == "cy" or (name == "bo" and request.repeat % 2 == 0)
        return Reply("0" if wrong else right, finish_reason="stop", prompt_tokens=10,
                     completion_tokens=1)


def pytest_tablebench_register_provider(register):
    register("echo", lambda model, settings: Echo(model))
    register("fickle", lambda model, settings: Fickle())
"""
"""
    repeat  1      2          3        pass@1  pass@2  pass@3    pass^2  pass^3
    ada     right  right      right    1       1       1         1       1
    bo      right  wrong      right    2/3     1       1         1/3     0
    cy      wrong  no answer  wrong    0       0       left out  0       left out
"""
EXAMPLES = ("ada", "bo", "cy")


@pytest.fixture
def fickle(bench: Bench) -> Bench:
    """The toy bench with a model whose answers change with the repeat."""
    bench.pytester.makeconftest(CONFTEST + FICKLE)
    return bench


def call_repeats(bench: Bench) -> list[tuple[str, int]]:
    return [(case_id, repeat) for case_id, repeat, _ in bench.calls("asked")]


def header(result: pytest.RunResult) -> str:
    [line] = [line for line in result.outlines if line.startswith("tablebench: model")]
    return line


# Ids and records


def test_ids_contain_the_repeat(fickle):
    result = fickle.run("--collect-only", "-q", "--model=fickle/x", "--bench-repeats=3")
    assert [line for line in result.outlines if "::" in line] == [
        f"test_suite.py::test_toy[{example}-html-none{ending}]"
        for example in EXAMPLES
        for ending in ("", "-r2", "-r3")
    ]


def test_records_contain_the_repeat(fickle):
    result = fickle.run("--model=fickle/x", "--bench-repeats=3")
    result.assert_outcomes(passed=5, failed=3, errors=1)
    assert [(record["case_id"], record["repeat"]) for record in fickle.records()] == [
        (f"toy/{example}/html/none{ending}", repeat)
        for example in EXAMPLES
        for repeat, ending in ((1, ""), (2, "/r2"), (3, "/r3"))
    ]
    assert [record["passed"] for record in fickle.records()] == [
        *(True, True, True),
        *(True, False, True),
        *(False, None, False),
    ]
    facts = fickle.facts()
    assert (facts["repeats"], facts["cases_planned"], facts["cases_recorded"]) == (3, 9, 9)
    assert facts["status"] == "complete"
    assert len({key for _, _, key in fickle.calls("asked")}) == 9
    figures = fickle.summary()["benchmarks"]["toys"]["datasets"]["toy"]["repeats"]
    assert (figures["n"], figures["left_out"]) == (3, {"1": 0, "2": 0, "3": 1})
    assert [line for line in result.outlines if "pass@" in line] == [
        "toy: asked 3 times: pass@1 55.6 %, pass@3 100.0 %, pass^3 50.0 %; verdicts differ in "
        "33.3 % of configurations, scores by 0.333 on average (sd 0.192); 1 with fewer than 3 "
        "answers left out of pass@3 and pass^3"
    ]


def test_the_repeat_follows_the_model_in_ids(bench):
    bench.run("--bench-limit=1", "--model=echo/one", "--model=echo/two", "--bench-repeats=2")
    for name in ("one", "two"):
        assert [record["case_id"] for record in bench.records(f"run/echo-{name}")] == [
            f"toy/ada/html/none/echo-{name}",
            f"toy/ada/html/none/echo-{name}/r2",
        ]


def test_a_repeat_can_be_selected(fickle):
    fickle.run("--model=fickle/x", "--bench-repeats=3", "-k", "r2")
    assert call_repeats(fickle) == [(f"toy/{example}/html/none/r2", 2) for example in EXAMPLES]
    toy = fickle.summary()["benchmarks"]["toys"]["datasets"]["toy"]
    assert (toy["n_cases"], toy["performance"]) == (3, 0.5)  # ada right, bo wrong
    assert "repeats" not in toy


# The model and the store


def test_a_repeated_run_asks_only_for_missing_answers(fickle):
    stored = ("--model=fickle/x", "--bench-store=answers")
    fickle.run(*stored, results="once")
    assert len(call_repeats(fickle)) == 3
    result = fickle.run(*stored, "--bench-repeats=3", results="often")
    assert header(result).endswith("; store answers; results often")
    assert [repeat for _, repeat in call_repeats(fickle)[3:]] == [2, 3, 2, 3, 2, 3]
    records = fickle.records("often")
    assert [record["case_id"] for record in records if record["from_store"]] == [
        f"toy/{example}/html/none" for example in EXAMPLES
    ]
    assert fickle.facts("often")["store_hits"] == 3
    before, after = (
        {record["case_id"]: record["raw"] for record in fickle.records(name)}
        for name in ("once", "often")
    )
    assert before.items() <= after.items()
    fickle.run(*stored, "--bench-repeats=3", results="again")
    assert call_repeats(fickle)[9:] == [("toy/cy/html/none/r2", 2)]
    assert fickle.summary("often") == fickle.summary("again")
    # A replay answers every stored repeat.
    result = fickle.run(*stored, "--bench-repeats=4", "--bench-replay", results="replay")
    assert header(result).endswith("; store replay; results replay")
    assert len(call_repeats(fickle)) == 10
    missing = [record for record in fickle.records("replay") if record["score"] is None]
    assert [(record["example_id"], record["repeat"]) for record in missing] == [
        *(("ada", 4), ("bo", 4), ("cy", 2), ("cy", 4)),
    ]
    assert {record["reason"] for record in missing} == {"not_stored"}
