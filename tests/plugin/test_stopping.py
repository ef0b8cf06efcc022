"""Runs that end as soon as their gates are decided."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.support.gate_bench import GateBench, names, options
from tests.support.matrix import reduced
from tests.support.openai_server import OpenAIServer
from tests.support.runs import Script, run_inside

SERIALIZERS = ("html", "csv", "json", "markdown")
GRID = f"--bench-serializer={','.join(SERIALIZERS)}"
EXAMPLES, CASES = 60, 240
STOP = "--bench-stop-when-decided"

HOLDS, FAILS = "toy.performance >= 0.5", "toy.performance >= 0.6"

TWO_FORMATS = "--bench-serializer=html,csv"
"""The grid of runs to the end: half as many cases."""

AT_HAND = 2
"""Cases that xdist gives a worker at a time: the one that runs and the next."""


@pytest.fixture
def bench(pytester: pytest.Pytester) -> GateBench:
    return GateBench(pytester, EXAMPLES)


def plan(share: float) -> dict[str, str]:
    """Return a plan: this share of the examples is right in every format."""
    right = round(share * EXAMPLES)
    return {
        name: "right" if number < right else "wrong" for number, name in enumerate(names(EXAMPLES))
    }


def examples(case_ids: list[str]) -> list[str]:
    return [case_id.split("/")[1] for case_id in case_ids]


def in_order(bench: GateBench, *arguments: str) -> list[str]:
    """Return the ids of the planned cases in the order of collection."""
    listed = bench.run("--collect-only", "-q", *arguments).stdout.str()
    return [
        f"toy/{example}/{serializer}/none"
        for example, serializer in re.findall(r"\[(e\d+)-(\w+)-none\]", listed)
    ]


def after(bench: GateBench, needed: list[str]) -> int:
    """Return the number of cases that were recorded after the last needed one.

    How far each worker is before the decision depends on the machine; the number of cases after it
    does not.
    """
    recorded = [record["case_id"] for record in bench.records()]
    assert set(needed) <= set(recorded)
    return len(recorded) - max(map(recorded.index, needed)) - 1


FLAKY = """

class Flaky(Planned):
    asked = set()

    def complete(self, request):
        if request.case_id not in self.asked:
            self.asked.add(request.case_id)
            raise ModelError("too late", reason="timeout")
        return super().complete(request)


def pytest_tablebench_register_provider(register):
    register("flaky", lambda model, settings: Flaky(model))
"""


def test_only_the_last_attempt_of_a_case_counts_for_stopping(bench):
    bench.adapt(("def pytest_tablebench_register_provider", "def _"), add=FLAKY)
    bench.examples(10)
    bench.model(plan(1))
    gates = options(["all.no_answer <= 0", "toy.performance >= 0.1"])
    result = bench.run("--model=flaky/x", STOP, "-p", "rerunfailures", "--reruns=1", *gates)
    assert (result.ret, bench.states()) == (0, ["holds", "holds"])
    assert "rerun" in result.outlines[-1]
    assert len(bench.records()) >= 10


# By passes


@pytest.mark.parametrize(
    ("share", "gate", "expected", "workers"),
    [(0.9, HOLDS, (0, "holds"), 0), (0.2, FAILS, (10, "fails"), 1)],
    ids=["holds-n0", "fails-n1"],
)
def test_a_run_ends_after_the_pass_that_decides_its_gates(bench, share, gate, expected, workers):
    # After one pass over 60 examples the interval at .002 is about 3.09 standard errors wide
    # on each side: .9 -/+ .12 and .2 -/+ .16, far from both bounds.
    model = bench.model({**plan(share), "price": 0.5})
    gates = options([gate, "all.no_answer <= 0.01"])
    result = bench.way(workers)(model, GRID, STOP, *gates)
    # Saved cases do not count as missing answers.
    assert (result.ret, bench.states()) == (expected[0], [expected[1], "holds"])
    assert bench.gates()[1]["n_cases"] == len(bench.records())
    assert bench.facts()["stop_rule"] == "passes"
    check_saved(bench, result)
    case_ids = bench.asked()
    # The first pass asks every example once, and decides.
    first = in_order(bench, model, GRID, STOP, *gates)[:EXAMPLES]
    assert sorted(examples(first)) == names(EXAMPLES)
    if workers:
        assert after(bench, first) < AT_HAND * workers
    else:
        assert case_ids == first
    formats = Counter(case_id.split("/")[2] for case_id in first)
    assert set(formats) == set(SERIALIZERS)
    # Each example drew its format: all four within 4 standard deviations of 15.
    assert all(abs(count - 15) < 4 * 3.4 for count in formats.values())
    assert sorted(case_ids) == sorted(record["case_id"] for record in bench.records())
    assert bench.gates()[0]["n_examples"] == EXAMPLES
    assert bench.gates()[0]["estimate"] == pytest.approx(share)
    assert "after pass 1 of 4" in " ".join(bench.gates()[0]["notes"])


def check_saved(bench: GateBench, result: pytest.RunResult) -> None:
    """Check that cases which were not asked are saved, and no missing answers."""
    facts, records = bench.facts(), bench.records()
    done = len(records)
    assert facts["cases_recorded"] == done
    assert (facts["status"], facts["cases_planned"]) == ("incomplete", CASES)
    assert facts["cases_saved"] == CASES - done
    toys = bench.summary()["benchmarks"]["toys"]
    assert (toys["n_cases"], toys["no_answer"]) == (done, 0)
    assert {record["outcome"] for record in records} == {"right", "wrong"}
    text = " ".join(result.outlines)
    assert f"All gates were decided after {done} of {CASES} planned cases: {CASES - done} (" in text
    # Every call costs half a dollar.
    assert f"At 0.500000 USD a call this saved about {(CASES - done) / 2:.2f} USD." in text
    assert "every gate is decided" in text


def test_a_run_ends_only_when_every_gate_is_decided(bench):
    gates = options([HOLDS, "toy.robustness >= 0.5"])
    result = bench.run(bench.model(plan(0.9)), TWO_FORMATS, STOP, *gates)
    assert (result.ret, bench.states()) == (0, ["holds", "holds"])
    facts = bench.facts()
    counts = facts["cases_recorded"], facts["cases_saved"], facts["status"]
    assert counts == (2 * EXAMPLES, 0, "complete")
    assert f"The gates needed all {2 * EXAMPLES} planned cases." in result.outlines
    # Decided by the very last case: nothing was saved, so nothing is interrupted.
    assert "Interrupted" not in result.stdout.str()


def test_a_run_over_a_selection_plans_only_its_cases(bench):
    result = bench.run(bench.model(plan(1)), GRID, STOP, f"--bench-gate={HOLDS}", "-k", "csv")
    assert (result.ret, len(bench.records())) == (0, EXAMPLES)
    assert bench.facts()["cases_planned"] == EXAMPLES


def test_two_models_alternate_until_both_are_decided(bench):
    models = bench.model(plan(0.9), "good"), bench.model(plan(0.2), "bad")
    result = bench.run(*models, TWO_FORMATS, STOP, f"--bench-gate={HOLDS}")
    assert result.ret == 10
    assert bench.states("run/plan-good") == ["holds"]
    assert bench.states("run/plan-bad") == ["fails"]
    case_ids = bench.asked()
    assert len(case_ids) == 2 * EXAMPLES
    for first, two in zip(case_ids[::2], case_ids[1::2], strict=True):
        assert first.rpartition("/")[0] == two.rpartition("/")[0]


def test_a_gate_on_unplanned_cases_stays_undecided_and_does_not_delay_the_stop(bench):
    rows = [[name, f"Question {name}?", [str(int(name[1:]))]] for name in names(EXAMPLES)]
    bench.data(toy=rows, other=rows)
    # In an ini file, because on the command line this gate would be refused.
    gates = ["[pytest]", "bench_gate =", f"    {HOLDS}", "    other.performance >= 0.5"]
    bench.pytester.makeini("\n".join(gates))
    result = bench.run(bench.model(plan(1)), GRID, STOP)
    assert (result.ret, bench.states()) == (11, ["holds", "undecided"])
    assert bench.gates()[1]["reason"].startswith("no case of other was asked")
    assert len(bench.records()) < CASES
    assert "All gates with planned cases were decided after" in result.stdout.str()


# Calls by the engine


@pytest.mark.parametrize("workers", reduced([0, 2], 1))
def test_a_stopped_run_makes_few_calls_ahead(tmp_path, workers):
    count = 40
    with OpenAIServer(Script(count)) as server:
        run = run_inside(
            tmp_path,
            server,
            "--bench-serializer=html,json,markdown",  # and csv
            "--bench-connections=2",
            STOP,
            "--bench-gate=starter.performance >= 0.5",
            *("-n", str(workers)),
            count=count,
        )
    # All answers are right: decided after one of four passes. In every process that runs cases the
    # window calls 2 x 2 cases ahead.
    ahead = 4 + AT_HAND
    assert run.exit_code == 0, run.output
    assert count <= len(run.records) <= server.calls
    assert server.calls <= len(run.records) + max(1, workers) * ahead
    assert workers or len(run.records) == count
    assert run.facts["cases_saved"] == 4 * count - len(run.records)
    assert {record.outcome for record in run.records.values()} == {"right"}
    assert f"of {4 * count} planned cases" in run.output
