"""ToRR: each dataset in seven formats and five perturbations (arXiv 2502.19412)."""

import pytest

from pytest_tablebench import (
    assert_accuracy,
    assert_label_f1,
    assert_program_accuracy,
    assert_rouge,
    assert_score,
    assert_token_f1,
)

pytestmark = pytest.mark.torr


@pytest.mark.tablebench("finqa")
def test_finqa(case, answer):
    """The program computes the answer in the same way as the gold program."""
    assert_program_accuracy(case, answer)


@pytest.mark.tablebench("wikitq")
def test_wikitq(case, answer):
    """Every reference answer is given, and nothing else."""
    assert_token_f1(case, answer)


@pytest.mark.tablebench("tabfact")
def test_tabfact(case, answer):
    """The statement's verdict is right."""
    assert_accuracy(case, answer)


@pytest.mark.tablebench("numericnlg")
def test_numericnlg(case, answer):
    """The description of a table of numbers comes near the authors'."""
    assert_rouge(case, answer)


@pytest.mark.tablebench("scigen")
def test_scigen(case, answer):
    """The description of a scientific table comes near the authors'."""
    assert_rouge(case, answer)


@pytest.mark.tablebench("qtsumm")
def test_qtsumm(case, answer):
    """The summary that answers a query comes near the reference."""
    assert_rouge(case, answer)


@pytest.mark.tablebench("turl_cta")
def test_turl_cta(case, answer):
    """Every type of the column is given, and no other."""
    assert_label_f1(case, answer)


@pytest.mark.tablebench("tablebench_da")
def test_tablebench_da(case, answer):
    """Data analysis: the expected numbers, or nearly the expected words."""
    assert_score(case, answer)


@pytest.mark.tablebench("tablebench_fc")
def test_tablebench_fc(case, answer):
    """Fact checking: the expected numbers, or nearly the expected words."""
    assert_score(case, answer)


@pytest.mark.tablebench("tablebench_nr")
def test_tablebench_nr(case, answer):
    """Numerical reasoning: the expected numbers, or nearly the expected words."""
    assert_score(case, answer)
