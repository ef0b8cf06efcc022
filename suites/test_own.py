"""Your own folders of tables and questions: all in the data folder."""

import pytest

from pytest_tablebench import assert_score


@pytest.mark.tablebench(folders=True)
def test_own(case, answer):
    """The answer is right by the folder's metric."""
    assert_score(case, answer)
