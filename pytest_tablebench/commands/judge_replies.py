"""`tablebench judge-replies FILE`: how often the rules for replies err, by judged replies."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pytest_tablebench.commands.outputs import CommandAnswer


def compare_verdicts(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.judged_replies import judged_replies_report, rates_by_kind
    from pytest_tablebench.running.judged_replies import judged_replies

    rates = rates_by_kind(judged_replies(options.file))
    return CommandAnswer(
        judged_replies_report(rates),
        {kind: asdict(counts) for kind, counts in rates.items()},
        int(rates["all"].false_positives > 0),
    )
