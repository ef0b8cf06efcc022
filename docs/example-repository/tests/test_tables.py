"""What a model must know of our tables."""

import pytest

from pytest_tablebench import assert_score


@pytest.mark.tablebench("shop")
def test_shop(case, answer):
    """The answer is right."""
    assert_score(case, answer)
