"""Further public benchmarks: TAT-QA, AIT-QA and FeTaQA, each on its own."""

import pytest

from pytest_tablebench import assert_rouge, assert_score

pytestmark = pytest.mark.other


@pytest.mark.tablebench("tatqa")
def test_tatqa(case, answer):
    """The words or the number of the answer are right, with the scale."""
    assert_score(case, answer)


@pytest.mark.tablebench("aitqa")
def test_aitqa(case, answer):
    """The answer is the expected cell; numbers are compared as numbers."""
    assert_score(case, answer)


@pytest.mark.tablebench("fetaqa")
def test_fetaqa(case, answer):
    """The sentence comes near the reference."""
    assert_rouge(case, answer)
