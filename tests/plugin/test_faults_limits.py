"""The number of calls of a run: connections, early ends, budgets.

The server counts the calls. TABLEBENCH_FULL=1 uses every distribution mode of xdist.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.faults import Held, Patient, engine_processes, held_run, stored
from tests.support.matrix import reduced
from tests.support.openai_server import Behaviour, OpenAIServer, completion, text
from tests.support.runs import (
    LITELLM,
    MODEL,
    Run,
    Script,
    right,
    run_inside,
    run_pytest,
    start_pytest,
)

psutil = pytest.importorskip("psutil")

pytestmark = pytest.mark.slow


# Calls at once.

WAYS = ["load", "worksteal", "loadscope", "loadgroup"]
EVERY = [("0", "load"), *product(["4", "16"], WAYS)]
SOME = [("2", "loadscope")]


class Thinking:
    """Answers correctly after some seconds."""

    def __init__(self, count: int, seconds: float) -> None:
        self.script = Script(count)
        self._seconds = seconds

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        number = self.script.number(body)
        assert number is not None
        self.script.asked[number] += 1
        return text(right(self.script.examples[number]), thinks=self._seconds)


@pytest.mark.parametrize(("workers", "dist"), reduced(EVERY, *SOME))
def test_calls_in_flight_stay_within_the_limit(tmp_path: Path, workers: str, dist: str) -> None:
    count, connections = 60, 6
    thinking = Thinking(count, 0.1)
    with OpenAIServer(thinking) as server:
        run = run_inside(
            tmp_path,
            server,
            *("-n", workers, "--dist", dist if workers != "0" else "no"),
            f"--bench-connections={connections}",
            count=count,
        )
        most = server.max_in_flight
    assert run.exit_code == 0, run.output
    assert len(run.records) == count
    assert set(thinking.script.asked.values()) == {1}
    assert 1 < most <= connections
    if (workers, dist) == ("0", "load"):
        assert most == connections


# Early ends.


class FirstIsWrong(Held):
    """Answers the first case wrong when released; holds the others until the end."""

    def __init__(self, count: int) -> None:
        super().__init__(count, 0)
        self.told = Patient()

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        if self.script.number(body) == 0:
            self.script.asked[0] += 1
            return text("certainly not", after=self.told)
        return super().__call__(body)


def check_no_more_calls(folder: Path, held: Held, left: Sequence[Any], calls: int) -> set[str]:
    """Check that no further call starts and the calls in flight are stored; return their ids."""
    held.opened.set()
    assert not psutil.wait_procs(left, timeout=60)[1]
    stored_ids = stored(folder / "answers")
    assert sum(held.asked.values()) == calls
    assert len(stored_ids) == calls
    return stored_ids


def check_interrupted(run: Run) -> None:
    """Check that the run keeps and shows its finished cases."""
    assert run.exit_code == 2, run.output
    count = len(run.records)
    assert 1 <= count <= 4
    assert {record.outcome for record in run.records.values()} == {"right"}
    facts = run.facts
    assert (facts["status"], facts["exit_code"]) == ("incomplete", 2)
    assert (facts["cases_planned"], facts["cases_recorded"]) == (12, count)
    summary = json.loads((run.folder / "run" / "summary.json").read_text(encoding="utf-8"))
    figures = summary["benchmarks"]["starter"]
    assert (figures["n_cases"], figures["pass_rate"]) == (count, 1)
    [row] = [line for line in run.output.splitlines() if line.startswith("starter  ")]
    assert row.split()[-2:] == [str(count)] * 2
    assert "run folder: run" in run.output
    assert "KeyboardInterrupt" in run.output
    assert "INTERNALERROR" not in run.output


@pytest.mark.skipif(os.name != "posix", reason="needs a signal to a group of processes")
@pytest.mark.parametrize(
    ("workers", "model"), reduced(product("02", [MODEL, LITELLM]), ("2", MODEL), ("0", LITELLM))
)
def test_after_ctrl_c_no_further_call_starts(tmp_path: Path, workers: str, model: str) -> None:
    """Models of litellm use the direct transport, their default."""
    held, options = Held(12, 4), ["-n", workers]
    options += ["--bench-transport=direct"] if model == LITELLM else []
    with held_run(tmp_path, *options, held=held, connections=4, model=model) as (process, server):
        left = engine_processes(process)
        assert server.calls == 8
        process.until(lambda: bool(process.lines), "a record")
        process.signal_group(signal.SIGINT)
        run = process.wait()
        check_interrupted(run)
        # The four calls in flight are answered and stored; no other call is made.
        stored_ids = check_no_more_calls(tmp_path, held, left, 8)
        if workers == "0":  # then the first eight were asked
            again = run_pytest(
                tmp_path, server, *options, "--bench-results=again", count=8, model=model
            )
            assert again.exit_code == 0, again.output
            assert (server.calls, stored(tmp_path / "answers")) == (8, stored_ids)


@pytest.mark.parametrize(
    ("option", "workers"),
    reduced(product(["-x", "--maxfail=1"], "02"), ("-x", "0")),
)
def test_after_the_last_allowed_failure_no_further_call_starts(
    tmp_path: Path, option: str, workers: str
) -> None:
    count, connections = 12, 4
    held = FirstIsWrong(count)
    with (
        OpenAIServer(held) as server,
        start_pytest(
            tmp_path,
            *(option, "-n", workers, f"--bench-connections={connections}"),
            api_base=server.url,
            count=count,
        ) as process,
    ):
        process.until(
            lambda: bool(held.asked[0]) and len(held.held) == connections - 1, "all under way"
        )
        left = engine_processes(process)
        held.told.set()
        # The calls stop before the wrong answer is recorded. Workers of xdist first finish their
        # item, which waits for its answer.
        process.until(lambda: len(process.lines) == 1, "the wrong answer recorded")
        held.opened.set()
        run = process.wait()
        assert run.exit_code in {1, 2}, run.output
        assert "certainly not" in run.output
        # Its end freed a connection for one more call, before the answer was scored.
        check_no_more_calls(tmp_path, held, left, server.calls)
        assert connections <= server.calls <= connections + 1
    assert "stopping after 1 failures" in run.output


# Money.

PRICED = "openai/gpt-4o-mini"

WITHOUT_ANSWER: list[tuple[dict[str, Any], str, str]] = [
    # message, reason of the end, reason of the case
    ({"content": None, "refusal": "I cannot help."}, "stop", "refused"),
    ({"content": None}, "content_filter", "content_filter"),
    ({"content": "", "reasoning_content": "hm"}, "stop", "thoughts_alone"),
    ({"content": "26"}, "error", "server_error"),
]


def test_replies_without_an_answer_spend_the_budget(tmp_path: Path) -> None:
    replies = []
    for message, finish, _ in WITHOUT_ANSWER:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        # .15 + .60 US dollars.
        replies.append(Behaviour(completion([choice], (1_000_000, 1_000_000), "gpt-4o-mini")))
    # The budget ends between the two calls of the case after these.
    behaviours = iter([*replies, *replies[-1:] * 9])
    with OpenAIServer(lambda _: next(behaviours)) as server:
        run = run_inside(
            tmp_path,
            server,
            *("--bench-connections=1", "--bench-max-cost=4", "--bench-retries=1"),
            count=12,
            model=PRICED,
        )
        calls = server.calls
    # Three cases of one call each, one of two calls, and one whose second call is not made.
    assert calls == 6
    records = [record for record in run.records.values() if record.reason != "budget"]
    reasons, expected = [record.reason for record in records], [r for *_, r in WITHOUT_ANSWER]
    # While the fourth case waits for its second call, the first call of the fifth is made. If it
    # takes longer than the wait, its own error ends the budget.
    assert reasons in (expected, [*expected, "server_error"])
    costs = [record.cost_usd for record in records[:4]]
    assert costs == pytest.approx([0.75, 0.75, 0.75, 1.5])
    assert {record.outcome for record in run.records.values()} == {"no_answer"}
    assert run.facts["cost_usd"] == pytest.approx(calls * 0.75)
    assert "Traceback" not in run.output
