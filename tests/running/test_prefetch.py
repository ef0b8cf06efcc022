"""Conversations ahead of the items: what is begun, told and counted when the window moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.executors import Work
from pytest_tablebench.models import MAX_REPLY, Reply, Request, limited
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._conversation import ConversationDriver, Conversations
from pytest_tablebench.running._lookup import StepLookup
from pytest_tablebench.running._prefetch import PrefetchWindow
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.requests import Route
from pytest_tablebench.store import Store
from pytest_tablebench.strategies import Direct, Task
from tests.support.running_cases import completed

CASES = [Case("d", str(number), "html", "none", "m", f"d/{number}") for number in range(8)]
AUTH = ModelError("wrong key", reason="auth", whole_run=True)


class Engine:
    """Answers each request at the next look; some numbers always fail."""

    lost = None
    waits: tuple[int, ...] = ()

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
    engine: Any,
    size: int,
    *,
    models: str = "m",
    route: Callable[[str, str | None], Route] = lambda model, _: Route(model, {}),
    max_reply: int = MAX_REPLY,
    store: Store | None = None,
) -> PrefetchWindow:
    def task(case: Case) -> Task:
        return Task(Example(case.example_id, {}, "", (), ""), case.example_id)

    driver = ConversationDriver(Conversations(task, {"direct": Direct()}, route), lambda: 0.0)
    lookup = StepLookup(driver=driver, store=lambda: store, max_reply=max_reply)
    window = PrefetchWindow(lookup=lookup, executor=engine, models=tuple(models))
    window.size = size
    window.expect(CASES)
    return window


def said(window: PrefetchWindow, position: int) -> str:
    pending = completed(window, CASES[position], position)
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


def routes_without(*models: str) -> Callable[[str, str | None], Route]:
    """Route every model but these, whose requests cannot be made."""

    def route(model: str, dataset: str | None) -> Route:
        if model in models:
            raise AUTH
        return Route(model, {})

    return route


def test_a_case_that_fails_is_begun_again_where_the_window_returns():
    # 2 and 3 fail ahead of time; the window goes past 2 and back to it, so it is begun again.
    engine = Engine(2, 3)
    window = window_with(engine, size=4)
    window.expect(CASES[:4])
    assert [said(window, position) for position in (0, 1, 3, 2)] == [
        *("answer 0", "answer 1", "wrong key", "wrong key")
    ]
    assert engine.asked == [(number, False) for number in (0, 1, 2, 3, 2, 3)]
    assert window.stopped is None


def test_three_cases_in_a_row_whose_requests_cannot_be_made_stop_the_process():
    engine = Engine()
    window = window_with(engine, size=1, route=routes_without("m"))
    assert [said(window, position) for position in (0, 0, 1)] == ["wrong key"] * 3
    assert window.stopped is None  # the first case counts once
    assert said(window, 2) == "wrong key"
    assert window.stopped is not None
    assert "3 cases in a row" in window.stopped
    assert "wrong key" in window.stopped
    assert said(window, 3) == window.stopped
    assert engine.asked == []


BOTH = [
    Case("d", str(number), "html", "none", model, f"d/{number}/{model}")
    for number, model in enumerate("nm" * 4)
]
"""Cases of two models in turns: the even numbers are those of one."""


def test_a_model_that_cannot_be_asked_stops_no_other():
    engine = Engine()
    window = window_with(engine, size=1, models="nm", route=routes_without("n"))
    window.expect(BOTH)
    told = [completed(window, case, position) for position, case in enumerate(BOTH)]
    answers = [str(pending.answer) for pending in told if pending.answer]
    assert answers == ["answer 1", "answer 3", "answer 5", "answer 7"]
    *failed, stopped = [pending.error for pending in told if isinstance(pending.error, ModelError)]
    assert [error.reason for error in failed] == ["auth"] * 3
    assert stopped.reason == "model_stopped"
    assert "stopped after 3 cases in a row" in str(stopped)
    assert window.stopped is None


def test_the_last_model_that_cannot_be_asked_stops_the_process():
    window = window_with(Engine(), size=1, models="nm", route=routes_without("n", "m"))
    window.expect(BOTH)
    for position, case in enumerate(BOTH):
        assert window.stopped is None or position >= 6
        completed(window, case, position)
    assert window.stopped is not None


def test_without_an_engine_nobody_is_asked_a_second_time():
    class Gone(Engine):
        def submit(self, work: Work, lane: str) -> None:
            raise ModelError("the process is gone", reason="engine", whole_run=True)

    window = window_with(Gone(), size=1, models="nm")
    said = [str(completed(window, case).error) for case in BOTH[:2]]
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
        models.engine()
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
    told = [completed(window, case, position) for position, case in enumerate(BOTH)]
    assert [str(pending.error) for pending in told[::2]] == ["given up"] * 4
    assert [number for number, _ in engine.asked] == [0, 1, 3, 5, 7]
    assert window.stopped is None


class Waiting(Engine):
    """Answers at the fourth look, the first of them no wait, and says who is waited for."""

    def outcomes(self, *, wait: bool) -> list[tuple[str, Any]]:
        self.waits = (*self.waits, len(self.waits))
        return super().outcomes(wait=wait) if len(self.waits) == 4 else []


def test_who_waits_is_told_for_whom():
    engine = Waiting()
    told: list[Any] = []
    window = window_with(engine, size=1)
    window.on_wait = told.append
    assert said(window, 0) == "answer 0"
    assert told == [(0, 1), (0, 1, 2)]


def test_an_answer_between_begins_the_count_anew():
    position = 0

    def route(model: str, dataset: str | None) -> Route:
        return routes_without(*("m" if position != 3 else ""))(model, dataset)

    def said_at(number: int) -> str:
        nonlocal position
        position = number
        return said(window, number)

    window = window_with(Engine(), size=1, route=route)
    texts = [said_at(number) for number in (1, 2, 3, 4)]
    assert texts == ["wrong key", "wrong key", "answer 3", "wrong key"]
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


def test_what_was_cut_is_a_flag_of_the_answer(tmp_path: Path) -> None:
    class Writing(Engine):
        """Stores what it answers, as callers do."""

        def __init__(self, store: Store, *replies: Reply) -> None:
            super().__init__()
            self.store, self.replies = store, list(replies)

        def submit(self, work: Work, lane: str) -> None:
            assert isinstance(work.task, Request)
            reply = self.replies.pop(0)
            self.store.put(work.task, reply)
            self._due.append((work.key, reply))

    def answer(limit: int, *replies: Reply) -> tuple[str, tuple[str, ...]]:
        with Store.open(tmp_path) as store:
            engine = Writing(store, *(limited(reply, limit) for reply in replies))
            window = window_with(engine, size=1, max_reply=limit, store=store)
            answer = completed(window, CASES[0]).answer
        assert answer is not None
        return answer.text, answer.flags

    long = Reply("x" * 5000, finish_reason="length")
    assert answer(2000, long) == ("x" * 2000, ("truncated", "cut"))
    # Out of the store: as it was kept, or less where less is wanted now.
    assert answer(4000) == ("x" * 2000, ("truncated", "cut"))
    assert answer(1000) == ("x" * 1000, ("truncated", "cut"))
