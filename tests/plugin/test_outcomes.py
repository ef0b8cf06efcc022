"""Outcomes of cases: right, wrong, no answer; scores and thresholds."""

from __future__ import annotations

import pytest

from tests.support.outcomes import ALL_THREE, PLAIN, plain
from tests.support.toy_bench import SCORED, SUITE


def outcomes(bench, folder="run"):
    return {record["example_id"]: record["outcome"] for record in bench.records(folder)}


# The three outcomes


def test_right_wrong_and_no_answer(bench):
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(bench) == {"ada": "right", "bo": "wrong", "cy": "no_answer"}
    right, wrong, none = bench.records()
    assert (right["score"], right["passed"], right["reason"]) == (1.0, True, None)
    assert (wrong["score"], wrong["passed"], wrong["reason"]) == (0.0, False, None)
    assert (none["score"], none["passed"], none["reason"]) == (None, None, "content_filter")
    scope = bench.summary()["benchmarks"]["toys"]["datasets"]["toy"]
    assert (scope["performance"], scope["pass_rate"]) == (0.5, 0.5)  # of ada and bo
    assert scope["no_answer"] == pytest.approx(1 / 3)
    assert (scope["n_cases"], scope["reasons"]) == (3, {"content_filter": 1})


def test_without_any_answer_there_is_no_performance(bench):
    result = bench.run("--model=echo/refuses")
    result.assert_outcomes(errors=3)
    scope = bench.summary()["benchmarks"]["toys"]
    assert scope["performance"] is None
    assert scope["pass_rate"] is None
    assert scope["no_answer"] == 1.0
    result.stdout.re_match_lines(["toy +- +- +- +- +100.0 % +3 +3$"])
    result.stdout.fnmatch_lines(["toy: no answer by reason: content_filter 3"])
    totals = ("calls_paid", "prompt_tokens", "completion_tokens", "cost_usd")
    assert [bench.facts()[name] for name in totals] == [0, None, None, None]


def test_a_truncated_reply_is_scored_and_flagged(bench):
    model = bench.script(
        {"match": "Ada", "text": "36", "finish_reason": "length"},
        name="cut.jsonl",
    )
    bench.run(f"--model={model}", "--bench-limit=1").assert_outcomes(passed=1)
    record = bench.record()
    assert (record["outcome"], record["score"], record["flags"]) == ("right", 1.0, ["truncated"])


@pytest.mark.parametrize(("reply", "shown"), [("", "(an empty reply)"), (" \n", " \\n")])
def test_an_empty_reply_is_no_answer_and_wrong_as_published_code_reads_it(bench, reply, shown):
    model = bench.script({"default": reply})
    result = bench.run(f"--model={model}", "--bench-limit=1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no answer (empty): the reply is complete and contains no text"])
    assert bench.record()["raw"] == reply
    assert bench.summary()["benchmarks"]["toys"]["datasets"]["toy"]["reasons"] == {"empty": 1}
    result = bench.run(
        f"--model={model}", "--bench-limit=1", "--bench-compat=reference", results="other"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"got:      {shown}  (score 0.00)"])


# Plain asserts


def test_without_a_metric_plain_asserts_decide(bench):
    bench.without_metric()
    bench.suite(plain("assert '3' in answer.text"))
    model = bench.script(*ALL_THREE)
    bench.run(f"--model={model}").assert_outcomes(passed=1, failed=1, errors=1)
    right, wrong, none = bench.records()
    assert (right["metric"], right["score"], right["passed"]) == ("assertion", 1.0, True)
    assert (wrong["metric"], wrong["score"], wrong["passed"]) == ("assertion", 0.0, False)
    assert (none["outcome"], none["score"]) == ("no_answer", None)
    assert right["prediction"] is None
    assert right["raw"] == "36"


def test_expected_failures_keep_their_outcome(bench):
    bench.suite(SUITE.replace("def ", "@pytest.mark.xfail\ndef "))
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    result.assert_outcomes(xpassed=1, xfailed=2)
    assert result.ret == 0
    assert outcomes(bench) == {"ada": "right", "bo": "wrong", "cy": "no_answer"}


def test_a_strictly_expected_failure_that_passes_is_right(bench):
    bench.suite(SUITE.replace("def ", "@pytest.mark.xfail(strict=True)\ndef "))
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(failed=1)
    assert outcomes(bench) == {"ada": "right"}


def test_skipped_cases_have_no_answer(bench):
    bench.suite(SUITE.replace("def ", "@pytest.mark.skip(reason='not today')\ndef "))
    result = bench.run("--model=echo/any", "-rs")
    result.assert_outcomes(skipped=3)
    assert result.ret == 0
    reasons = [(record["outcome"], record["reason"]) for record in bench.records()]
    assert reasons == [("no_answer", "skipped")] * 3
    assert bench.facts()["status"] == "complete"
    assert bench.calls("ask") == []
    result.stdout.fnmatch_lines(["SKIPPED*not today"])


def test_a_case_is_skipped_only_if_no_test_has_its_answer(bench):
    skipped = SUITE.replace("def test_toy", "@pytest.mark.skip\ndef test_first")
    other = SUITE.partition("@pytest.mark")[1:]
    bench.suite(skipped + "".join(other))
    bench.run(f"--model={bench.script(*ALL_THREE)}").assert_outcomes(
        passed=1, failed=1, errors=1, skipped=3
    )
    assert outcomes(bench) == {"ada": "right", "bo": "wrong", "cy": "no_answer"}
    assert bench.records()[2]["reason"] == "content_filter"


def test_an_answer_is_recorded_though_its_test_skips(bench):
    bench.suite(plain("pytest.skip('not today')"))
    bench.run("--model=echo/any", "-rs").assert_outcomes(skipped=3)
    assert outcomes(bench) == {"ada": "right", "bo": "wrong", "cy": "wrong"}
    assert [record["checks"] for record in bench.records()] == [{}, {}, {}]
    assert bench.facts()["status"] == "complete"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("1 / 0", "*ZeroDivisionError: division by zero"),
        ("assert len(answer.text) > 5", "E*assert 2 > 5"),
    ],
)
def test_a_failure_in_the_test_fails_it_and_moves_no_score(bench, body, line):
    bench.suite(plain(body))
    result = bench.run("--model=echo/any", "--bench-limit=1", "--bench-gate=toy.no_answer <= 0")
    result.assert_outcomes(failed=1)
    assert result.ret == 1
    record = bench.record()
    assert (record["outcome"], record["score"], record["reason"]) == ("right", 1.0, None)
    assert (record["passed"], record["checks"]) == (True, {"test_toy": False})
    result.stdout.fnmatch_lines([line, "*test_suite.py:*"])


@pytest.mark.parametrize("order", ["case, answer, other", "other, case, answer"])
def test_a_failed_fixture_is_an_error_and_no_wrong_answer(bench, order):
    source = SUITE.replace("case, answer):", f"{order}):")
    bench.suite(f"{source}\n\n@pytest.fixture\ndef other():\n    raise OSError('broken')\n")
    gate = "--bench-gate=toy.no_answer <= 1"
    result = bench.run("--model=echo/any", "--bench-limit=1", gate)
    result.assert_outcomes(errors=1)
    assert result.ret == 1
    record = bench.record()
    is_called = order.startswith("case")
    result_fields = record["outcome"], record["reason"], record["score"]
    assert result_fields == (
        ("right", None, 1.0) if is_called else ("no_answer", "test_error", None)
    )
    assert record["checks"] == {"test_toy": False}
    assert bench.facts()["status"] == "complete"
    assert len(bench.calls("ask")) == is_called
    result.stdout.fnmatch_lines(["*broken*"])


def test_a_failing_teardown_keeps_the_case_right(bench):
    source = SUITE.replace("case, answer):", "case, answer, other):")
    bench.suite(
        f"{source}\n\n@pytest.fixture\ndef other():\n    yield\n    raise OSError('late')\n"
    )
    result = bench.run("--model=echo/any", "--bench-limit=1")
    result.assert_outcomes(passed=1, errors=1)
    assert bench.record()["outcome"] == "right"


def test_a_case_whose_answer_is_never_requested_has_no_answer(bench):
    bench.suite(PLAIN.format(body="pass", marks="", fixtures="").replace(", answer", ""))
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(passed=1)
    record = bench.record()
    assert (record["outcome"], record["reason"]) == ("no_answer", "not_asked")


def test_a_table_that_cannot_be_perturbed_has_no_answer(bench):
    result = bench.run(
        "--model=echo/any",
        "--bench-limit=1",
        "--bench-perturbation=duplicate_rows[row_indices=[7],times=2]",
    )
    result.assert_outcomes(errors=1)
    assert bench.record()["reason"] == "unusable_table"
    result.stdout.fnmatch_lines(["no answer (unusable_table): *row_indices*7*"])
    assert bench.calls("ask") == []


def test_too_few_demonstrations_are_all_shown(bench):
    # The pool has three, but two of them are the same.
    bench.adapt(("range(1, 6)", "(1, 1, 2)"))
    result = bench.run("--model=echo/any", "--bench-limit=1", "--bench-shots=3")
    result.assert_outcomes(passed=1)
    [(_, prompt)] = bench.calls("ask")
    assert [prompt.count(f"Demonstration {number}?") for number in (1, 2, 3)] == [1, 1, 0]


# Thresholds

HALF = {"default": "36, 99"}
"""`36, 99` for the one expected item 36: F1 over items = 2 * 1 / (2 + 1) = 0.667."""
PARTIAL = """
from pytest_tablebench import Score, score

def pytest_tablebench_register_metric(register):
    def items(prediction, references, **_):
        return Score(score("exact_match", prediction, references).parts["partial"], {})
    register("items", items)
"""


@pytest.fixture
def scored(bench):
    """The toy dataset, scored by F1 over items."""
    bench.adapt(('metric = "exact_match"', 'metric = "items"'), add=PARTIAL)
    return bench


@pytest.mark.parametrize(
    ("marker", "option", "ini", "passes"),
    [
        ("", None, None, False),  # the dataset's 1.0
        (", threshold=0.66", None, None, True),
        (", threshold=0.67", "toy=0.66", None, True),
        (", threshold=0.1", None, "toy=0.67", False),
        ("", "toy=0.67", "toy=0.1", False),
        (", threshold=0", None, None, True),
    ],
)
def test_thresholds_can_be_set_by_marker_option_and_ini(scored, marker, option, ini, passes):
    bench = scored
    bench.suite(SCORED.replace('"toy"', f'"toy"{marker}'))
    if ini:
        bench.pytester.makeini(f"[pytest]\nbench_threshold = {ini}\n")
    extra = [f"--bench-threshold={option}"] if option else []
    result = bench.run(f"--model={bench.script(HALF)}", "--bench-limit=1", *extra)
    result.assert_outcomes(**{"passed" if passes else "failed": 1})
    record = bench.record()
    assert record["score"] == pytest.approx(2 / 3)
    assert record["passed"] is passes
    toys = bench.summary()["benchmarks"]["toys"]
    assert (toys["pass_rate"], toys["performance"]) == (passes, pytest.approx(2 / 3))
