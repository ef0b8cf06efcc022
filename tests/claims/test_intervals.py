"""Confidence intervals worked out by hand; tests/conformance compares those of gates."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial

from pytest_tablebench.claims.estimate import (
    Moments,
    failure_tail,
    interval,
    level_bounds,
    moments,
    paired_bounds,
)
from tests.support.present import present


def test_fewer_than_two_examples_have_no_interval():
    assert interval([]) is None
    assert interval([[0.5]]) is None
    assert interval([[0.5, 0.6, 0.7], [0.5]]) is None
    assert interval([[]]) is None


@pytest.mark.parametrize(("count", "share"), [(12, 0.265), (50, 0.071), (100, 0.036)])
def test_equal_examples_have_the_published_interval(count, share):
    # The widths that the source of the rule prints: 1 - 0.025 ** (1 / n).
    assert interval([[1.0] * count]) == pytest.approx((1 - share, 1.0), abs=5e-4)
    assert interval([[0.0] * count]) == pytest.approx((0.0, share), abs=5e-4)
    low, high = present(interval([[0.5] * count]))
    assert (0.5 - low, high - 0.5) == pytest.approx((share, share), abs=5e-4)


def test_few_right_answers_have_a_clopper_pearson_interval_over_examples():
    # One right of 20: Clopper-Pearson for 1 of 20 is 0.00127 to 0.24873 (any table of it).
    assert interval([[1.0] + [0.0] * 19]) == pytest.approx((0.00127, 0.24873), abs=1e-5)


def test_rounding_does_not_change_the_rule_for_few_right_answers():
    """The rule applies to fewer than 5. As mean times size, 5 of 77 is 4.999999999999999."""
    sizes = [
        size
        for size in range(11, 300)
        if level_bounds(present(moments([[1.0] * 5 + [0.0] * (size - 5)])))[2]
        != "effective Clopper-Pearson"
    ]
    assert sizes == []


def flips(worse: int, better: int, equal: int) -> Moments:
    return present(moments([[-1.0] * worse + [1.0] * better + [0.0] * equal]))


@pytest.mark.parametrize(
    ("count", "margin"),
    [(2, 0.01), (3, 0.05), (4, 0.1), (5, 0.1), (12, 0.32), (20, 0.2), (40, 0.09), (70, 0.051)],
)
def test_at_most_5_percent_of_pairs_beyond_a_margin_seem_within_it(count: int, margin: float):
    """Of pairs of models whose true loss is the margin, by the exact chances of their flips."""
    kinds = [
        (worse, better, count - worse - better)
        for worse in range(count + 1)
        for better in range(count + 1 - worse)
    ]
    holding = [kind for kind in kinds if paired_bounds(flips(*kind))[0] > -margin]
    for better in (0.0, 0.02, 0.1, 0.2, 0.3, (1 - margin) / 2):
        worse = min(better + margin, 1 - better)
        chances = multinomial(count, [worse, better, max(0.0, 1 - worse - better)])
        assert sum(map(chances.pmf, holding)) <= 0.05


def test_differences_without_variance_have_an_interval_from_their_number():
    # A share of 1 - .025^(1/2) of the questions may have any other difference.
    share = 1 - 0.025 ** (1 / 2)
    assert paired_bounds(flips(0, 0, 2))[0] == pytest.approx(-share)
    assert paired_bounds(flips(0, 2, 0))[:2] == pytest.approx((1 - 2 * share, 1.0))
    tail = failure_tail(flips(2, 0, 0), -1 + 2 * share, above=True, paired=True)
    assert tail == pytest.approx(0.025)


def test_the_p_value_of_few_flips_belongs_to_their_interval():
    # One of 20 is worse: by Clopper-Pearson at most 0.24873 are.
    figures = flips(1, 0, 19)
    assert paired_bounds(figures)[0] == pytest.approx(-0.24873, abs=1e-5)
    bound = paired_bounds(figures)[1]
    for side, edge in ((True, bound), (False, -0.24873)):
        tail = failure_tail(figures, edge, above=side, paired=True)
        assert tail == pytest.approx(0.025, abs=1e-4)


def test_rounding_errors_of_floats_are_no_variance():
    assert interval([[0.1 + 0.2, 0.3]]) == pytest.approx(interval([[0.3, 0.3]]), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_the_interval_contains_the_mean_and_is_within_0_to_1(values):
    low, high = present(interval([values]))
    mean = math.fsum(values) / len(values)
    assert 0.0 <= low <= high <= 1.0
    assert low - 1e-9 <= mean <= high + 1e-9


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.randoms())
def test_the_order_of_examples_does_not_matter(values, random):
    mixed = list(values)
    random.shuffle(mixed)
    assert interval([mixed]) == interval([values])


@given(st.lists(st.floats(0, 1), min_size=12, max_size=40))
def test_a_higher_level_has_a_wider_interval(values):
    low, high = present(interval([values], level=0.95))
    wide_low, wide_high = present(interval([values], level=0.99))
    assert wide_low <= low + 1e-9
    assert wide_high >= high - 1e-9
