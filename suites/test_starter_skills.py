"""Every table skill in English and in Chinese, embedded: no download, no key."""

import pytest

from pytest_tablebench import assert_score


@pytest.mark.tablebench("starter_skills")
def test_starter_skills(case, answer):
    """The answer is right by its kind: a number, a name, a list, yes or no."""
    assert_score(case, answer)


@pytest.mark.tablebench("starter_zh")
def test_starter_zh(case, answer):
    """The same in Chinese."""
    assert_score(case, answer)
