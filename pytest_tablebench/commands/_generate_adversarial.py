"""`tablebench generate adversarial TABLES... -o DIR --model NAME`: questions that withstand."""

from __future__ import annotations

import argparse
from itertools import cycle, islice
from typing import Any

from pytest_tablebench.commands._proposing import add_proposing, proposed_and_written
from pytest_tablebench.errors import SettingsError


def add_way(ways: Any) -> None:
    """Add the way to questions in rounds of a generator and a critic."""
    parser = ways.add_parser(
        "adversarial",
        help="a critic attacks what a model proposes; the answer is that of most solvers",
        description="A model proposes questions. A critic attacks each: can it be answered, is "
        "there one answer only, is it correct? The model mends what is found, three turns at "
        "most. Three solvers answer without knowing the answer; that of two or more is taken.",
    )
    add_proposing(parser, "who proposes questions, and mends them")
    parser.add_argument(
        "--critic", metavar="NAME", help="who attacks them. Default: the one that proposes"
    )
    parser.add_argument(
        "--solver",
        action="append",
        metavar="NAME",
        help="who answers them; up to three times. Default: the one that proposes",
    )
    parser.set_defaults(lines=_adversarial)


def _adversarial(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import COMPARED, SOLVERS, AdversarialGenerator

    named = given.solver or [given.model]
    if len(named) > len(SOLVERS):
        raise SettingsError("--solver: three answer each question; name one to three models")
    others = {
        "critic": given.critic or given.model,
        "solvers": list(islice(cycle(named), len(SOLVERS))),
    }
    return proposed_and_written(given, "adversarial", AdversarialGenerator, COMPARED, others)
