"""The ids of collected items, and a suite over the starter tables."""

from __future__ import annotations

import re

import pytest

from tests.support.toy_bench import SUITE, Bench

STARTER = SUITE.replace('"toy"', '"starter"').replace("test_toy", "test_starter")


def ids(result: pytest.RunResult) -> list[str]:
    """Return the parts between brackets of the node ids that `--collect-only -q` or -v printed."""
    matches = [re.search(r"::\w+\[(.*?)\](?: |$)", line) for line in result.outlines]
    return [match[1] for match in matches if match]


def collected(bench: Bench, *arguments: str) -> list[str]:
    return ids(bench.run("--collect-only", "-q", *arguments))
