"""TableBench's charts: the category of its questions that ToRR leaves out (arXiv 2408.09174)."""

import pytest

from pytest_tablebench import assert_score


@pytest.mark.tablebench("tablebench_viz")
def test_tablebench_viz(case, answer):
    """A program that runs and draws the expected values."""
    assert_score(case, answer)
