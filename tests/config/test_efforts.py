"""Names of efforts, their order, and the parameters that request them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.config.parameters import EFFORTS, by_effort, check_efforts, effort_params
from pytest_tablebench.config.settings import read_settings
from pytest_tablebench.errors import SettingsError


def efforts(text: str) -> tuple[str, ...] | None:
    values: dict[str, Any] = {"bench_effort": text}
    return read_settings(values.get, Path()).efforts


def test_efforts_are_words_or_budgets() -> None:
    assert efforts("high, low,high") == ("high", "low")
    assert efforts("none,08192,1024") == ("none", "8192", "1024")
    assert read_settings(lambda _: None, Path()).efforts is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("low,loud", "--bench-effort: unknown effort 'loud'"),
        ("low,1024", "low is a word and 1024 a number of tokens; give words, or none and numbers"),
        ("0", "0 is no number of tokens from 1 to 10,000,000"),
        ("9" * 5000, "is no number of tokens"),
        ("-1", "unknown effort '-1'"),
        ("\u0663", "unknown effort"),
        (",", "--bench-effort needs an effort"),
    ],
)
def test_other_efforts_are_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        efforts(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["reasoning_effort=low", "thinking=1"])
def test_a_parameter_that_sets_the_effort_excludes_the_option(name: str) -> None:
    values = {"bench_effort": "low,high", "bench_param": [name]}
    with pytest.raises(SettingsError, match="set the same: give one of them"):
        read_settings(values.get, Path())


def test_only_a_single_effort_is_a_parameter_of_every_request_but_a_judges() -> None:
    single = read_settings({"bench_effort": "low"}.get, Path())
    several = read_settings({"bench_effort": "low,high"}.get, Path())
    assert single.request_params()["reasoning_effort"] == "low"
    assert "reasoning_effort" not in single.request_params(judge=True)
    assert "reasoning_effort" not in several.request_params()
    assert (single.effort, several.effort) == ("low", None)


def test_budgets_are_sent_as_litellms_parameter_of_thinking() -> None:
    assert effort_params("none") == {"reasoning_effort": "none"}
    assert effort_params("2048") == {"thinking": {"type": "enabled", "budget_tokens": 2048}}


@given(st.permutations(EFFORTS))
def test_words_have_the_order_of_litellm(names: list[str]) -> None:
    assert by_effort(names) == list(EFFORTS)
    assert set(check_efforts("x", names)) == set(EFFORTS)


@given(st.lists(st.integers(1, 10_000_000), unique=True))
def test_budgets_are_ordered_by_size_after_none(numbers: list[int]) -> None:
    expected = ["none", *map(str, sorted(numbers))]
    assert by_effort([*map(str, numbers), "none"]) == expected
