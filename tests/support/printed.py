"""Reports of a run as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.gates import GateResult
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.gates import gate_blocks
from pytest_tablebench.reports.scores import tag_blocks
from pytest_tablebench.reports.summary import closing_blocks
from pytest_tablebench.results.run_facts import RunFacts


def summary_lines(summary: Mapping[str, Any], run: RunFacts | None = None) -> list[str]:
    """Return the figures at the end of a run."""
    return terminal_lines(closing_blocks(summary, run))


def gate_lines(results: Sequence[GateResult], run: RunFacts) -> list[str]:
    """Return the gates of a run."""
    return terminal_lines(gate_blocks(results, run))


def tag_lines(summary: Mapping[str, Any], tag: str) -> list[str]:
    """Return the tables by a tag."""
    return terminal_lines(tag_blocks(summary, tag))
