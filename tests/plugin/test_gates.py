"""Gates and baselines of runs of pytest."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest

import pytest_tablebench
from pytest_tablebench.cli import main
from tests.support.gate_bench import GateBench, names, options, outcomes
from tests.support.matrix import reduced
from tests.support.present import present
from tests.support.toy_bench import CONFTEST, SUITE

GATE = "toy.performance >= 0.5"
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


def test_an_undecided_gate_says_that_there_are_too_few_examples(bench):
    """Half of the replies are right: even ten times as many examples may not decide .45."""
    bench.data(toy=[[f"e{n:02}", f"{n % 2} of {n}?", ["36"]] for n in range(16)])
    bench.suite()
    script = bench.script({"match": "Question: 0 of", "text": "36"}, {"default": "no"})
    common = [f"--model={script}", "--bench-gate=toy.performance >= 0.45"]
    for limit in ("8", "16"):
        result = bench.run(*common, f"--bench-limit={limit}", results=f"run-{limit}")
        [line] = [line for line in result.outlines if line.startswith("to decide toy.performance")]
        assert line.endswith("; there are only 16")


@pytest.mark.parametrize("extra", [[], ["--bench-stop-when-decided"]], ids=["all", "stop"])
def test_a_gate_on_a_benchmark_without_a_dataset_of_the_baseline_is_undecided(bench, extra):
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
    result = bench.run("--model=echo/any", "--bench-baseline=before", *options(gates), *extra)
    assert result.ret == 11
    assert row(result, gates[0])[0] == "undecided"
    assert row(result, gates[1])[0] == "holds"
    result.stdout.fnmatch_lines(
        ["*toys.performance >= 0.5: the files of other are missing here, but the baseline has it*"]
    )
    assert list(bench.facts()["missing"]) == ["other"]
    # Rejudging does not change it.
    assert main(["rejudge", "run", "--bench-baseline=before", f"--bench-gate={gates[0]}"]) == 11


# Invalid gates


@pytest.mark.parametrize(
    ("gate", "parts"),
    [
        ("toi.performance >= 0.5", ("toi", "toy")),
        ("toy.performance >= baseline", ("--bench-baseline",)),
    ],
)
def test_an_invalid_gate_is_refused_before_the_first_call(bench, gate, parts):
    result = bench.run(bench.model(outcomes()), f"--bench-gate={gate}")
    refused(result, "--bench-gate", *parts)
    assert not bench.asked()
    assert not (bench.path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--bench-stop-when-decided"], "--bench-gate"),
        (["--bench-stop-when-decided=soon", f"--bench-gate={GATE}"], "passes"),
        (["--bench-stop-when-decided", f"--bench-gate={GATE}", "--bench-repeats=2"], "repeats"),
    ],
)
def test_an_impossible_stopping_rule_is_refused(bench, arguments, part):
    refused(bench.run(bench.model(outcomes()), *arguments), "--bench-stop-when-decided", part)
    assert not bench.asked()


# Gates of options and ini files


def test_gates_can_be_set_in_pytest_ini(bench):
    bench.pytester.makeini(f"[pytest]\nbench_gate =\n    {GATE}\n    all.no_answer <= 0.01\n")
    result = bench.run(bench.model(outcomes(unanswered=1)))
    assert (result.ret, bench.states()) == (10, ["holds", "fails"])
    assert [gate["gate"] for gate in bench.gates()] == [GATE, "all.no_answer <= 0.01"]


def test_gates_can_be_set_in_pyproject(bench):
    bench.pytester.makepyprojecttoml(f'[tool.pytest]\nbench_gate = ["{GATE}"]\n')
    result = bench.run(bench.model(outcomes(wrong=30)))
    assert (result.ret, bench.states()) == (10, ["fails"])


def test_gates_of_the_command_line_replace_those_of_the_file(bench):
    bench.pytester.makeini(f"[pytest]\nbench_gate =\n    {GATE}\n")
    arguments = options(["toy.pass_rate >= 0.4", "all.no_answer <= 0.01"])
    result = bench.run(bench.model(outcomes()), *arguments)
    assert result.ret == 0
    assert [gate["gate"] for gate in bench.gates()] == [
        "toy.pass_rate >= 0.4",
        "all.no_answer <= 0.01",
    ]


# Terminal and run.json


@ALONE_OR_BOTH
def test_the_terminal_shows_figures_and_reason_of_each_gate(bench, workers):
    gates = options([GATE, "all.no_answer <= 0.05"])
    result = bench.way(workers)(bench.model(outcomes(wrong=3, unanswered=2)), *gates)
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


@pytest.mark.parametrize(
    ("price", "bound", "state"),
    [(0.5, 14.99, "fails"), (None, 100, "undecided")],
)
def test_a_gate_can_limit_the_cost(bench, price, bound, state):
    bench.run(bench.model({**outcomes(), "price": price}), f"--bench-gate=run.cost <= {bound}")
    assert bench.states() == [state]


# Against a baseline


def before(bench: GateBench, *arguments: str, **plan: int) -> None:
    assert bench.run(bench.model(outcomes(**plan), "old"), *arguments, results="before").ret < 2


@ALONE_OR_BOTH
def test_the_same_answers_hold_a_baseline_gate_with_a_margin(bench, workers):
    before(bench, wrong=9)
    arguments = ("--bench-baseline=before", f"--bench-gate={WITHIN}")
    result = bench.way(workers)(bench.model(outcomes(wrong=9)), *arguments)
    [gate] = bench.gates()
    assert (result.ret, gate["state"], gate["identical"]) == (0, "holds", True)
    # 1 - .025^(1/30) = .1157.
    assert row(result, WITHIN)[:5] == [
        "holds",
        "+0.0000",
        "-0.1157 to +0.1157",
        "-0.1200",
        "zero variance",
    ]
    assert "all paired cases have identical answers; " in result.stdout.str()


def test_a_baseline_without_gates_decides_nothing(bench):
    before(bench)
    result = bench.run(bench.model(outcomes(wrong=30)), "--bench-baseline=before")
    assert (result.ret, bench.gates()) == (1, [])
    assert "before" in result.stdout.str()


def test_a_baseline_without_a_run_is_refused(bench):
    (bench.path / "before").mkdir()
    result = bench.run(bench.model(outcomes()), "--bench-baseline=before")
    refused(result, "before")
    assert not bench.asked()


DAMAGE = {
    "no record can be read": lambda text: text.replace('{"schema"', 'x{"schema"'),
    "has no recorded case": lambda _: "",
}


@pytest.mark.parametrize(
    ("workers", "rule", "words"),
    reduced(
        product([0, 2], [(), ("--bench-stop-when-decided",)], DAMAGE),
        (0, (), "no record can be read"),
        (0, ("--bench-stop-when-decided",), "has no recorded case"),
    ),
)
def test_a_damaged_baseline_is_refused_before_the_first_call(bench, workers, rule, words):
    before(bench)
    calls_before = len(bench.asked())
    records = bench.path / "before/records.jsonl"
    records.write_text(DAMAGE[words](records.read_text("utf-8")), encoding="utf-8")
    arguments = ("--bench-baseline=before", f"--bench-gate={NO_WORSE}", *rule)
    result = bench.way(workers)(bench.model(outcomes()), *arguments)
    refused(result, "--bench-baseline", words)
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


# Repeats


def often(**outcome: str) -> dict[str, str]:
    """Return a plan: right answers at first, and in later repeats those of `r2`, `r3`."""
    later = {
        f"{name}/html/none/{repeat}": answer
        for name in names(30)
        for repeat, answer in outcome.items()
    }
    return outcomes() | later


def test_repeated_runs_are_compared(bench):
    bench.run(bench.model(often(r2="right"), "old"), "--bench-repeats=2", results="before")
    arguments = ("--bench-baseline=before", "--bench-repeats=2", f"--bench-gate={WITHIN}")
    same = bench.run(bench.model(often(r2="right")), *arguments, results="same")
    assert (same.ret, bench.gates("same")[0]["identical"]) == (0, True)
    worse = bench.run(bench.model(often(r2="wrong")), *arguments, results="worse")
    assert (worse.ret, bench.gates("worse")[0]["estimate"]) == (10, -0.5)
    once = bench.run(bench.model(often(), "x"), *arguments[::2], results="once")
    refused(once, "repeats: 2 against 1")


def test_rejudge_reads_repeats(bench, capsys):
    bench.run(bench.model(often(r2="wrong")), "--bench-repeats=2", f"--bench-gate={GATE}")
    capsys.readouterr()
    run = str(bench.path / "run")
    assert main(["rejudge", run, "--bench-gate", "toy.performance >= 0.1"]) == 0
    assert main(["rejudge", run, "--bench-gate", "toy.performance >= 0.9"]) == 10
    shown = capsys.readouterr().out
    assert re.search(r"toy.performance >= 0.9 +fails +0.5000 .* 30 ", shown)


# judge_gates


def test_judge_gates_returns_the_results_of_the_run(bench):
    bench.run(bench.model(outcomes(wrong=3)), f"--bench-gate={GATE}")
    lines = (bench.path / "run/records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    [result] = pytest_tablebench.judge_gates(records, [GATE])
    [kept] = bench.gates()
    assert (result.value, result.state, result.examples) == (0.9, "holds", 30)
    assert [result.value, list(present(result.interval))] == [kept["estimate"], kept["interval"]]
    assert "judge_gates" in dir(pytest_tablebench)


def test_equal_gates_are_judged_once(bench):
    """Otherwise Holm's correction would count them as two tests."""
    gates = ["toy.performance >= 0.5", "toy.performance>=50 %", "toy.performance >= .5"]
    result = bench.run(bench.model(outcomes()), *options(gates))
    assert [gate["gate"] for gate in bench.gates()] == gates[:1]
    assert "The gate holds." in result.outlines
