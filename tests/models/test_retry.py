from __future__ import annotations

import inspect
import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Message, Reply, Request, RetryPolicy, ask
from pytest_tablebench.models._scripted import Entry, ScriptedModel

REQUEST = Request("test", (Message("user", "hi"),), case_id="starter/1")


def busy(retry_after: float | None = None) -> ModelError:
    return ModelError("busy", reason="rate_limit", retryable=True, retry_after=retry_after)


class Asked:
    """One question through the loop: what came of it and what happened on the way."""

    def __init__(self, replies: Iterable[Entry], retries: int = 5) -> None:
        self.model = ScriptedModel(list(replies))
        self.waits: list[float] = []
        self.reply: Reply | None = None
        self.error: ModelError | None = None
        try:
            self.reply = ask(
                self.model,
                REQUEST,
                retries=retries,
                sleep=self.waits.append,
            )
        except ModelError as error:
            self.error = error

    @property
    def attempts(self) -> int:
        return len(self.model.requests)


def test_answer_at_once() -> None:
    asked = Asked(["26", "27"])
    assert asked.reply == Reply("26", "stop")
    assert (asked.attempts, asked.waits) == (1, [])


def test_answer_after_retries() -> None:
    asked = Asked([busy(), busy(), "26"])
    assert asked.reply == Reply("26", "stop")
    assert asked.attempts == 3
    assert asked.model.requests == [REQUEST] * 3


@pytest.mark.parametrize("retries", [1, 5])
def test_no_answer_after_the_last_retry(retries: int) -> None:
    asked = Asked([busy(retry_after=2)] * 10, retries=retries)
    assert asked.attempts == retries + 1
    assert len(asked.waits) == retries
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
    assert (asked.attempts, asked.waits) == (1, [])


def test_incurable_error_ends_the_retries() -> None:
    asked = Asked([busy(), ModelError("wrong key", reason="auth", whole_run=True), "26"])
    assert asked.attempts == 2
    assert asked.error is not None
    assert (str(asked.error), asked.error.reason) == ("wrong key (after 2 attempts)", "auth")


def test_server_says_how_long_to_wait() -> None:
    assert Asked([busy(7), busy(0.5), busy(60), "26"]).waits == [7, 0.5, 60]


def test_upper_bound_of_the_wait_doubles_up_to_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    assert Asked([busy()] * 9, retries=8).waits == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize("wish", [0, -1])
def test_server_that_wishes_no_wait_is_not_flooded(
    monkeypatch: pytest.MonkeyPatch, wish: float
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    assert Asked([busy(wish)] * 4, retries=3).waits == [1, 2, 4]


def test_lower_bound_of_the_wait_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    assert Asked([busy()] * 9, retries=8).waits == [0] * 8


def test_wish_above_the_cap_is_neither_shortened_nor_waited_for() -> None:
    asked = Asked([busy(), busy(3600), "26"])
    assert asked.attempts == 2
    assert len(asked.waits) == 1
    error = asked.error
    assert error is not None
    assert str(error) == (
        "busy; the server asks for a wait of 3600 s, more than the 60 s allowed: "
        "run again later (after 2 attempts)"
    )
    # Every other case would be told the same.
    assert (error.reason, error.whole_run, error.retry_after) == ("rate_limit", True, 3600)


def test_wish_above_the_cap_at_the_first_attempt() -> None:
    shared = busy(61)
    asked = Asked([shared, "26"])
    assert (asked.attempts, asked.waits) == (1, [])
    assert "61 s, more than the 60 s allowed" in str(asked.error)
    assert (str(shared), shared.whole_run) == ("busy", False)


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


class TestPolicy:
    """The rule alone, as an asynchronous loop uses it."""

    def test_number_of_retries(self) -> None:
        policy = RetryPolicy(2)
        waits = [policy.wait(busy(3), attempt) for attempt in (1, 2, 3)]
        assert waits == [3, 3, None]

    def test_no_retries(self) -> None:
        assert RetryPolicy(0).wait(busy(3), 1) is None

    def test_error_that_cannot_be_cured(self) -> None:
        wrong_key = ModelError("wrong key", reason="auth", retry_after=1)
        policy = RetryPolicy(5)
        assert policy.wait(wrong_key, 1) is None
        assert policy.final(wrong_key, 1) is wrong_key

    def test_cap_is_a_setting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("random.uniform", lambda low, high: high)
        policy = RetryPolicy(9, max_wait_s=5)
        assert [policy.wait(busy(), attempt) for attempt in (1, 2, 3, 4, 5)] == [1, 2, 4, 5, 5]
        assert policy.wait(busy(5), 1) == 5
        assert policy.wait(busy(5.5), 1) is None
        assert "5.5 s, more than the 5 s allowed" in str(policy.final(busy(5.5), 1))

    def test_wish_of_an_error_that_cannot_be_cured_is_not_mentioned(self) -> None:
        spent = ModelError("quota", reason="rate_limit", whole_run=True, retry_after=3600)
        assert str(RetryPolicy(5).final(spent, 2)) == "quota (after 2 attempts)"

    @given(
        retries=st.integers(0, 20),
        attempt=st.integers(1, 25),
        cap=st.floats(0.001, 1000),
        retryable=st.booleans(),
        wish=st.none() | st.floats(-10, 2000),
    )
    def test_wait_is_within_its_bounds(
        self, *, retries: int, attempt: int, cap: float, retryable: bool, wish: float | None
    ) -> None:
        error = ModelError("busy", reason="x", retryable=retryable, retry_after=wish)
        wait = RetryPolicy(retries, cap).wait(error, attempt)
        wished = wish is not None and wish > 0
        if not retryable or attempt > retries or (wish is not None and wish > cap):
            assert wait is None
        elif wished:
            assert wait == wish
        else:
            assert wait is not None
            assert 0 <= wait <= min(cap, 2 ** (attempt - 1))


def test_really_sleeps_unless_told_otherwise() -> None:
    assert inspect.signature(ask).parameters["sleep"].default is time.sleep
