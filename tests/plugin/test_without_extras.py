"""A run without the extra `benchmarks`: what needs none of it runs, the rest is refused at once."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import Bench

ABSENT = """
import importlib.util as util
import sys

find = util.find_spec
util.find_spec = lambda name, *rest: None if name in {"spacy", "PIL"} else find(name, *rest)
for module in list(sys.modules.values()):
    if getattr(module, "find_spec", None) is find:
        module.find_spec = util.find_spec
"""


@pytest.fixture
def without(bench: Bench) -> Bench:
    conftest = bench.path / "conftest.py"
    conftest.write_text(ABSENT + conftest.read_text("utf-8"), encoding="utf-8")
    return bench


def test_a_metric_whose_package_is_missing_is_refused_before_a_call(without: Bench) -> None:
    conftest = without.path / "conftest.py"
    text = conftest.read_text("utf-8")
    assert 'metric = "exact_match"' in text
    without.run("--model=echo/any", "--bench-limit=1", "--bench-results=first").assert_outcomes(
        passed=1
    )
    conftest.write_text(text.replace('metric = "exact_match"', 'metric = "f1_strings"'), "utf-8")
    result = without.run("--model=echo/any", "--bench-limit=1", "--bench-results=second")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*dataset 'toy', scored by f1_strings, needs spacy, not installed here: pip install *"]
    )


def test_pictures_without_their_packages_are_refused(without: Bench) -> None:
    result = without.run("--model=echo/any", "--bench-limit=1", "--bench-serializer=image")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*dataset 'toy', which shows pictures, needs PIL, not *"])
