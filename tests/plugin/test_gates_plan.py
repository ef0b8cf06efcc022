"""`--bench-plan` shows how large a drop each gate detects."""

from __future__ import annotations

import re

import pytest

from tests.support.gate_bench import GateBench, options, outcomes

GATE = "toy.performance >= 0.5"
NO_WORSE = "toy.performance >= baseline"


@pytest.fixture
def bench(pytester: pytest.Pytester) -> GateBench:
    return GateBench(pytester)


def before(bench: GateBench, *arguments: str, **plan: int) -> None:
    assert bench.run(bench.model(outcomes(**plan), "old"), *arguments, results="before").ret < 2


def test_the_plan_shows_the_drop_that_each_gate_detects(bench):
    before(bench)
    calls_before = len(bench.asked())
    gates = options([GATE, "toy.performance >= baseline - 0.05", "all.no_answer <= 0.01"])
    result = bench.run(bench.model(outcomes()), "--bench-plan", "--bench-baseline=before", *gates)
    # (t_.975 + t_.80) with 29 degrees of freedom is 2.0452 + 0.8542; a right or wrong answer
    # has the standard deviation .5, the difference of two models sqrt(2 * .25 * .75) = .6124:
    # 2.8994 * .5 / sqrt(30) = .265 and 2.8994 * .6124 / sqrt(30) = .324.
    assert result.ret == 0
    place = result.outlines.index("tablebench: gates")
    assert [re.split(r" {2,}", line) for line in result.outlines[place + 1 : place + 6]] == [
        [
            "",
            GATE,
            "detects a drop of 26.5 points beyond the bound in 80 % of runs (30 examples; spread "
            "assumed)",
        ],
        [
            "",
            "holds for a model that is right in every question from 6 examples on; 30 are planned",
        ],
        [
            "",
            "toy.performance >= baseline - 0.05",
            "detects a drop of 32.4 points beyond the margin in 80 % of runs (30 examples; spread "
            "assumed)",
        ],
        [
            "",
            "holds for a model with the same scores as the baseline from 72 examples on; only 30 "
            "are planned",
        ],
        ["", "all.no_answer <= 0.01", "a count, judged without an interval"],
    ]
    assert len(bench.asked()) == calls_before


def test_the_plan_uses_the_spread_of_the_latest_runs(bench):
    grid = ("--bench-serializer=csv,html", "--bench-perturbation=none")
    gates = [GATE, "toy.robustness >= 0.5", NO_WORSE, "toy.robustness >= baseline - 0.05"]
    before(bench, *grid, wrong=15)
    # Examples of the baseline are right or wrong in both formats: 15 times 1 and 15 times 0, so
    # sd^2 = 30 * .25 / 29, and no range varies.
    arguments = ["--bench-plan", *grid, "--bench-baseline=before", *options(gates)]
    plan = outcomes(wrong=15) | dict.fromkeys([f"e{n:03}/html" for n in range(15)], "wrong")

    def seen() -> dict[str, str]:
        lines = bench.run(bench.model(plan), *arguments).outlines
        rows = [re.split(r" {2,}", line.strip()) for line in lines]
        return {row[0]: row[1] for row in rows if row[0] in gates}

    alone = seen()
    assert "30 examples; spread of the latest run" in alone[GATE]
    assert alone["toy.robustness >= 0.5"].startswith("the spread of robustness is unknown")
    assert "spread assumed" in alone[NO_WORSE]
    assert "a finished run of this model" in alone["toy.robustness >= baseline - 0.05"]
    for folder, changed in (("unlike", ["--bench-seed=5"]), ("alike", [])):
        bench.run(bench.model(plan), *grid, *changed, results=folder)
        together = seen()
        if folder == "unlike":
            assert together == alone
    # 15 examples lose one format of two: differences -.5 and 0, sd^2 = 30 * .0625 / 29 = .0647;
    # (2.0452 + .8542) * .2543 / sqrt(30) = .1346. Their robustness falls from 1 to 0: twice that.
    for gate, points in zip(gates[2:], ("13.5", "26.9"), strict=True):
        assert f"detects a drop of {points} points" in together[gate]
        assert "30 examples; spread of the two latest runs" in together[gate]


def test_the_plan_ignores_an_earlier_run_that_cannot_be_read(bench):
    before(bench, wrong=9)
    bench.run(bench.model(outcomes(wrong=3)), results="earlier")
    path = bench.path / "earlier" / "records.jsonl"
    path.write_bytes(b"{}\n")  # no record can be read
    arguments = ("--bench-plan", "--bench-baseline=before", f"--bench-gate={NO_WORSE}")
    result = bench.run(bench.model(outcomes()), *arguments)
    assert result.ret == 0
    assert "spread assumed" in result.stdout.str()


def test_the_plan_counts_the_selected_cases_of_one_model(bench):
    models = bench.model(outcomes(), "one"), bench.model(outcomes(), "two")
    arguments = ("--bench-plan", "--bench-limit=20", "--bench-repeats=3", f"--bench-gate={GATE}")
    result = bench.run(*models, *arguments)
    assert result.outlines.count("tablebench: gates") == 1
    assert "(20 examples; spread assumed)" in result.stdout.str()
