"""`tablebench compare A B`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from pytest_tablebench.commands._gates import add_different_judges
from pytest_tablebench.commands.outputs import CommandAnswer, add_outputs
from pytest_tablebench.util.programs import program


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="show what changed from one run to another",
        description="Show what changed from run A to run B: the differences of all figures with "
        "their intervals, and the cases that are right, or answered, in only one run.",
    )
    parser.add_argument("before", type=Path, metavar="A", help="run folder of the earlier run")
    parser.add_argument("after", type=Path, metavar="B", help="run folder of the later run")
    parser.add_argument(
        "--allow-unlike",
        action="store_true",
        help="compare runs that differ in more than the model (grid, data, compat, seed, ...)",
    )
    parser.add_argument(
        "--corrected",
        action="store_true",
        help="compare by the corrected gold; both runs need the same --bench-corrections. Default: "
        "by the published gold, and the figures by the corrected gold are shown too",
    )
    add_different_judges(parser)
    add_outputs(parser, json=["-o", "--out"])
    parser.set_defaults(answer=_compare)


def _compare(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.compare import compare_runs
    from pytest_tablebench.reports.comparison import comparison_report

    comparison = compare_runs(
        options.before,
        options.after,
        allow_unlike=options.allow_unlike,
        corrected=options.corrected,
        different_judges=options.different_judges,
    )
    both = [program("tablebench"), "report", str(options.before), str(options.after)]
    both += ["--page", "both.html"]
    both += ["--allow-unlike"] if options.allow_unlike else []
    both += ["--different-judges"] if options.different_judges else []
    return CommandAnswer(
        comparison_report(comparison),
        comparison.to_json(),
        lines=[f"each case with both answers: {shlex.join(both)}"],
    )
