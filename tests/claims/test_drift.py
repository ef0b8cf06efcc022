"""The sequential test of a watch: worked figures, and cells of the simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.watch import World, alarm, changed_answers
from pytest_tablebench.claims.drift import AnswerTest, DriftTest, looks_until
from pytest_tablebench.claims.drift._sequence import deviation, log_goal, mean_bound
from tests.support.present import present


def test_the_bound_of_a_mean_of_zeros_is_exact() -> None:
    # Of n zeros the relative entropy is -log(1 - bound), so the bound is 1 - error^(1/n).
    assert mean_bound(0.0, 60, 0.01) == pytest.approx(1 - 0.01 ** (1 / 60), abs=1e-9)


@given(st.floats(0.05, 50), st.floats(0.001, 0.2), st.integers(1, 10))
def test_bennetts_bound_is_met_with_equality(variance: float, error: float, runs: int) -> None:
    excess = deviation(variance, error, runs=runs)
    ratio = excess / variance
    tail = math.exp(-variance * runs * ((1 + ratio) * math.log1p(ratio) - ratio))
    assert tail == pytest.approx(error, rel=1e-6)
    assert excess >= math.sqrt(2 * variance * math.log(1 / error) / runs)  # above the normal one


def test_the_errors_of_all_starts_sum_to_the_error_of_the_looks() -> None:
    total = math.fsum(math.exp(-log_goal(start)) for start in range(100_000))
    assert total == pytest.approx(0.005, rel=1e-4)


def test_identical_answers_are_no_drift() -> None:
    scores = np.array([1.0, 0.0] * 30)
    watch = DriftTest(np.array([scores] * 3).T, list(range(60)))
    for _ in range(100):
        watch.look(scores)
    standing = watch.standing()
    assert standing.direction is None
    assert standing.recent == standing.drop.value == 0
    assert present(standing.drop.low) == standing.drop.negated.low
    assert present(standing.drop.low) < 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_change_is_dated_and_has_a_direction(sign: int) -> None:
    scores = np.array([1.0, 0.0] * 30)
    changed = scores.copy()
    changed[[0, 2, 4, 6, 8, 10] if sign > 0 else [1, 3, 5, 7, 9, 11]] = float(sign < 0)
    watch = DriftTest(np.array([scores] * 10).T, list(range(60)))
    for look in range(60):
        watch.look(changed if look >= 40 else scores)
    standing = watch.standing()
    assert standing.direction == ("drop" if sign > 0 else "rise")
    assert standing.drift is not None
    assert 38 <= present(standing.since) <= 42
    assert standing.recent == pytest.approx(sign * 6 / 60)
    inner = standing.drift if sign > 0 else standing.drift.negated
    assert present(inner.low) > 0


def test_cases_of_one_cluster_count_as_one_value() -> None:
    scores = np.ones(60)
    watch = DriftTest(np.array([scores] * 3).T, ["table"] * 30 + list(range(30)))
    assert watch.noise.n == 31
    lower = scores.copy()
    lower[:30] = 0
    watch.look(lower)
    assert watch.standing().recent == pytest.approx(1 / 31)


def test_a_missing_answer_is_no_difference() -> None:
    scores = np.ones(60)
    watch = DriftTest(np.array([scores] * 3).T, list(range(60)))
    scores[:5] = np.nan
    watch.look(scores)
    assert watch.standing().recent == 0


@pytest.mark.parametrize(("noise", "repeats"), [(0.1, 3), (0.3, 10)])
def test_false_alarms_are_rare_and_a_drop_is_found(noise: float, repeats: int) -> None:
    worlds = [World(200, noise, seed, repeats) for seed in range(30)]
    # 5 of 30 or more would have a probability of 2 % at a rate of 5 %.
    assert sum(alarm(world, 60) is not None for world in worlds) < 5
    delays = [alarm(World(200, noise, seed, repeats), 60, 0.1) for seed in range(12)]
    assert None not in delays
    assert np.median([delay for delay in delays if delay]) <= 10


def test_the_announced_delay_is_that_of_the_simulation() -> None:
    world = World(200, 0.1, 0, 10)
    announced = looks_until(0.05, world.watch().noise)
    delays = [alarm(World(200, 0.1, seed, 10), 60, 0.05) for seed in range(15)]
    assert announced is not None
    assert np.median([delay or 61 for delay in delays]) <= announced <= 20
    assert looks_until(0.001, world.watch().noise) is None


def test_other_answers_of_equal_quality_are_noticed_without_a_drop() -> None:
    assert [changed_answers(seed, swapped=0.5) is not None for seed in range(10)] == [True] * 10
    assert [changed_answers(seed, swapped=0.0) for seed in range(20)].count(None) >= 18


def test_new_answers_are_counted_against_all_repeats() -> None:
    watch = AnswerTest([[1, 1, 2], [3, 3, 3], [4, 5, 6]], ["a", "b", "c"])
    assert watch.noise_share == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert watch.look([2, 9, 0]) == 1
