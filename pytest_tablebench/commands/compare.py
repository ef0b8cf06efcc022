"""`tablebench compare A B`."""

from __future__ import annotations

import argparse
import shlex

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.util.programs import program


def compare_two(options: argparse.Namespace) -> CommandAnswer:
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
