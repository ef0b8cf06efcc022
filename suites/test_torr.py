"""ToRR: each dataset in seven formats and five perturbations (arXiv 2502.19412)."""

import pytest

from pytest_tablebench.assertions import assert_accuracy, assert_token_f1

pytestmark = pytest.mark.torr


@pytest.mark.tablebench("wikitq")
def test_wikitq(case, answer):
    """Every reference answer is given, and nothing else."""
    assert_token_f1(case, answer)


@pytest.mark.tablebench("tabfact")
def test_tabfact(case, answer):
    """The statement's verdict is right."""
    assert_accuracy(case, answer)
