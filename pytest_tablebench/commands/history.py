"""`tablebench history RUNS...`: the figures of runs over time, and what changed between them."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import DataError


def show_history(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.history import history_of, read_places_of_runs
    from pytest_tablebench.reports.history import history_json, history_report

    runs, problems = read_places_of_runs(options.runs, repository=Path.cwd())
    if not runs:
        more = f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        raise DataError(f"no run can be shown: {'; '.join(problems[:5])}{more}")
    history = history_of(runs)
    return CommandAnswer(history_report(history, problems), history_json(history, problems))
