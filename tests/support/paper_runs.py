"""Runs of reports on papers, without run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.results.run_facts import RunFacts


def paper_run(path: Path, label: str, facts: RunFacts, rows: Sequence[RunRow]) -> Run:
    run = Run(path, facts, label=label)
    run.rows = tuple(rows)
    return run
