"""Options of pytest that only show something: no call, no run, no summary."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "option", ["--help", "--markers", "--fixtures", "--fixtures-per-test", "--setup-plan"]
)
def test_nothing_of_a_run_is_shown(bench, option):
    result = bench.run("--model=echo/any", "--bench-gate=toy.pass_rate >= 1", "-n2", option)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == 0
    assert "\nrun folder: run" not in text
    assert "no case was asked" not in text
    assert not (bench.pytester.path / "run").exists()


@pytest.mark.parametrize("option", ["--help", "--markers"])
def test_a_value_that_no_run_needs_is_not_checked(bench, option):
    assert bench.run("--model=echo/any", "--bench-gate=", option).ret == 0


def test_fixtures_that_are_only_set_up_ask_no_model(bench):
    result = bench.run("--model=echo/any", "--setup-only")
    result.assert_outcomes(skipped=3)
    assert not (bench.pytester.path / "run").exists()
