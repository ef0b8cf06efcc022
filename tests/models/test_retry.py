from __future__ import annotations

import inspect
import time
from collections.abc import Iterable

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Message, Reply, Request, ask
from pytest_tablebench.models._scripted import Entry, ScriptedModel

REQUEST = Request("test", (Message("user", "hi"),), case_id="starter/1")


def busy(retry_after: float | None = None) -> ModelError:
    return ModelError("busy", reason="rate_limit", retryable=True, retry_after=retry_after)


class Asked:
    """One question through the loop: what came of it and what happened on the way."""

    def __init__(self, replies: Iterable[Entry], retries: int = 5) -> None:
        self.model = ScriptedModel(list(replies))
        self.waits: list[float] = []
        self.told: list[tuple[str, int, float]] = []
        self.reply: Reply | None = None
        self.error: ModelError | None = None
        try:
            self.reply = ask(
                self.model,
                REQUEST,
                retries=retries,
                sleep=self.waits.append,
                on_retry=lambda error, attempt, wait: self.told.append(
                    (error.reason, attempt, wait)
                ),
            )
        except ModelError as error:
            self.error = error

    @property
    def attempts(self) -> int:
        return len(self.model.requests)


def test_answer_at_once() -> None:
    asked = Asked(["26", "27"])
    assert asked.reply == Reply("26", "stop")
    assert (asked.attempts, asked.waits, asked.told) == (1, [], [])


def test_answer_after_retries() -> None:
    asked = Asked([busy(), busy(), "26"])
    assert asked.reply == Reply("26", "stop")
    assert asked.attempts == 3
    assert asked.model.requests == [REQUEST] * 3
    assert asked.told == [("rate_limit", 1, asked.waits[0]), ("rate_limit", 2, asked.waits[1])]


@pytest.mark.parametrize("retries", [1, 5])
def test_no_answer_after_the_last_retry(retries: int) -> None:
    asked = Asked([busy(retry_after=2)] * 10, retries=retries)
    assert asked.attempts == retries + 1
    assert len(asked.waits) == len(asked.told) == retries
    error = asked.error
    assert error is not None
    assert str(error) == f"busy (after {retries + 1} attempts)"
    assert (error.reason, error.retryable, error.whole_run, error.retry_after) == (
        "rate_limit",
        True,
        False,
        2,
    )


def test_last_error_counts() -> None:
    down = ModelError("down", reason="unreachable", retryable=True, whole_run=True)
    asked = Asked([busy(), down], retries=1)
    assert asked.error is not None
    assert (str(asked.error), asked.error.reason) == ("down (after 2 attempts)", "unreachable")
    assert asked.error.whole_run


def test_same_error_object_raised_for_two_requests_is_not_changed() -> None:
    shared = busy()
    first, second = (Asked([shared] * 2, retries=1) for _ in range(2))
    assert str(first.error) == str(second.error) == "busy (after 2 attempts)"
    assert str(shared) == "busy"


def test_no_retries_means_one_attempt() -> None:
    asked = Asked([busy(), "26"], retries=0)
    assert (asked.attempts, asked.waits) == (1, [])
    assert str(asked.error) == "busy"


def test_error_that_cannot_be_cured_is_not_retried() -> None:
    wrong_key = ModelError("wrong key", reason="auth", whole_run=True)
    asked = Asked([wrong_key, "26"])
    assert asked.error is wrong_key
    assert str(asked.error) == "wrong key"
    assert (asked.attempts, asked.waits, asked.told) == (1, [], [])


def test_incurable_error_ends_the_retries() -> None:
    asked = Asked([busy(), ModelError("wrong key", reason="auth", whole_run=True), "26"])
    assert asked.attempts == 2
    assert asked.error is not None
    assert (str(asked.error), asked.error.reason) == ("wrong key (after 2 attempts)", "auth")


def test_server_says_how_long_to_wait() -> None:
    asked = Asked([busy(7), busy(0), busy(3600), busy(-1), "26"])
    assert asked.waits == [7, 0, 60, 0]


def test_upper_bound_of_the_wait_doubles_up_to_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    assert Asked([busy()] * 9, retries=8).waits == [1, 2, 4, 8, 16, 32, 60, 60]


def test_lower_bound_of_the_wait_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    assert Asked([busy()] * 9, retries=8).waits == [0] * 8


def test_waits_are_drawn_at_random() -> None:
    waits = [Asked([busy()] * 9, retries=8).waits for _ in range(5)]
    assert len({wait for run in waits for wait in run}) > 30
    for run in waits:
        for attempt, wait in enumerate(run):
            assert 0 <= wait <= min(60, 2**attempt)


def test_a_thousand_retries() -> None:
    asked = Asked([busy()] * 1001, retries=1000)
    assert asked.attempts == 1001
    assert max(asked.waits) <= 60


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_other_exceptions_pass_through(kind: type[BaseException]) -> None:
    calls: list[Request] = []

    class Broken:
        def complete(self, request: Request) -> Reply:
            calls.append(request)
            raise kind

    waits: list[float] = []
    with pytest.raises(kind):
        ask(Broken(), REQUEST, retries=5, sleep=waits.append)
    assert (calls, waits) == ([REQUEST], [])


def test_ctrl_c_while_waiting_passes_through() -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    model = ScriptedModel([busy(), "26"])
    with pytest.raises(KeyboardInterrupt):
        ask(model, REQUEST, retries=5, sleep=interrupted)
    assert len(model.requests) == 1


def test_on_retry_is_told_before_the_wait() -> None:
    order: list[str] = []
    ask(
        ScriptedModel([busy(), "26"]),
        REQUEST,
        retries=1,
        sleep=lambda _: order.append("wait"),
        on_retry=lambda *_: order.append("told"),
    )
    assert order == ["told", "wait"]


def test_really_sleeps_unless_told_otherwise() -> None:
    assert inspect.signature(ask).parameters["sleep"].default is time.sleep
