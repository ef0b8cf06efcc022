"""Retries of failed calls and the waits before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models.retry import RetryPolicy


def busy(retry_after: float | None = None) -> ModelError:
    return ModelError("busy", reason="rate_limit", retryable=True, retry_after=retry_after)


def test_a_permanent_error_is_not_retried() -> None:
    wrong_key = ModelError("wrong key", reason="auth", retry_after=1)
    policy = RetryPolicy(5)
    assert policy.wait(wrong_key, 1) is None
    assert policy.final(wrong_key, 1) is wrong_key


def test_the_longest_wait_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    policy = RetryPolicy(9, max_wait_s=5)
    assert [policy.wait(busy(), attempt) for attempt in (1, 2, 3, 4, 5)] == [1, 2, 4, 5, 5]
    assert policy.wait(busy(5), 1) == 5
    assert policy.wait(busy(5.5), 1) is None
    assert "5.5 s, more than the 5 s allowed" in str(policy.final(busy(5.5), 1))


def test_the_requested_wait_of_a_permanent_error_is_not_mentioned() -> None:
    spent = ModelError("quota", reason="rate_limit", whole_run=True, retry_after=3600)
    assert str(RetryPolicy(5).final(spent, 2)) == "quota (after 2 attempts)"


@given(
    retries=st.integers(0, 20),
    attempt=st.integers(1, 25),
    cap=st.floats(0.001, 1000),
    retryable=st.booleans(),
    wish=st.none() | st.floats(-10, 2000),
)
def test_waits_are_within_their_bounds(
    *, retries: int, attempt: int, cap: float, retryable: bool, wish: float | None
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


def test_the_wait_doubles_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    waits = [RetryPolicy(8).wait(busy(), attempt) for attempt in range(1, 10)]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, None]


@pytest.mark.parametrize("wish", [0, -1])
def test_a_server_that_requests_no_wait_is_not_flooded(
    monkeypatch: pytest.MonkeyPatch, wish: float
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    assert [RetryPolicy(3).wait(busy(wish), attempt) for attempt in (1, 2, 3)] == [1, 2, 4]


def test_waits_are_random() -> None:
    waits = [RetryPolicy(8).wait(busy(), attempt) for attempt in range(1, 9) for _ in range(5)]
    assert len(set(waits)) > 30


def test_a_requested_wait_above_the_longest_wait_ends_the_run() -> None:
    error = busy(3600)
    final = RetryPolicy(5).final(error, 2)
    assert str(final) == (
        "busy; the server asks for a wait of 3600 s, more than the 60 s allowed: "
        "run again later (after 2 attempts)"
    )
    assert (final.reason, final.whole_run, final.retry_after) == ("rate_limit", True, 3600)
    assert (str(error), error.whole_run) == ("busy", False)
