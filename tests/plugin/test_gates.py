"""Gates and baselines of runs of pytest."""

from __future__ import annotations

import re

import pytest

import pytest_tablebench
from pytest_tablebench.cli import main
from tests.support.gate_bench import GateBench, options, outcomes
from tests.support.matrix import reduced
from tests.support.present import present
from tests.support.toy_bench import CONFTEST, SUITE

GATE = "toy.performance >= 0.5"
GATES = [GATE, "all.no_answer <= 0.05"]
NO_WORSE = "toy.performance >= baseline"
WITHIN = f"{NO_WORSE} - 0.12"

MISSING_FILES = """
if name == "other" and (HERE / "gone").exists():
            raise DataMissing("other: no files")
"""

ALONE_OR_BOTH = pytest.mark.parametrize("workers", reduced([0, 2], 0))
"""Other tests show that workers make no difference here."""


@pytest.fixture
def bench(pytester: pytest.Pytester) -> GateBench:
    return GateBench(pytester)


def row(result: pytest.RunResult, gate: str) -> list[str]:
    """Return the cells of a gate's row on the terminal, without its name."""
    [line] = [line for line in result.outlines if line.startswith(f"{gate}  ")]
    return re.split(r" {2,}", line)[1:]


def refused(result: pytest.RunResult, *parts: str) -> None:
    """Check that a run ended with a usage error in one line, without a traceback."""
    assert result.ret == 4
    lines = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert len(lines) == 1, result.stderr.str()
    for part in parts:
        assert part in lines[0]
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_a_gate_on_a_benchmark_without_a_dataset_of_the_baseline_is_undecided(bench):
    rows = [[f"e{number:03}", f"Which is {number}?", ["36"]] for number in range(40)]
    bench.data(toy=rows, other=rows)
    bench.pytester.makeconftest(
        CONFTEST.replace('log("open", name)', MISSING_FILES.strip())
        + "\nfrom pytest_tablebench.errors import DataMissing\n"
    )
    bench.suite(
        SUITE
        + '@pytest.mark.tablebench("other")\n'
        + "def test_other(case, answer):\n    assert_exact_match(case, answer)\n"
    )
    bench.run("--model=echo/any", results="before")
    (bench.path / "gone").touch()
    gates = ["toys.performance >= 0.5", "toy.performance >= 0.5"]
    result = bench.run("--model=echo/any", "--bench-baseline=before", *options(gates))
    assert result.ret == 11
    assert row(result, gates[0])[0] == "undecided"
    assert row(result, gates[1])[0] == "holds"
    result.stdout.fnmatch_lines(
        ["*toys.performance >= 0.5: the files of other are missing here, but the baseline has it*"]
    )
    assert list(bench.facts()["missing"]) == ["other"]
    # Rejudging does not change it.
    assert main(["rejudge", "run", "--bench-baseline=before", f"--bench-gate={gates[0]}"]) == 11


# Gates of options and ini files


def test_gates_of_the_command_line_replace_those_of_the_file(bench):
    model = bench.model(outcomes(unanswered=1))
    bench.pytester.makeini(f"[pytest]\nbench_gate =\n    {GATE}\n    all.no_answer <= 0.01\n")
    result = bench.run(model, results="by-file")
    assert (result.ret, bench.states("by-file")) == (10, ["holds", "fails"])
    assert [gate["gate"] for gate in bench.gates("by-file")] == [GATE, "all.no_answer <= 0.01"]
    # Equal gates are judged once: Holm's correction would count them as several tests.
    gates = ["toy.pass_rate >= 0.4", "toy.pass_rate>=40 %", "toy.pass_rate >= .4"]
    result = bench.run(model, *options(gates), results="by-line")
    assert (result.ret, [gate["gate"] for gate in bench.gates("by-line")]) == (0, gates[:1])
    assert "The gate holds." in result.outlines


# Terminal and run.json


@ALONE_OR_BOTH
def test_the_terminal_shows_figures_and_reason_of_each_gate(bench, workers):
    result = bench.way(workers)(bench.model(outcomes(wrong=3, unanswered=2)), *options(GATES))
    kept, count = bench.gates()
    # 25 of the 28 examples with an answer are right.
    assert (kept["state"], kept["n_examples"], kept["n_left_out"]) == ("holds", 28, 2)
    expected = {"gate": GATE, "state_point": "holds", "bound": 0.5, "level": 0.95}
    assert expected.items() <= kept.items()
    facts = bench.facts()
    assert (facts["exit_code"], facts["cases_saved"], facts["status"]) == (10, 0, "complete")
    assert kept["estimate"] == pytest.approx(25 / 28)
    low, high = kept["interval"]
    assert row(result, GATE) == [
        "holds",
        "0.8929",
        f"{low:.4f} to {high:.4f}",
        "0.5000",
        kept["method"],
        "28",
        "2",
    ]
    # 2 of 30 cases have no answer: a count, without an interval.
    assert (count["state"], count["method"]) == ("fails", "count")
    assert row(result, "all.no_answer <= 0.05")[:2] == ["fails", "0.0667"]
    assert "30 cases" in row(result, "all.no_answer <= 0.05")
    text = result.stdout.str()
    assert f"{GATE}: {kept['reason']}" in text
    assert f"all.no_answer <= 0.05: {count['reason']}" in text
    assert "2 of 30 cases have no answer (0.0667)" in count["reason"]
    assert "1 of 2 gates fails." in result.outlines
    assert "detects a drop" not in text  # only a plan says so
    assert result.ret == 10
    # The public function judges the records alike.
    assert "judge_gates" in dir(pytest_tablebench)
    judged, _ = pytest_tablebench.judge_gates(bench.records(), GATES)
    assert (judged.value, judged.state, judged.examples) == (kept["estimate"], "holds", 28)
    assert list(present(judged.interval)) == kept["interval"]


# Against a baseline


def before(bench: GateBench, *arguments: str, **plan: int) -> None:
    assert bench.run(bench.model(outcomes(**plan), "old"), *arguments, results="before").ret < 2


def test_a_baseline_without_gates_decides_nothing(bench):
    before(bench)
    result = bench.run(bench.model(outcomes(wrong=30)), "--bench-baseline=before")
    assert (result.ret, bench.gates()) == (1, [])
    assert "before" in result.stdout.str()


DAMAGE = {
    "no record can be read": lambda text: text.replace('{"schema"', 'x{"schema"'),
    "has no recorded case": lambda _: "",
}


@pytest.mark.parametrize("words", DAMAGE)
def test_a_damaged_baseline_is_refused_before_the_first_call(bench, words):
    before(bench)
    calls_before = len(bench.asked())
    records = bench.path / "before/records.jsonl"
    records.write_text(DAMAGE[words](records.read_text("utf-8")), encoding="utf-8")
    arguments = ("--bench-baseline=before", f"--bench-gate={NO_WORSE}")
    refused(bench.run(bench.model(outcomes()), *arguments), "--bench-baseline", words)
    assert len(bench.asked()) == calls_before


@ALONE_OR_BOTH
def test_a_damaged_line_of_the_baseline_is_skipped_and_reported_once(bench, workers):
    before(bench)
    records = bench.path / "before/records.jsonl"
    records.write_text(records.read_text("utf-8").replace("{", "x{", 1), encoding="utf-8")
    arguments = ("--bench-baseline=before", f"--bench-gate={WITHIN}")
    result = bench.way(workers)(bench.model(outcomes()), *arguments)
    lines = [line for line in result.outlines if "is damaged" in line]
    assert lines == [
        f"tablebench: {records}: line 1 is damaged and left out; its case counts as not recorded"
    ]
    assert (result.ret, bench.states()) == (0, ["holds"])


@ALONE_OR_BOTH
def test_an_unlike_baseline_is_refused_before_the_first_call(bench, workers):
    before(bench, "--bench-seed=1")
    calls_before = len(bench.asked())
    arguments = ("--bench-baseline=before", f"--bench-gate={WITHIN}")
    result = bench.way(workers)(bench.model(outcomes()), *arguments)
    refused(result, "seed: 1 against 0", "--bench-allow-unlike")
    assert len(bench.asked()) == calls_before
    assert not (bench.path / "run").exists()
    allowed = bench.way(workers)(bench.model(outcomes()), *arguments, "--bench-allow-unlike")
    assert (allowed.ret, bench.states()) == (0, ["holds"])
