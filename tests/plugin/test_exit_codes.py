"""Exit codes of runs with gates: 0, 10 or 11, and pytest's own codes.

The exact 95 % interval of 30 right answers is .025 ** (1/30) = .884 to 1, of 28 right answers .877
to 1, of 27 right answers out of 30 .735 to .979. So under each plan below `>= 0.5` holds, `<= 0.5`
fails, and `>= 0.9` is undecided.
"""

from __future__ import annotations

from itertools import product

import pytest

from pytest_tablebench.results import RunFolder, read_records
from tests.support.gate_bench import PLANNED, GateBench, options, outcomes
from tests.support.matrix import reduced
from tests.support.toy_bench import CONFTEST

GATES = {
    "holds": ("toy.performance >= 0.5", 0),
    "fails": ("toy.performance <= 0.5", 10),
    "undecided": ("toy.performance >= 0.9", 11),
}
PLANS = {
    "all right": outcomes(),
    "failed and errors": outcomes(wrong=3, unanswered=2),
}
HOLDS = "--bench-gate=toy.performance >= 0.5"
FAILS = "--bench-gate=toy.performance <= 0.5"

ALONE_OR_BOTH = pytest.mark.parametrize("workers", reduced([0, 2], 0))
"""Other tests show that workers make no difference here."""


@pytest.fixture
def bench(pytester: pytest.Pytester) -> GateBench:
    return GateBench(pytester)


def late(outcome: str, *, after: int = 10) -> dict[str, str]:
    """Return a plan: right answers, and another outcome after the first ones."""
    return {name: "right" if number < after else outcome for number, name in enumerate(outcomes())}


def once(outcome: str, *, at: int = 10) -> dict[str, str]:
    """Return a plan: right answers, except for one example."""
    return {name: outcome if number == at else "right" for number, name in enumerate(outcomes())}


# The gates set the exit code, whatever the items did.


@pytest.mark.parametrize(
    ("state", "plan"),
    [("holds", "failed and errors"), ("fails", "all right"), ("undecided", "failed and errors")],
)
def test_the_gates_set_the_exit_code(bench, state, plan):
    gate, code = GATES[state]
    result = bench.run(bench.model(PLANS[plan]), *options([gate]))
    assert (bench.states(), result.ret, bench.facts()["exit_code"]) == ([state], code, code)


@pytest.mark.parametrize(
    ("body", "gate", "code"), [("assert 0", HOLDS, 1), ("assert 0", FAILS, 10), ("pass", HOLDS, 0)]
)
def test_a_failed_test_without_a_case_sets_exit_code_one_unless_a_gate_fails(
    bench, body, gate, code
):
    bench.suite(f"def test_other():\n    {body}\n", name="test_other.py")
    assert bench.run(bench.model(outcomes(wrong=3)), gate).ret == code


# pytest's own exit codes.


def test_a_run_that_x_ends_is_undecided(bench):
    result = bench.run(
        bench.model(once("wrong")), "-x", HOLDS, FAILS, "--bench-gate=all.no_answer <= 0.01"
    )
    assert (result.ret, bench.states()) == (11, ["undecided"] * 3)
    gate, *_ = bench.gates()
    assert gate["reason"].startswith("the run ended before all planned cases were asked: stopping")
    assert gate["n_examples"] == 11


def test_with_x_a_failure_in_the_last_case_leaves_the_gates_decided(bench):
    result = bench.run(bench.model(once("wrong", at=29)), "-x", HOLDS)
    assert (result.ret, bench.states()) == (0, ["holds"])


def test_with_x_the_first_failure_interrupts_xdist(bench):
    result = bench.way(1)(bench.model(once("wrong", at=0)), "-x", HOLDS)
    assert (result.ret, bench.states()) == (2, ["undecided"])
    assert bench.facts()["exit_code"] == 2


@pytest.mark.parametrize("count", [0, 2])
def test_an_interrupt_keeps_exit_code_two_and_the_records(bench, count):
    assert bench.run(bench.model(once("interrupt", at=count)), HOLDS).ret == 2
    facts = bench.facts()
    assert (facts["exit_code"], facts["status"], bench.states()) == (2, "incomplete", ["undecided"])
    assert (facts["cases_planned"], facts["cases_recorded"]) == (30, count)
    assert len(list(read_records(bench.path / "run"))) == count


@ALONE_OR_BOTH
def test_no_collected_test_keeps_exit_code_five(bench, workers):
    result = bench.way(workers)(bench.model(outcomes()), "-k", "nothing", HOLDS)
    assert result.ret == 5
    assert not bench.asked()


@pytest.mark.parametrize(
    ("extra", "code"), [([], 2), (["--continue-on-collection-errors"], 1)], ids=["stop", "ignored"]
)
def test_a_collection_error_keeps_exit_code_two_and_an_ignored_one_sets_one(bench, extra, code):
    bench.suite("import nowhere_to_be_found\n", name="test_other.py")
    assert bench.run(bench.model(outcomes()), HOLDS, *extra).ret == code
    assert len(bench.asked()) == (30 if extra else 0)
    assert not extra or bench.states() == ["holds"]


def test_an_internal_error_keeps_exit_code_three(bench):
    bench.pytester.makepyfile(
        broken="""
        def pytest_runtest_logfinish(nodeid):
            if "e020" in nodeid:
                raise RuntimeError("a plugin broke")
        """
    )
    bench.pytester.syspathinsert()
    result = bench.run(bench.model(outcomes()), HOLDS, "-p", "broken")
    assert (result.ret, bench.states()) == (3, ["undecided"])


# A run that ends early leaves its gates undecided.


@pytest.mark.parametrize(
    ("outcome", "cost_state", "code", "reason"),
    [
        ("stop", "undecided", 11, "stopped after 3 cases in a row"),
        ("budget", "fails", 10, "the budget was spent"),
    ],
)
def test_a_run_that_ends_early_decides_only_that_its_cost_is_too_high(
    bench, outcome, cost_state, code, reason
):
    gates = (HOLDS, FAILS, f"--bench-gate=run.cost <= {4 if outcome == 'budget' else 100}")
    result = bench.run(bench.model({**late(outcome), "price": 0.5}), *gates)
    assert (result.ret, bench.states()) == (code, ["undecided", "undecided", cost_state])
    for gate in bench.gates()[:2]:
        assert gate["reason"].startswith("the run ended before all planned cases were asked: ")
        assert reason in gate["reason"]


FULL_DISK = """
import pytest_tablebench.results.folder as folder

kept, count = folder.RunFolder.append, []


def append(self, line):
    count.append(line)
    if len(count) > {room}:
        raise OSError(28, "No space left on device")
    kept(self, line)


folder.RunFolder.append = append
"""
"""A plugin after whose `room` records the disk is full."""


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Undo what a plugin of a run in this process changes at the run folder."""
    for name in ("append", "write_summary"):
        monkeypatch.setattr(RunFolder, name, getattr(RunFolder, name))
    return monkeypatch


@pytest.mark.parametrize(
    ("gate", "room", "workers"),
    reduced(product([HOLDS, None], [0, 5], [0, 2]), (HOLDS, 0, 0), (HOLDS, 5, 0), (None, 5, 0)),
)
@pytest.mark.usefixtures("disk")
def test_a_full_disk_during_the_run_leaves_the_gates_undecided(bench, gate, room, workers):
    bench.pytester.makepyfile(full=FULL_DISK.format(room=room))
    bench.pytester.syspathinsert()
    arguments = [bench.model(outcomes()), "-p", "full", *([gate] if gate else [])]
    result = bench.way(workers)(*arguments)
    assert result.ret == (11 if gate else 2)
    assert len(bench.records()) == room
    assert "No space left on device" in result.stdout.str()
    assert bench.states() == (["undecided"] if gate else [])


@pytest.mark.parametrize(("gate", "code"), [(HOLDS, 11), (None, 0)], ids=["gate", "none"])
def test_a_full_disk_at_the_end_leaves_the_gates_undecided(bench, disk, gate, code):
    def full(*_):
        raise OSError(28, "No space left on device")

    disk.setattr(RunFolder, "write_summary", full)
    result = bench.run(bench.model(outcomes()), *([gate] if gate else []))
    assert result.ret == code
    result.stdout.fnmatch_lines(["tablebench: the run folder could not be finished: *No space*"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


# Nothing to judge.


@ALONE_OR_BOTH
def test_gates_on_skipped_cases_are_undecided(bench, workers):
    bench.suite(
        """
        import pytest


        @pytest.mark.skip(reason="not today")
        @pytest.mark.tablebench("toy")
        def test_toy(case, answer):
            pass
        """.replace("\n        ", "\n")
    )
    bench.pytester.makeini(f"[pytest]\nbench_gate =\n    {GATES['holds'][0]}\n")
    result = bench.way(workers)(bench.model(outcomes()))
    assert result.ret == 11
    result.stdout.fnmatch_lines(["toy: no answer by reason: skipped 30"])
    assert not bench.asked()


SKIPPING = """

def pytest_runtest_setup(item):
    if item.callspec.params["case"].example_id >= "e020":
        pytest.skip("these are hard")
"""


@ALONE_OR_BOTH
def test_cases_that_a_hook_skips_are_left_out_of_a_gate_and_named(bench, workers):
    bench.pytester.makeconftest(f"import pytest\n{CONFTEST}{PLANNED}{SKIPPING}")
    gates = ["toy{asks=age}.performance >= 0.5", "all.no_answer <= 0.2"]
    result = bench.way(workers)(bench.model(outcomes(wrong=10)), *options(gates))
    score, missing = bench.gates()
    assert (score["n_examples"], score["n_left_out"], score["no_answer"]) == (20, 10, 1 / 3)
    assert (missing["estimate"], missing["state"]) == (1 / 3, "fails")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["toy: no answer by reason: skipped 10"])
    assert len(bench.records()) == 30


@pytest.mark.parametrize(("where", "code"), [("command", 11), ("ini", 0)])
def test_without_cases_only_gates_of_the_command_line_are_undecided(bench, where, code):
    bench.suite("def test_other():\n    pass\n")
    gate = GATES["holds"][0]
    if where == "ini":
        bench.pytester.makeini(f"[pytest]\nbench_gate =\n    {gate}\n")
    chosen = options([gate]) if where == "command" else []
    # Without a path the package's suites would run.
    result = bench.run("test_suite.py", bench.model(outcomes()), *chosen)
    assert result.ret == code


@pytest.mark.parametrize("option", ["--bench-plan", "--collect-only"])
def test_plan_and_collection_judge_no_gate(bench, option):
    assert bench.run(bench.model(outcomes(wrong=30)), option, HOLDS).ret == 0
    assert not (bench.path / "run").exists()
