"""Runs without the extra `benchmarks`: datasets that need it are refused."""

from __future__ import annotations

import importlib.util

import pytest

from pytest_tablebench.config import extras
from tests.support.toy_bench import Bench


@pytest.fixture
def without(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Runs in this process without spaCy and Pillow."""

    def find_spec(name: str) -> object:
        return None if name in {"spacy", "PIL"} else importlib.util.find_spec(name)

    monkeypatch.setattr(extras, "find_spec", find_spec)
    return bench


def test_a_metric_whose_package_is_missing_is_refused_before_a_call(without: Bench) -> None:
    without.run("--model=echo/any", "--bench-limit=1", results="first").assert_outcomes(passed=1)
    without.adapt(('metric = "exact_match"', 'metric = "f1_strings"'))
    result = without.run("--model=echo/any", "--bench-limit=1", results="second")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*dataset 'toy', scored by f1_strings, needs spacy: pip install *"]
    )


def test_pictures_without_their_packages_are_refused(without: Bench) -> None:
    result = without.run("--model=echo/any", "--bench-limit=1", "--bench-serializer=image")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*dataset 'toy', which shows pictures, needs PIL: pip *"])
