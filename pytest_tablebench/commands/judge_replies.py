"""`tablebench judge-replies FILE`: how often the rules for replies err, by judged replies."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_tablebench.commands.outputs import CommandAnswer, add_outputs


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "judge-replies",
        help="measure how often the rules for replies err, by replies that people judged",
        description="Compare the verdicts of the rules for replies over your own tables with the "
        "verdicts of people, by kind of answer. Rows of FILE have answer, reply and verdict (right "
        "or wrong), and may have column and cells (of the column with the answer), question, unit, "
        "tolerance and metric. Exit code: 1 if a reply that people call wrong is called right.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="CSV, a JSON list, or JSON Lines")
    add_outputs(parser)
    parser.set_defaults(answer=_judge_replies)


def _judge_replies(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.judged_replies import judged_replies_report, rates_by_kind
    from pytest_tablebench.running.judged_replies import judged_replies

    rates = rates_by_kind(judged_replies(options.file))
    return CommandAnswer(
        judged_replies_report(rates),
        {kind: asdict(counts) for kind, counts in rates.items()},
        int(rates["all"].false_positives > 0),
    )
