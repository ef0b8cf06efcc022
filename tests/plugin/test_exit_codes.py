"""Exit codes of runs with gates: 0, 10 or 11, and pytest's own codes.

The exact 95 % interval of 30 right answers is .025 ** (1/30) = .884 to 1, of 28 right answers .877
to 1, of 27 right answers out of 30 .735 to .979. So under each plan below `>= 0.5` holds, `<= 0.5`
fails, and `>= 0.9` is undecided.
"""

from __future__ import annotations

from itertools import product

import pytest

from pytest_tablebench.results import RunFolder
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
    "failed": outcomes(wrong=3),
    "errors": outcomes(unanswered=2),
    "failed and errors": outcomes(wrong=3, unanswered=2),
}
HOLDS = "--bench-gate=toy.performance >= 0.5"
FAILS = "--bench-gate=toy.performance <= 0.5"

BOTH_WAYS = pytest.mark.parametrize("workers", reduced([0, 2], 0, 1))
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
    [*product(GATES, ["all right", "failed and errors"]), ("holds", "failed"), ("holds", "errors")],
)
def test_the_gates_set_the_exit_code(bench, state, plan):
    gate, code = GATES[state]
    result = bench.run(bench.model(PLANS[plan]), *options([gate]))
    assert (bench.states(), result.ret, bench.facts()["exit_code"]) == ([state], code, code)


@pytest.mark.parametrize(("plan", "code"), [*zip(PLANS, [0, 1, 1, 1], strict=True)])
def test_without_gates_the_exit_code_is_that_of_pytest(bench, plan, code):
    result = bench.run(bench.model(PLANS[plan]))
    assert (result.ret, bench.facts()["exit_code"], bench.gates()) == (code, code, [])


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["holds", "undecided"], 11),
        (["undecided", "fails", "holds"], 10),
        (["holds", "holds"], 0),
    ],
)
def test_the_worst_gate_sets_the_exit_code(bench, states, code):
    # Gates with the same state need different scopes: equal gates are judged once.
    scopes = SCOPES[: len(states)]
    pairs = zip(states, scopes, strict=True)
    gates = [GATES[state][0].replace("toy", scope) for state, scope in pairs]
    result = bench.run(bench.model(outcomes()), *options(gates))
    assert (bench.states(), result.ret) == (states, code)


SCOPES = ("toy", "toys", "all")


@ALONE_OR_BOTH
def test_the_worst_model_sets_the_exit_code(bench, workers):
    models = bench.model(outcomes(), "good"), bench.model(outcomes(wrong=30), "bad")
    result = bench.way(workers)(*models, HOLDS)
    assert result.ret == 10
    assert bench.states("run/plan-good") == ["holds"]
    assert bench.states("run/plan-bad") == ["fails"]


def test_a_failed_test_without_a_case_sets_exit_code_one(bench):
    bench.suite("def test_other():\n    assert False\n", name="test_other.py")
    model = bench.model(outcomes())
    assert bench.run(model, HOLDS, results="one").ret == 1
    assert bench.run(model, FAILS, results="two").ret == 10
    assert bench.states("one") == ["holds"]


def test_passed_tests_without_a_case_do_not_change_the_exit_code(bench):
    bench.suite("def test_other():\n    pass\n", name="test_other.py")
    assert bench.run(bench.model(outcomes(wrong=3)), HOLDS).ret == 0


# pytest's own exit codes.


def test_a_run_that_x_ends_is_undecided(bench):
    result = bench.run(bench.model(once("wrong")), "-x", HOLDS)
    assert (result.ret, bench.states()) == (11, ["undecided"])
    [gate] = bench.gates()
    assert gate["reason"].startswith("the run ended before all planned cases were asked: stopping")
    assert gate["n_examples"] == 11
    assert bench.run(bench.model(once("wrong")), "-x", results="bare").ret == 1


def test_a_run_that_x_ends_fails_no_gate(bench):
    result = bench.run(bench.model(once("wrong")), "-x", FAILS)
    assert (result.ret, bench.states()) == (11, ["undecided"])


def test_a_run_that_x_ends_at_a_missing_answer_is_undecided(bench):
    gates = options(["all.no_answer <= 0.01"])
    result = bench.run(bench.model(once("no answer")), "-x", *gates)
    assert (result.ret, bench.states()) == (11, ["undecided"])


def test_with_x_a_failure_in_the_last_case_leaves_the_gates_decided(bench):
    result = bench.run(bench.model(once("wrong", at=29)), "-x", HOLDS)
    assert (result.ret, bench.states()) == (0, ["holds"])


def test_with_x_and_no_failure_the_gates_are_decided(bench):
    assert bench.run(bench.model(outcomes()), "-x", HOLDS).ret == 0


def test_with_x_the_first_failure_interrupts_xdist(bench):
    result = bench.way(1)(bench.model(once("wrong", at=0)), "-x", HOLDS)
    assert (result.ret, bench.states()) == (2, ["undecided"])
    assert bench.facts()["exit_code"] == 2


@pytest.mark.parametrize("workers", reduced([0, 2], 1))
def test_an_interrupt_keeps_exit_code_two(bench, workers):
    spread = ["-n", str(workers)] if workers else []
    result = bench.run_apart(bench.model(once("interrupt", at=2)), HOLDS, *spread)
    assert result.ret == 2
    if bench.records():  # the worker may have recorded nothing
        assert bench.states() == ["undecided"]


@ALONE_OR_BOTH
def test_no_collected_test_keeps_exit_code_five(bench, workers):
    result = bench.way(workers)(bench.model(outcomes()), "-k", "nothing", HOLDS)
    assert result.ret == 5
    assert not bench.asked()


@ALONE_OR_BOTH
def test_a_usage_error_keeps_exit_code_four(bench, workers):
    result = bench.way(workers)(bench.model(outcomes()), "--bench-gate=toy.performance > 0.5")
    assert result.ret == 4
    assert not bench.asked()


def test_a_collection_error_keeps_exit_code_two(bench):
    bench.suite("import nowhere_to_be_found\n", name="test_other.py")
    result = bench.run(bench.model(outcomes()), HOLDS)
    assert result.ret == 2
    assert not bench.asked()


def test_a_collection_error_that_is_ignored_sets_exit_code_one(bench):
    bench.suite("import nowhere_to_be_found\n", name="test_other.py")
    result = bench.run(bench.model(outcomes()), HOLDS, "--continue-on-collection-errors")
    assert (result.ret, bench.states()) == (1, ["holds"])


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


@BOTH_WAYS
def test_a_dead_server_leaves_the_gates_undecided(bench, workers):
    plan = bench.model(late("stop", after=0 if workers else 10))
    result = bench.way(workers)(plan, HOLDS, FAILS, "--bench-gate=all.no_answer <= 0.01")
    assert (result.ret, bench.states()) == (11, ["undecided"] * 3)
    assert all("stopped after 3 cases in a row" in gate["reason"] for gate in bench.gates())
    assert len(bench.records()) < 30


def test_a_dead_server_without_gates_sets_exit_code_two(bench):
    assert bench.run(bench.model(late("stop"))).ret == 2


@ALONE_OR_BOTH
def test_a_spent_budget_leaves_the_gates_undecided(bench, workers):
    result = bench.way(workers)(bench.model(late("budget")), HOLDS, FAILS)
    assert (result.ret, bench.states()) == (11, ["undecided"] * 2)
    assert {gate["reason"] for gate in bench.gates()} == {
        "the run ended before all planned cases were asked: the budget was spent"
    }


def test_a_spent_budget_without_gates_sets_exit_code_one(bench):
    assert bench.run(bench.model(late("budget"))).ret == 1


def test_a_cost_gate_fails_though_the_budget_is_spent(bench):
    plan = {**late("budget"), "price": 0.5}
    result = bench.run(bench.model(plan), "--bench-gate=run.cost <= 4", HOLDS)
    assert (result.ret, bench.states()) == (10, ["fails", "undecided"])


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
    ("gate", "workers"), reduced(product([HOLDS, None], [0, 2]), (HOLDS, 0), (None, 0))
)
@pytest.mark.usefixtures("disk")
def test_a_full_disk_during_the_run_leaves_the_gates_undecided(bench, gate, workers):
    bench.pytester.makepyfile(full=FULL_DISK.format(room=5))
    bench.pytester.syspathinsert()
    arguments = [bench.model(outcomes()), "-p", "full", *([gate] if gate else [])]
    result = bench.way(workers)(*arguments)
    assert result.ret == (11 if gate else 2)
    assert len(bench.records()) == 5
    assert "No space left on device" in result.stdout.str()
    assert bench.states() == (["undecided"] if gate else [])


@pytest.mark.usefixtures("disk")
def test_a_full_disk_before_the_first_record_leaves_the_gates_undecided(bench):
    bench.pytester.makepyfile(full=FULL_DISK.format(room=0))
    bench.pytester.syspathinsert()
    result = bench.run(bench.model(outcomes()), "-p", "full", HOLDS)
    assert (result.ret, bench.states()) == (11, ["undecided"])


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
