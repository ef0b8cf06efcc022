"""`tablebench history RUNS...`: the figures of runs over time, and what changed between them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_tablebench.commands.outputs import CommandAnswer, add_outputs
from pytest_tablebench.errors import DataError


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "history",
        help="show the figures of runs over time, and what changed between them",
        description="Show score, share of missing answers and price of runs in the order of their "
        "start, with 95 % intervals. Marks where data, prompts, parameters, settings or the "
        "package changed between two runs of a model. Folders that cannot be read have a line; the "
        "others are shown.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUNS",
        help="run folder, folder that contains some at any depth, or git:BRANCH[:PATH] for run "
        "folders on a branch of the repository here",
    )
    add_outputs(parser)
    parser.set_defaults(answer=_history)


def _history(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.history import history_of, read_places_of_runs
    from pytest_tablebench.reports.history import history_json, history_report

    runs, problems = read_places_of_runs(options.runs, repository=Path.cwd())
    if not runs:
        more = f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        raise DataError(f"no run can be shown: {'; '.join(problems[:5])}{more}")
    history = history_of(runs)
    return CommandAnswer(history_report(history, problems), history_json(history, problems))
