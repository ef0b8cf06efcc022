"""Servers that fail in a share of the calls, in all calls, or for a while.

The tests use pytest processes, a server and sockets. Every run through litellm imports it again, so
one run meets many faults. TABLEBENCH_FULL=1 makes more calls under more workers, and always through
litellm.
"""

from __future__ import annotations

import re
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.faults import TRANSIENT, Faulty
from tests.support.matrix import FULL, reduced
from tests.support.openai_server import Behaviour, OpenAIServer, error, hang
from tests.support.runs import LITELLM, MODEL, Run, Script, run_inside, run_pytest, start_pytest
from tests.support.toy_bench import Bench

pytestmark = pytest.mark.slow


def check_all_right(run: Run, count: int) -> None:
    assert run.exit_code == 0, run.output
    assert [record.outcome for record in run.records.values()] == ["right"] * count
    assert (run.facts["status"], run.facts["calls_paid"]) == ("complete", count)
    assert "INTERNALERROR" not in run.output


def stop_line(run: Run) -> str:
    """Return the only line with the reason of an early end."""
    lines = [line for line in run.output.splitlines() if "tablebench stopped" in line]
    assert len(lines) == 1, run.output
    return lines[0]


# A share of the calls.


@pytest.mark.parametrize("workers", reduced("02", "2"))
def test_a_run_survives_faults_in_three_tenths_of_the_calls(tmp_path: Path, workers: str) -> None:
    count = 240 if FULL else 60
    faulty = Faulty(count, 0.3)
    with OpenAIServer(faulty) as server:
        options = ("-n", workers, "--bench-timeout", "5", "--bench-retries", "10")
        run = run_inside(tmp_path, server, *options, count=count, model=LITELLM)
        assert server.repeated == []
        assert server.calls == count + faulty.happened.total()
        assert server.max_in_flight <= 32
    check_all_right(run, count)
    assert faulty.happened.total() >= 0.25 * server.calls
    assert len(faulty.happened) >= (len(TRANSIENT) if FULL else 8)


# All calls.


@pytest.mark.parametrize("workers", reduced("02", "1"))
def test_a_server_that_always_returns_429_ends_the_run_after_the_patience(
    tmp_path: Path, workers: str
) -> None:
    with OpenAIServer(lambda _: error(429)) as server:
        run = run_inside(
            tmp_path,
            server,
            *("-n", workers, "--bench-retries", "1000", "--bench-patience", "3"),
            count=40,
        )
    assert run.exit_code == 2, run.output
    assert f"no call was answered for 3 s (--bench-patience): {MODEL}" in run.output
    assert "too many requests" in stop_line(run)
    lines = re.findall(
        rf"^0/40 waiting for {MODEL} since (\S+), until (\S+) at most \(rate_limit\)$",
        run.output,
        re.M,
    )
    [times] = lines  # reported once
    since, until = (datetime.strptime(text, "%H:%M:%S") for text in times)
    assert (until - since) % timedelta(days=1) == timedelta(seconds=3)


# For a while.


class Dying:
    """Answers some cases correctly; then calls hang until the server closes."""

    def __init__(self, script: Script, lives: int) -> None:
        self.script, self.left = script, lives
        self.hanging = 0

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        if self.left > 0:
            self.left -= 1
            return self.script(body)
        self.hanging += 1
        return hang()


@pytest.mark.parametrize("workers", reduced("02", "0"))
def test_a_run_continues_after_the_server_was_down(tmp_path: Path, workers: str) -> None:
    count, connections = 40, 8
    script = Script(count)
    dying = Dying(script, 20)
    with OpenAIServer(dying) as first:
        port = first.port
        process = start_pytest(
            tmp_path,
            # An outage uses no retries, so one is enough.
            *("-n", workers, "--bench-retries", "1", f"--bench-connections={connections}"),
            api_base=first.url,
            count=count,
        )
        with process:
            process.until(lambda: dying.hanging == connections, "all calls hanging")
            first.close()
            # Meanwhile the port is closed.
            threading.Event().wait(10.0 if FULL else 2.5)
            with OpenAIServer(script, port=port) as second:
                run = process.wait()
                assert second.repeated == []
                asked_later = second.calls
    check_all_right(run, count)
    assert asked_later == count - 20
    assert set(script.asked.values()) == {1}
    # Each call in flight lost its connection, and some retries found the port closed.
    assert run.facts["calls_repeated"] > connections


# The engine.


def test_an_engine_that_does_not_start_is_reported_in_one_line(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tablebench.executors.local._engine.BROKER", "there.is.none")
    options = ("--model=openai/test-model", "--bench-api-base=http://127.0.0.1:9/v1")
    for extra in ([], ["--bench-plan"]):
        result = bench.run(*options, *extra)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        [line] = [line for line in result.errlines if line]
        assert line.startswith("ERROR: the process for model calls did not start: ")
        assert line.endswith("No module named 'there')")


ENDING = """
from pytest_tablebench.executors.local import _engine

found = _engine.Engine.address.fget


def address(self):
    started = found(self)  # it listens
    self._process.kill()
    self._process.wait()
    return started


_engine.Engine.address = property(address)
"""


@pytest.mark.parametrize("workers", reduced("02", "1"))
def test_an_engine_that_dies_before_the_first_call_is_reported_in_one_line(
    tmp_path: Path, workers: str
) -> None:
    (tmp_path / "conftest.py").write_text(ENDING, encoding="utf-8")
    with OpenAIServer() as server:
        run = run_pytest(tmp_path, server, "-n", workers, count=40)
        assert server.calls == 0
    assert run.exit_code == pytest.ExitCode.USAGE_ERROR, run.output
    [line] = [line for line in run.output.splitlines() if "ERROR" in line]
    assert line.startswith("ERROR: the process that makes the model calls is gone (")
    assert not run.folder.joinpath("run").exists()
