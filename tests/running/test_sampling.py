"""Drawing configurations for each example, and what that costs."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product
from statistics import variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.claims.summary._repeats import sampling_cost
from pytest_tablebench.datasets.case import cross, draw_configurations
from pytest_tablebench.results import ScoreRow

GRID = list(product(["none", "transpose"], ["html", "csv", "json"]))


@given(examples=st.integers(1, 60), count=st.integers(1, 6), seed=st.integers(0, 5))
def test_draws_are_distinct_and_balanced(examples, count, seed):
    drawn = list(draw_configurations("toy", examples, GRID, count, seed=seed))
    assert len(drawn) == examples
    assert all(len(hand) == count and hand <= set(GRID) for hand in drawn)
    used = Counter(configuration for hand in drawn for configuration in hand)
    counts = [used[configuration] for configuration in GRID]
    assert max(counts) - min(counts) <= 1


@given(examples=st.integers(1, 40), more=st.integers(0, 20), count=st.integers(1, 6))
def test_fewer_examples_get_the_same_draws(examples, more, count):
    short = list(draw_configurations("toy", examples, GRID, count))
    long = list(draw_configurations("toy", examples + more, GRID, count))
    assert long[:examples] == short


def test_draws_depend_on_dataset_and_seed_alone():
    random.seed(1)
    first = list(draw_configurations("toy", 30, GRID, 2))
    random.seed(2)
    assert list(draw_configurations("toy", 30, GRID, 2)) == first
    assert list(draw_configurations("other", 30, GRID, 2)) != first
    assert list(draw_configurations("toy", 30, GRID, 2, seed=1)) != first


def test_all_models_are_asked_the_same_configurations():
    cases, node_ids = cross(
        "toy", ["a", "b", "c"], ["html", "csv"], ["none", "transpose"], ["x", "y"], per_example=2
    )
    assert len(cases) == len(set(node_ids)) == 3 * 2 * 2
    asked = {
        model: {(c.example_id, c.serializer, c.perturbation) for c in cases if c.model == model}
        for model in ("x", "y")
    }
    assert asked["x"] == asked["y"]


def test_cost_by_hand():
    # Means .5, 1, 0: variance .25. Variance inside: .5, 0, 0, mean 1/6. Two drawn of four:
    # the whole grid would have .25 - 1/6 * (1/2 - 1/4) = .25 - 1/24 = 5/24.
    cost = sampling_cost([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], 4)
    assert cost is not None
    assert cost[0] == pytest.approx(math.sqrt(0.25 / (5 / 24)), abs=1e-12)
    assert not cost[1]


def test_one_configuration_rests_on_an_assumption():
    # r + (1 - r)/C with r = .5 and C = 35 is 18/35.
    cost = sampling_cost([[1.0], [0.0], [1.0]], 35)
    assert cost is not None
    assert cost[0] == pytest.approx(math.sqrt(35 / 18), abs=1e-12)
    assert cost[1]


def test_the_whole_grid_costs_nothing():
    assert sampling_cost([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], 2) == (1.0, False)


@pytest.mark.parametrize("examples", [[], [[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])
def test_too_little_to_tell(examples):
    assert sampling_cost(examples, 35) is None


def test_cost_is_what_a_simulation_shows():
    """Draw 5 of 35 configurations again and again from one fixed set of examples."""
    draw = random.Random(7)
    centres = [draw.betavariate(2, 2) for _ in range(400)]
    scores = [[float(draw.random() < centre) for _ in range(35)] for centre in centres]
    whole = variance([math.fsum(row) / 35 for row in scores])
    sampled = [draw.sample(row, 5) for row in scores]
    cost = sampling_cost(sampled, 35)
    assert cost is not None
    # The width that the drawn part predicts for the whole grid, against the whole grid's own.
    drawn = variance([math.fsum(row) / 5 for row in sampled])
    assert math.sqrt(drawn) / cost[0] == pytest.approx(math.sqrt(whole), rel=0.1)


def _cells(asked):
    return [
        ScoreRow("b", "d", example, serializer, "none", 1.0, True, None)
        for example, serializers in asked.items()
        for serializer in serializers
    ]


@pytest.mark.parametrize(
    ("asked", "sampled"),
    [
        ({"a": "xy", "b": "yz", "c": "xz"}, True),
        ({"a": "xyz", "b": "xyz"}, False),
        ({"a": "xy", "b": "xy"}, False),
        ({"a": "xyz", "b": "x"}, False),
    ],
    ids=["drawn", "whole grid", "part of the grid", "cut off"],
)
def test_the_summary_tells_drawn_configurations_from_others(asked, sampled):
    scope = summarize(_cells(asked))["benchmarks"]["b"]["datasets"]["d"]
    if sampled:
        assert (scope["sampled"]["drawn"], scope["sampled"]["of"]) == (2, 3)
    else:
        assert scope["sampled"] is None
