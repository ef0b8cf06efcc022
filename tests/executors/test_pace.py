"""Room, cool-downs and outages of one provider, under a simulated clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.executors._pace import Pace

PATIENCE_S = 180.0

ENDS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["succeed", "turned_away", "unreachable", "other"]),
            "retry_after": st.none() | st.floats(0, 100),
            "wait": st.none() | st.floats(0, 60),
            "passes": st.floats(0, 30),
        }
    ),
    max_size=200,
)


def end(pace: Pace, now: float, kind: str, retry_after: float | None, wait: float | None) -> None:
    if kind == "succeed":
        pace.succeed()
    else:
        pace.fail(
            now,
            turned_away=kind == "turned_away",
            unreachable=kind == "unreachable",
            retry_after=retry_after,
            wait=wait,
        )


def turn_away(pace: Pace, calls: int, *, wait: float | None = None) -> None:
    for _ in range(calls):
        pace.start(0.0)
        pace.fail(0.0, turned_away=True, wait=wait)


def answer(pace: Pace, calls: int) -> None:
    for _ in range(calls):
        pace.start(0.0)
        pace.succeed()


@given(st.integers(1, 300), ENDS)
def test_room_and_counts_stay_within_bounds(most: int, ends: list[dict[str, object]]) -> None:
    pace, now = Pace(most, PATIENCE_S), 0.0
    for step in ends:
        started = 0
        while pace.may_start(now) and started < most + 1:
            pace.start(0.0)
            started += 1
        assert pace.in_flight <= most
        if not pace.in_flight:
            assert now < pace.cool_until  # with nothing under way, only a cool-down holds calls
            now = pace.cool_until
            assert pace.may_start(now)
            continue
        before = pace.in_flight
        end(pace, now, step["kind"], step["retry_after"], step["wait"])  # type: ignore[arg-type]
        assert pace.in_flight == before - 1
        assert 1 <= pace.room <= most
        assert 1 <= pace.limit <= most
        if step["kind"] != "succeed" and step["retry_after"] is not None:
            assert pace.cool_until >= now + step["retry_after"]  # type: ignore[operator]
            assert not pace.may_start(now) or now + step["retry_after"] == now  # type: ignore[operator]
        now += step["passes"]  # type: ignore[operator]


def test_a_new_provider_may_use_all_connections() -> None:
    pace = Pace(3, PATIENCE_S)
    for _ in range(3):
        assert pace.may_start(0.0)
        pace.start(0.0)
    assert not pace.may_start(0.0)
    pace.succeed()
    assert pace.may_start(0.0)


@pytest.mark.parametrize(("turned_away", "room"), [(10, 5.0), (4, 8.0), (1, 9.5), (0, 10.0)])
def test_a_round_reduces_the_room_by_half_the_share_turned_away(
    turned_away: int, room: float
) -> None:
    pace = Pace(10, PATIENCE_S)
    turn_away(pace, turned_away)
    answer(pace, 10 - turned_away)
    assert pace.room == pytest.approx(room)  # 10 (1 - share / 2)


def test_the_room_grows_by_a_twentieth_and_at_least_one() -> None:
    pace = Pace(100, PATIENCE_S)
    turn_away(pace, 100)
    assert pace.room == 50
    answer(pace, 50)
    assert pace.room == pytest.approx(52.5)
    small = Pace(10, PATIENCE_S)
    turn_away(small, 10)
    answer(small, 5)
    assert small.room == 6
    answer(small, 1000)
    assert small.room == 10


def test_other_failures_do_not_reduce_the_room() -> None:
    pace = Pace(10, PATIENCE_S)
    for _ in range(30):
        pace.start(0.0)
        pace.fail(0.0, wait=5.0)
    assert pace.room == 10
    assert pace.may_start(0.0)


def test_retry_after_pauses_the_provider() -> None:
    pace = Pace(10, PATIENCE_S)
    pace.start(0.0)
    pace.fail(100.0, turned_away=True, retry_after=7.0, wait=7.0)
    assert not pace.may_start(106.9)
    assert pace.may_start(107.0)
    # A later, shorter value does not shorten it.
    pace.start(0.0)
    pace.fail(100.0, retry_after=1.0)
    assert not pace.may_start(106.9)


def test_one_call_turned_away_does_not_pause_others() -> None:
    pace = Pace(10, PATIENCE_S)
    pace.start(0.0)
    pace.fail(0.0, turned_away=True, wait=30.0)
    assert pace.may_start(0.0)


def test_many_calls_turned_away_pause_the_provider() -> None:
    pace = Pace(10, PATIENCE_S)
    turn_away(pace, 6, wait=30.0)  # more than half of a round of ten
    assert not pace.may_start(29.9)
    assert pace.may_start(30.0)


def test_during_an_outage_one_call_probes_the_provider() -> None:
    pace = Pace(10, PATIENCE_S)
    answer(pace, 1)
    pace.start(0.0)
    pace.start(0.0)
    pace.fail(5.0, unreachable=True, wait=1.0)
    assert pace.down_since == 5.0
    assert not pace.may_start(5.0)  # the other call is in flight
    pace.fail(6.0, unreachable=True, wait=1.0)
    assert pace.down_since == 5.0  # since the first
    assert pace.may_start(6.0)
    pace.start(0.0)
    assert not pace.may_start(6.0)
    pace.succeed()
    assert pace.down_since is None
    assert pace.limit == 10


def test_any_response_ends_an_outage() -> None:
    pace = Pace(10, PATIENCE_S)
    answer(pace, 1)
    pace.start(0.0)
    pace.fail(5.0, unreachable=True, wait=1.0)
    pace.start(0.0)
    pace.fail(6.0, wait=1.0)  # status 503, say
    assert pace.down_since is None


def test_a_silent_provider_gets_no_call_after_the_patience() -> None:
    pace = Pace(10, 60.0)
    pace.start(0.0)
    pace.start(0.0)
    pace.fail(100.0, passing=True)
    pace.fail(130.0, passing=True)
    assert not pace.out(159.9)
    assert pace.may_start(159.9)
    assert pace.out(160.0)  # since the first
    assert not pace.may_start(160.0)
    pace.start(160.0)
    pace.succeed()
    assert not pace.out(1e9)


def test_silence_is_not_counted_without_pending_calls() -> None:
    pace = Pace(10, 60.0)
    pace.start(90.0)
    pace.fail(100.0, passing=True)
    pace.rest(110.0)
    assert not pace.out(1e9)
    pace.start(1000.0)
    assert not pace.out(1049.9)
    assert pace.out(1050.0)  # 10 s before the rest, 50 s after it


def test_a_refusal_is_an_answer() -> None:
    pace = Pace(10, 60.0)
    for now, passing in ((100.0, True), (130.0, False), (140.0, True)):
        pace.start(0.0)
        pace.fail(now, passing=passing)
    assert not pace.out(199.9)
    assert pace.out(200.0)


def test_a_provider_that_never_answered_has_no_outage() -> None:
    pace = Pace(10, PATIENCE_S)
    pace.start(0.0)
    pace.fail(0.0, unreachable=True, wait=1.0)
    assert pace.down_since is None
    assert pace.limit == 10
