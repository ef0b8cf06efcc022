"""Conversations ahead of the items: what is begun, told and counted when the window moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.executors import Work
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.models._scripted import ScriptedModel
from pytest_tablebench.registry import Registry
from pytest_tablebench.running.conversations import Conversations
from pytest_tablebench.running.prefetch import PrefetchWindow, Route
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.store import Store
from pytest_tablebench.strategies import Direct, Task

CASES = [Case("d", str(number), "html", "none", "m", f"d/{number}") for number in range(8)]
AUTH = ModelError("wrong key", reason="auth", whole_run=True)


class Engine:
    """Answers each request at the next look; some numbers always fail."""

    lost = None
    waits = ()
    now = 0.0

    def __init__(self, *failing: int) -> None:
        self.failing = failing
        self.asked: list[tuple[int, bool]] = []
        self._due: list[tuple[str, Any]] = []

    def submit(self, work: Work, lane: str) -> None:
        assert isinstance(work.task, Request)
        assert lane == work.task.model
        number = int(work.task.text)
        self.asked.append((number, work.again))
        failed = number in self.failing
        self._due.append((work.key, AUTH if failed else Reply(f"answer {number}")))

    def outcomes(self, *, wait: bool) -> list[tuple[str, Any]]:
        told, self._due = self._due, []
        return told


def window_with(
    engine: Engine,
    size: int,
    *,
    models: str = "m",
    provider: Any = None,
    store: Store | None = None,
) -> PrefetchWindow:
    def task(case: Case) -> Task:
        return Task(Example(case.example_id, {}, "", (), ""), case.example_id)

    found: Any = engine
    window = PrefetchWindow(
        conversations=Conversations(
            task, {"direct": Direct()}, lambda model, _: Route(model, {}, provider=provider)
        ),
        store=lambda: store,
        keep=store is not None,
        executor=lambda: found,
        models=tuple(models),
        retries=0,
        patience=60.0,
        clock=lambda: engine.now,
    )
    window.size = size
    window.expect(CASES)
    return window


def said(window: PrefetchWindow, position: int) -> str:
    pending = window.complete(CASES[position], position)
    return str(pending.answer if pending.error is None else pending.error)


def test_the_window_is_begun_and_no_more():
    engine = Engine()
    window = window_with(engine, size=3)
    assert said(window, 0) == "answer 0"
    assert [number for number, _ in engine.asked] == [0, 1, 2]
    assert said(window, 1) == "answer 1"
    assert [number for number, _ in engine.asked] == [0, 1, 2, 3]


def test_a_large_window_is_begun_anew_an_eighth_at_a_time():
    engine = Engine()
    window = window_with(engine, size=16)
    window.expect([Case("d", str(n), "html", "none", "m", f"d/{n}") for n in range(19)])
    begun = []
    for position in range(4):
        said(window, position)
        begun.append(len(engine.asked))
    # Two at a time, but the last of the plan at once.
    assert begun == [16, 16, 18, 19]


def test_a_case_that_is_begun_twice_counts_once_as_failed():
    # 2 and 3 fail ahead of time; the window goes past 2 and back to it, so it is begun again.
    engine = Engine(2, 3)
    window = window_with(engine, size=4)
    window.expect(CASES[:4])
    assert [said(window, position) for position in (0, 1, 3, 2)] == [
        *("answer 0", "answer 1", "wrong key", "wrong key")
    ]
    assert engine.asked == [(number, False) for number in (0, 1, 2, 3, 2, 3)]
    assert window.stopped is None


def test_three_cases_in_a_row_that_fail_for_all_stop_the_process():
    engine = Engine(1, 2, 3)
    window = window_with(engine, size=1)
    assert said(window, 0) == "answer 0"
    assert [said(window, position) for position in (1, 2, 3)] == ["wrong key"] * 3
    assert window.stopped is not None
    assert "3 cases in a row" in window.stopped
    assert "wrong key" in window.stopped
    assert said(window, 4) == window.stopped
    assert [number for number, _ in engine.asked] == [0, 1, 2, 3]


BOTH = [
    Case("d", str(number), "html", "none", model, f"d/{number}/{model}")
    for number, model in enumerate("nm" * 4)
]
"""Cases of two models in turns: the even numbers are those of one."""


def test_a_model_that_always_fails_stops_no_other():
    engine = Engine(0, 2, 4, 6)
    window = window_with(engine, size=1, models="nm")
    window.expect(BOTH)
    told = [window.complete(case, position) for position, case in enumerate(BOTH)]
    answers = [str(pending.answer) for pending in told if pending.answer]
    assert answers == ["answer 1", "answer 3", "answer 5", "answer 7"]
    *failed, stopped = [pending.error for pending in told if isinstance(pending.error, ModelError)]
    assert [error.reason for error in failed] == ["auth"] * 3
    assert stopped.reason == "model_stopped"
    assert "stopped after 3 cases in a row" in str(stopped)
    assert [number for number, _ in engine.asked] == [0, 1, 2, 3, 4, 5, 7]
    assert window.stopped is None


def test_the_last_model_that_fails_stops_the_process():
    window = window_with(Engine(*range(8)), size=1, models="nm")
    window.expect(BOTH)
    for position, case in enumerate(BOTH):
        assert window.stopped is None or position >= 6
        window.complete(case, position)
    assert window.stopped is not None


def test_without_an_engine_nobody_is_asked_a_second_time():
    gone = ModelError("the process is gone", reason="engine", whole_run=True)

    def connect() -> Any:
        raise gone

    window = window_with(Engine(), size=1, models="nm")
    window._make_executor = connect
    said = [str(window.complete(case).error) for case in BOTH[:2]]
    assert said == ["the process is gone", "stopped: the process is gone"]
    assert window.stopped == "stopped: the process is gone"


def test_a_request_that_could_not_be_sent_is_not_waited_for():
    class Refusing(Engine):
        def submit(self, *_: Any) -> None:
            raise ValueError("cannot be sent")

    window = window_with(Refusing(), size=1)
    assert [said(window, 0), said(window, 0)] == ["cannot be sent"] * 2


def test_an_engine_that_did_not_start_concerns_every_case():
    models = ProviderPool(Settings(), Registry())

    def address() -> Any:
        raise SettingsError("the process for model calls did not start: no memory")

    models.address = address
    with pytest.raises(ModelError, match="did not start: no memory") as failed:
        models.client()
    assert (failed.value.reason, failed.value.whole_run) == ("engine", True)


class Stopping(Engine):
    """Tells that one model is asked no more."""

    def outcomes(self, *, wait: bool) -> list[tuple[str, Any]]:
        error = ModelError("given up", reason="model_stopped")
        told = super().outcomes(wait=wait)
        return [(key, error if outcome is AUTH else outcome) for key, outcome in told]


def test_what_the_engine_gives_up_is_asked_no_more():
    engine = Stopping(0, 2, 4, 6)
    window = window_with(engine, size=1, models="nm")
    window.expect(BOTH)
    told = [window.complete(case, position) for position, case in enumerate(BOTH)]
    assert [str(pending.error) for pending in told[::2]] == ["given up"] * 4
    assert [number for number, _ in engine.asked] == [0, 1, 3, 5, 7]
    assert window.stopped is None


class Busy:
    """A provider of the user's own that turns calls away, each after some seconds."""

    def __init__(self, engine: Engine, *seconds: float | None) -> None:
        self.engine, self.seconds = engine, list(seconds)

    def complete(self, request: Request) -> Reply:
        seconds = self.seconds.pop(0)
        if seconds is None:
            return Reply("ok")
        self.engine.now += seconds
        raise ModelError("too many requests", reason="rate_limit", retryable=True)


def test_a_provider_here_that_answers_nothing_is_given_up_too():
    engine = Engine()
    window = window_with(engine, size=1, provider=Busy(engine, 40.0, None, 20.0, 39.0, 1.0))
    for position in range(5):
        assert window.stopped is None
        said(window, position)
        engine.now += 1000  # what the test itself takes is no wait
    assert window.stopped == (
        "stopped, because no call was answered for 60 s (--bench-patience): too many requests"
    )


class Waiting(Engine):
    """Answers at the fourth look, the first of them no wait, and says who is waited for."""

    def outcomes(self, *, wait: bool) -> list[tuple[str, Any]]:
        self.waits = (*self.waits, len(self.waits))
        return super().outcomes(wait=wait) if len(self.waits) == 4 else []


def test_who_waits_is_told_for_whom():
    engine, told = Waiting(), []
    window = window_with(engine, size=1)
    window.on_wait = told.append
    assert said(window, 0) == "answer 0"
    assert told == [(0, 1), (0, 1, 2)]


def test_an_answer_between_begins_the_count_anew():
    window = window_with(Engine(1, 2, 4), size=1)
    assert [said(window, position) for position in (1, 2, 3, 4)] == [
        *("wrong key", "wrong key", "answer 3", "wrong key")
    ]
    assert window.stopped is None


def test_only_a_rerun_is_meant_to_be_tried_again():
    engine = Engine(1)
    window = window_with(engine, size=2)
    said(window, 0)
    said(window, 1)  # failed ahead of time
    said(window, 1)  # the item once more
    said(window, 6)
    said(window, 0)  # the window goes back over an item that has run
    assert [again for number, again in engine.asked if number == 1] == [False, True, False]


def test_a_provider_is_not_asked_for_what_another_run_has_paid_for_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else a look is left out for as long as the one before it took nineteen times.
    monkeypatch.setattr("pytest_tablebench.store._store.LOOKS_APART", 0)
    asked: list[Request] = []

    class Counting:
        def complete(self, request: Request) -> Reply:
            asked.append(request)
            return Reply("paid here")

    store, other = Store.open(tmp_path), Store.open(tmp_path)
    window = window_with(Engine(), size=1, provider=Counting(), store=store)
    assert said(window, 0) == "paid here"
    following = replace(asked[0], messages=(Message("user", "1"),), case_id=CASES[1].case_id)
    other.put(following, Reply("paid there"))
    assert said(window, 1) == "paid there"
    assert [request.text for request in asked] == ["0"]
    store.close()
    other.close()


def test_what_was_cut_is_a_flag_of_the_answer(tmp_path: Path) -> None:
    def task(case: Case) -> Task:
        return Task(Example(case.example_id, {}, "", (), ""), case.example_id)

    def said(limit: int, script: ScriptedModel) -> tuple[str, tuple[str, ...]]:
        with Store.open(tmp_path) as store:
            window = PrefetchWindow(
                conversations=Conversations(
                    task, {"direct": Direct()}, lambda model, _: Route(model, {}, provider=script)
                ),
                store=lambda: store,
                executor=lambda: pytest.fail("an engine is asked"),
                models=("m",),
                retries=0,
                patience=60.0,
                max_reply=limit,
                keep=True,
            )
            answer = window.complete(CASES[0]).answer
        assert answer is not None
        return answer.text, answer.flags

    long = Reply("x" * 5000, finish_reason="length")
    assert said(2000, ScriptedModel([long])) == ("x" * 2000, ("truncated", "cut"))
    # Out of the store: as it was kept, or less where less is wanted now.
    assert said(4000, ScriptedModel([])) == ("x" * 2000, ("truncated", "cut"))
    assert said(1000, ScriptedModel([])) == ("x" * 1000, ("truncated", "cut"))
