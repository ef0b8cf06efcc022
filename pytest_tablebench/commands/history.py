"""`tablebench history RUNS...`: the figures of runs over time, and what changed between them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import counted


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
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
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page with the charts")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the tables")
    parser.set_defaults(lines=_history)


def _history(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.claims.history import history_of, read_places_of_runs
    from pytest_tablebench.reports.history_text import history_json, history_lines

    runs, problems = read_places_of_runs(options.runs, repository=Path.cwd())
    if not runs:
        more = f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        raise DataError(f"no run can be shown: {'; '.join(problems[:5])}{more}")
    history = history_of(runs)
    if options.page is not None:
        from pytest_tablebench.reports.html.history import write_history

        write_history(history, options.page, problems)
    if options.json:
        return [json.dumps(history_json(history, problems), indent=2)], 0
    lines = history_lines(history)
    if problems:
        lines += ["", f"not shown: {counted(len(problems), 'problem')}"]
        lines += [f"  {problem}" for problem in problems]
    if options.page is not None:
        from pytest_tablebench.reports.terminal import short_path

        lines += ["", f"page: {short_path(options.page)}"]
    return lines, 0
