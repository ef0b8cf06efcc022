"""`tablebench generate review DIR`: the marks of two reviewers on generated questions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._suites import check_and_run, quoted
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.generate.annotate import Review

__all__ = ["add_way"]

_SHOWN = 10


def add_way(ways: Any) -> None:
    parser = ways.add_parser(
        "review",
        help="summarize review.csv of two reviewers: acceptance and agreement",
        description="Summarize the file review.csv that two reviewers have filled in: how many "
        "questions they accept, and how far they agree.",
    )
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder that `generate answers` has written"
    )
    parser.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="new folder for the accepted questions"
    )
    parser.set_defaults(lines=_review)


def _review(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.annotate import REVIEW, STATES, read_review, write_accepted

    review = read_review(options.folder)
    counts = review.counts()
    states = ", ".join(f"{state} {counts[state]:,}" for state in STATES if counts[state])
    total = counted(len(review.questions), "question")
    lines = [f"{options.folder / REVIEW}: {total}: {states}", *_agreement(review)]
    disputed = review.ids("disputed")
    if disputed:
        more = f" and {len(disputed) - _SHOWN:,} more" if len(disputed) > _SHOWN else ""
        lines.append(f"to be discussed: {', '.join(disputed[:_SHOWN])}{more}")
    if options.out is not None:
        count = write_accepted(options.folder, options.out, review)
        lines.append(f"{options.out}: {counted(count, 'question')}")
        lines += check_and_run(options.out)
    elif counts["accepted"]:
        shown = quoted(options.folder)
        lines.append(f"for the accepted ones: tablebench generate review {shown} -o DIR")
    return lines, 0


def _agreement(review: Review) -> list[str]:
    """Return a line for each criterion that both reviewers have marked."""
    from pytest_tablebench.generate.annotate import CRITERIA
    from pytest_tablebench.results.judges import weighted_kappa

    lines = []
    for criterion in CRITERIA:
        pairs = review.pairs(criterion)
        if not pairs:
            continue
        alike = sum(first is second for first, second in pairs)
        first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
        kappa = weighted_kappa(first, second)
        shown = (
            "undefined, because one reviewer gave a single mark"
            if kappa is None
            else f"{kappa:.2f}"
        )
        lines.append(f"agreement on {criterion}: {alike:,} of {len(pairs):,}, kappa {shown}")
    return lines
