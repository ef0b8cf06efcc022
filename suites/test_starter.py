"""The embedded dataset: short questions over small tables, no download, no key."""

import pytest

from pytest_tablebench import assert_exact_match


@pytest.mark.starter
@pytest.mark.tablebench("starter")
def test_starter(case, answer):
    """The reply holds exactly the expected items."""
    assert_exact_match(case, answer)
