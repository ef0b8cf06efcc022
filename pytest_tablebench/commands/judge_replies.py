"""`tablebench judge-replies FILE`: how often the rules for replies err, by judged replies."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_tablebench.running.judged_replies import JudgedReply


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "judge-replies",
        help="measure how often the rules for replies err, by replies that people judged",
        description="Compare the verdicts of the rules for replies over your own tables with the "
        "verdicts of people, by kind of answer. Rows of FILE have answer, reply and verdict (right "
        "or wrong), and may have column and cells (of the column with the answer), question, unit, "
        "tolerance and metric. Exit code: 1 if a reply that people call wrong is called right.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="CSV, a JSON list, or JSON Lines")
    parser.set_defaults(lines=_judge_replies)


def _judge_replies(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.documents.formats import aligned
    from pytest_tablebench.running.judged_replies import judged_replies

    by_kind = defaultdict[str, list["JudgedReply"]](list)
    for reply in judged_replies(options.file):
        by_kind[reply.kind].append(reply)
    replies = [reply for kind in by_kind.values() for reply in kind]
    rows = [_row(kind, by_kind[kind]) for kind in sorted(by_kind)]
    rows.append(_row("all", replies))
    header = ("kind", "replies", "wrong called right", "right called wrong", "unclear")
    is_false = any(not reply.is_right and reply.verdict == "right" for reply in replies)
    return [*aligned([header, *rows]), "shares with 95 % intervals"], int(is_false)


def _row(kind: str, replies: Sequence[JudgedReply]) -> tuple[str, ...]:
    from pytest_tablebench.running.judged_replies import ErrorRates

    rates = ErrorRates.of(replies)
    return (
        kind,
        f"{len(replies):,}",
        _share(rates.false_positives, rates.wrong),
        _share(rates.false_negatives, rates.right),
        f"{rates.unclear:,}",
    )


def _share(count: int, total: int) -> str:
    """Return a count of a total, as a share with its interval."""
    from pytest_tablebench.claims.estimate import clopper_pearson

    if not total:
        return "-"
    low, high = (100 * end for end in clopper_pearson(count, total))
    return f"{count:,} of {total:,}: {100 * count / total:.1f} % ({low:.1f} to {high:.1f} %)"
