"""Conversations ahead of the items: what is begun, told and counted when the window moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.asking import Models
from pytest_tablebench.cases import Case
from pytest_tablebench.datasets import Example
from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.executors import Work
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.models._scripted import ScriptedModel
from pytest_tablebench.models.store import Store
from pytest_tablebench.registry import Registry
from pytest_tablebench.settings import Settings
from pytest_tablebench.strategies import Direct
from pytest_tablebench.talks import Line, Talks

EXAMPLE = Example("1", {}, "", (), "")
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


def talks_with(engine: Engine, window: int, *, models: str = "m", provider: Any = None) -> Talks:
    def render(case: Case) -> tuple[Example, str]:
        return Example(case.example_id, {}, "", (), ""), case.example_id

    found: Any = engine
    talks = Talks(
        render=render,
        strategy=Direct(),
        line=lambda model: Line(model, {}, provider=provider),
        store=lambda: None,
        executor=lambda: found,
        models=tuple(models),
        retries=0,
        patience=60.0,
        clock=lambda: engine.now,
    )
    talks.window = window
    talks.expect(CASES)
    return talks


def said(talks: Talks, position: int) -> str:
    talk = talks.talk(CASES[position], position)
    return str(talk.answer if talk.error is None else talk.error)


def test_the_window_is_begun_and_no_more():
    engine = Engine()
    talks = talks_with(engine, window=3)
    assert said(talks, 0) == "answer 0"
    assert [number for number, _ in engine.asked] == [0, 1, 2]
    assert said(talks, 1) == "answer 1"
    assert [number for number, _ in engine.asked] == [0, 1, 2, 3]


def test_a_case_that_is_begun_twice_counts_once_as_failed():
    # 2 and 3 fail ahead of time; the window goes past 2 and back to it, so it is begun again.
    engine = Engine(2, 3)
    talks = talks_with(engine, window=4)
    talks.expect(CASES[:4])
    assert [said(talks, position) for position in (0, 1, 3, 2)] == [
        *("answer 0", "answer 1", "wrong key", "wrong key")
    ]
    assert engine.asked == [(number, False) for number in (0, 1, 2, 3, 2, 3)]
    assert talks.stopped is None


def test_three_cases_in_a_row_that_fail_for_all_stop_the_process():
    engine = Engine(1, 2, 3)
    talks = talks_with(engine, window=1)
    assert said(talks, 0) == "answer 0"
    assert [said(talks, position) for position in (1, 2, 3)] == ["wrong key"] * 3
    assert talks.stopped is not None
    assert "3 cases in a row" in talks.stopped
    assert "wrong key" in talks.stopped
    assert said(talks, 4) == talks.stopped
    assert [number for number, _ in engine.asked] == [0, 1, 2, 3]


BOTH = [
    Case("d", str(number), "html", "none", model, f"d/{number}/{model}")
    for number, model in enumerate("nm" * 4)
]
"""Cases of two models in turns: the even numbers are those of one."""


def test_a_model_that_always_fails_stops_no_other():
    engine = Engine(0, 2, 4, 6)
    talks = talks_with(engine, window=1, models="nm")
    talks.expect(BOTH)
    told = [talks.talk(case, position) for position, case in enumerate(BOTH)]
    answers = [str(talk.answer) for talk in told if talk.answer]
    assert answers == ["answer 1", "answer 3", "answer 5", "answer 7"]
    *failed, stopped = [talk.error for talk in told if isinstance(talk.error, ModelError)]
    assert [error.reason for error in failed] == ["auth"] * 3
    assert stopped.reason == "model_stopped"
    assert "stopped after 3 cases in a row" in str(stopped)
    assert [number for number, _ in engine.asked] == [0, 1, 2, 3, 4, 5, 7]
    assert talks.stopped is None


def test_the_last_model_that_fails_stops_the_process():
    talks = talks_with(Engine(*range(8)), window=1, models="nm")
    talks.expect(BOTH)
    for position, case in enumerate(BOTH):
        assert talks.stopped is None or position >= 6
        talks.talk(case, position)
    assert talks.stopped is not None


def test_without_an_engine_nobody_is_asked_a_second_time():
    gone = ModelError("the process is gone", reason="engine", whole_run=True)

    def connect() -> Any:
        raise gone

    talks = talks_with(Engine(), window=1, models="nm")
    talks._make_executor = connect
    said = [str(talks.talk(case).error) for case in BOTH[:2]]
    assert said == ["the process is gone", "stopped: the process is gone"]
    assert talks.stopped == "stopped: the process is gone"


def test_a_request_that_could_not_be_sent_is_not_waited_for():
    class Refusing(Engine):
        def submit(self, *_: Any) -> None:
            raise ValueError("cannot be sent")

    talks = talks_with(Refusing(), window=1)
    assert [said(talks, 0), said(talks, 0)] == ["cannot be sent"] * 2


def test_an_engine_that_did_not_start_concerns_every_case():
    models = Models(Settings(), Registry())

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
    talks = talks_with(engine, window=1, models="nm")
    talks.expect(BOTH)
    told = [talks.talk(case, position) for position, case in enumerate(BOTH)]
    assert [str(talk.error) for talk in told[::2]] == ["given up"] * 4
    assert [number for number, _ in engine.asked] == [0, 1, 3, 5, 7]
    assert talks.stopped is None


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
    talks = talks_with(engine, window=1, provider=Busy(engine, 40.0, None, 20.0, 39.0, 1.0))
    for position in range(5):
        assert talks.stopped is None
        said(talks, position)
        engine.now += 1000  # what the test itself takes is no wait
    assert talks.stopped == (
        "stopped, because no call was answered for 60 s (--bench-patience): too many requests"
    )


class Waiting(Engine):
    """Answers at the third look, and says who is waited for meanwhile."""

    def outcomes(self, *, wait: bool) -> list[tuple[str, Any]]:
        self.waits = (*self.waits, len(self.waits))
        return super().outcomes(wait=wait) if len(self.waits) == 3 else []


def test_who_waits_is_told_for_whom():
    engine, told = Waiting(), []
    talks = talks_with(engine, window=1)
    talks.on_wait = told.append
    assert said(talks, 0) == "answer 0"
    assert told == [(0,), (0, 1)]


def test_an_answer_between_begins_the_count_anew():
    talks = talks_with(Engine(1, 2, 4), window=1)
    assert [said(talks, position) for position in (1, 2, 3, 4)] == [
        *("wrong key", "wrong key", "answer 3", "wrong key")
    ]
    assert talks.stopped is None


def test_only_a_rerun_is_meant_to_be_tried_again():
    engine = Engine(1)
    talks = talks_with(engine, window=2)
    said(talks, 0)
    said(talks, 1)  # failed ahead of time
    said(talks, 1)  # the item once more
    said(talks, 6)
    said(talks, 0)  # the window goes back over an item that has run
    assert [again for number, again in engine.asked if number == 1] == [False, True, False]


def test_a_provider_is_not_asked_for_what_another_run_has_paid_for_meanwhile(tmp_path):
    asked: list[str] = []

    class Counting:
        def complete(self, request: Request) -> Reply:
            asked.append(request.text)
            return Reply("paid here")

    talks = talks_with(Engine(), window=1)
    store, other = Store.open(tmp_path), Store.open(tmp_path)
    talks._open_store, talks._keep = (lambda: store), True
    talks._line = lambda model: Line(model, {}, provider=Counting())
    assert said(talks, 0) == "paid here"
    other.put(talks.first_request(CASES[1], EXAMPLE, "1"), Reply("paid there"))
    assert said(talks, 1) == "paid there"
    assert asked == ["0"]
    store.close()
    other.close()


def test_what_was_cut_is_a_flag_of_the_answer(tmp_path: Path) -> None:
    def render(case: Case) -> tuple[Example, str]:
        return Example(case.example_id, {}, "", (), ""), case.example_id

    def said(limit: int, script: ScriptedModel) -> tuple[str, tuple[str, ...]]:
        with Store.open(tmp_path) as store:
            talks = Talks(
                render=render,
                strategy=Direct(),
                line=lambda model: Line(model, {}, provider=script),
                store=lambda: store,
                executor=lambda: pytest.fail("an engine is asked"),
                models=("m",),
                retries=0,
                patience=60.0,
                max_reply=limit,
                keep=True,
            )
            answer = talks.talk(CASES[0]).answer
        assert answer is not None
        return answer.text, answer.flags

    long = Reply("x" * 5000, finish_reason="length")
    assert said(2000, ScriptedModel([long])) == ("x" * 2000, ("truncated", "cut"))
    # Out of the store: as it was kept, or less where less is wanted now.
    assert said(4000, ScriptedModel([])) == ("x" * 2000, ("truncated", "cut"))
    assert said(1000, ScriptedModel([])) == ("x" * 1000, ("truncated", "cut"))
