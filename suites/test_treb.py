"""TReB: each subtask that the data on this machine have (arXiv 2506.18421)."""

import pytest

from pytest_tablebench import assert_score


@pytest.mark.treb
@pytest.mark.tablebench(benchmark="treb")
def test_treb(case, answer):
    """The answer is right by the subtask's main score, or by the judge's where one is named."""
    assert_score(case, answer)
