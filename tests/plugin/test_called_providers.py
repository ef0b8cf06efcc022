"""Registered providers run in the callers: many calls at once, each once, within a budget."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

from pytest_tablebench.config.papers import PrintedPrompts
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors.local.providers import (
    reference_of,
)
from tests.support.toy_bench import CALLED, CONFTEST, SUITE, read_lines

TOGETHER = 8

PROVIDER = f"""
import json
import os
import pickle
import threading
from pathlib import Path

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Reply

HERE = Path(__file__).parent
TOGETHER = threading.Barrier({TOGETHER})


class Slow:
    def __init__(self, model, settings):
        self.model, self.limit = model, settings.limit
        self.busy = threading.Lock()

    def complete(self, request):
        assert self.busy.acquire(blocking=False), "one object is asked from two threads"
        with (HERE / "asked.log").open("a", encoding="utf-8") as file:
            file.write(json.dumps([os.getpid(), self.model, self.limit]) + "\\n")
        if self.model.endswith("/together"):
            TOGETHER.wait(60)
        if self.model.endswith("/breaks"):
            self.busy.release()
            raise ValueError("it broke")
        cost = None if self.model.endswith("/free") else 0.01
        self.busy.release()
        return Reply("36", prompt_tokens=3, completion_tokens=1, cost_usd=cost)


def pytest_tablebench_register_provider(register):
    register("slow", Slow)
"""

STAYS = """
class Stays:
    in_process = True

    def __init__(self, model, settings):
        pass

    def complete(self, request):
        log("ask", request.case_id, str(__import__("os").getpid()))
        return Reply("36", cost_usd=0.01)


_register = pytest_tablebench_register_provider


def pytest_tablebench_register_provider(register):
    _register(register)
    register("stays", Stays)
"""

GRID = ("--bench-serializer=html,csv,json,markdown", "--bench-perturbation=none,shuffle_rows")
"""24 cases over three questions, with different prompts."""


@pytest.fixture
def slow(bench):
    """A folder with a provider in a module, as in a package."""
    bench.pytester.makepyfile(slow_provider=PROVIDER)
    bench.pytester.syspathinsert()
    return bench


def run(bench, model: str, *arguments: str, results: str = "run") -> pytest.RunResult:
    return bench.run(f"--model={model}", "-pslow_provider", *arguments, results=results)


def logged_calls(bench) -> list[Any]:
    return read_lines(bench.path / "asked.log")


def test_calls_of_a_registered_provider_run_at_once_in_other_processes(slow):
    # Each call waits until eight are in flight: one call at a time would never be answered.
    result = run(slow, "slow/together", "--bench-store=answers", *GRID, "--bench-connections=8")
    result.assert_outcomes(passed=8, failed=16)
    assert not any("answers in the process" in line for line in result.outlines)
    calls = logged_calls(slow)
    assert len(calls) == 24
    assert os.getpid() not in {pid for pid, _, _ in calls}
    facts = slow.facts()
    assert (facts["calls_paid"], facts["prompt_tokens"]) == (24, 72)
    assert facts["cost_usd"] == pytest.approx(0.24)
    # The second run makes no call.
    again = run(slow, "slow/together", "--bench-store=answers", *GRID, results="again")
    again.assert_outcomes(passed=8, failed=16)
    assert len(logged_calls(slow)) == 24
    assert slow.facts("again")["calls_paid"] == 0


def test_a_case_skipped_before_its_answer_shows_no_answer_that_was_read_ahead(slow):
    run(slow, "slow/any", "--bench-store=answers").assert_outcomes(passed=1, failed=2)
    suite = SUITE.replace("(case, answer)", "(case, stops, answer)", 1)
    suite += "\n\n@pytest.fixture\ndef stops(case):\n    if '/bo/' in case.id: pytest.skip()\n"
    slow.suite(suite)
    again = run(slow, "slow/any", "--bench-store=answers", results="again")
    again.assert_outcomes(passed=1, failed=1, skipped=1)
    record = slow.records("again")[1]
    assert (record["outcome"], record["reason"], record["raw"]) == ("no_answer", "skipped", None)
    assert (record["prompt_digest"], record["prompt_tokens"]) == (None, None)


def test_a_budget_stops_a_registered_provider(slow):
    result = run(slow, "slow/any", *GRID, "--bench-max-cost=0.05")
    assert len(logged_calls(slow)) == 5
    assert slow.facts()["cost_usd"] == pytest.approx(0.05)
    reasons = [record["reason"] for record in slow.records()]
    assert (reasons.count(None), reasons.count("budget")) == (5, 19)
    assert any("the budget of 0.05 USD is spent" in line for line in result.outlines)
    assert any("the price comes with each reply" in line for line in result.outlines)


def test_an_exception_in_a_provider_loses_its_case_and_names_the_line(slow):
    result = run(slow, "slow/breaks", "--bench-limit=1")
    result.assert_outcomes(errors=1)
    record = slow.record()
    assert (record["outcome"], record["reason"]) == ("no_answer", "error")
    assert [limit for _, _, limit in logged_calls(slow)] == [1]  # of the settings it received
    assert any("ValueError: it broke (slow_provider.py, line" in line for line in result.outlines)


def test_a_provider_of_a_conftest_is_called_in_another_process(bench):
    start = "        super().__init__(model)\n"
    bench.pytester.makeconftest(
        CALLED.replace(start, f'{start}        log("made", __import__("os").getpid())\n')
    )
    result = bench.run("--model=echo/any", "--bench-limit=1")
    result.assert_outcomes(passed=1)
    made = {pid for [pid] in bench.calls("made")}
    assert len(made) == 2  # this process, which reports errors at once, and a caller
    assert bench.facts()["calls_paid"] == 1


def test_an_in_process_provider_is_called_in_this_process(bench):
    bench.pytester.makeconftest(CONFTEST + STAYS)
    result = bench.run("--model=stays/here", "--bench-limit=1")
    result.assert_outcomes(passed=1)
    assert [pid for _, pid in bench.calls("ask")] == [str(os.getpid())]
    [line] = [line for line in result.outlines if "answers in the process" in line]
    assert line.startswith("tablebench: stays/here answers")
    assert "--bench-connections and a budget have no effect on it" in line
    [line] = [line for line in result.outlines if "1 call ahead" in line]
    assert line.startswith("tablebench: stays/here: 1 call ahead; about ")
    assert line.endswith("; the price comes with each reply")

    planned = bench.run("--model=stays/other", "--bench-plan")
    assert any("at one call at a time and" in line for line in planned.outlines), planned.outlines


def test_settings_survive_the_way_to_another_process(tmp_path):
    settings = Settings(
        models=("a", "b"),
        params={"temperature": 0.5, "stop": ["x"]},
        store=tmp_path,
        readonly_stores=(tmp_path / "one",),
        command_line_keys=frozenset({"bench_model"}),
        thresholds={"d": 0.5},
        prompts=PrintedPrompts(tmp_path, {"direct": "{question}"}),
    )
    assert pickle.loads(pickle.dumps(settings)) == settings


def made(model: str, settings: Settings) -> None:
    """A provider factory of a module."""


class TestReference:
    """References to objects that another process can import."""

    def test_a_function_of_a_module_has_a_reference(self):
        reference = reference_of(made)
        assert reference is not None
        assert (reference.attribute, reference.file) == ("made", None)
        assert reference.find() is made

    def test_lambdas_and_inner_functions_have_no_reference(self):
        def inner() -> None: ...

        assert reference_of(lambda: None) is None
        assert reference_of(inner) is None
        assert reference_of(object()) is None

    def test_a_declared_reference_is_used(self):
        def inner() -> None: ...

        inner.reference = "json.decoder:JSONDecoder.decode"  # type: ignore[attr-defined]
        reference = reference_of(inner)
        assert reference is not None
        assert (reference.module, reference.attribute) == ("json.decoder", "JSONDecoder.decode")
        inner.reference = "json"  # type: ignore[attr-defined]
        with pytest.raises(SettingsError, match="'module:attribute'"):
            reference_of(inner)
