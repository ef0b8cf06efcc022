"""`tablebench generate llm TABLES... -o DIR --model NAME`: questions that a model proposes."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_tablebench.commands._proposing import add_proposing, proposed_and_written
from pytest_tablebench.errors import SettingsError


def add_way(ways: Any) -> None:
    """Add the way to questions that discriminators mark."""
    parser = ways.add_parser(
        "llm",
        help="a model proposes, two discriminators mark, full marks alone are kept",
        description="A model proposes questions. Two discriminators mark each from 1 to 5 for "
        "accuracy, relevance and coverage of what was asked for; only full marks are kept.",
    )
    add_proposing(parser, "who proposes questions")
    parser.add_argument(
        "--discriminator",
        action="append",
        metavar="NAME",
        help="who marks them; give it twice for two models. Default: the one that proposes",
    )
    parser.set_defaults(lines=_llm)


def _llm(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import SUBTASKS, LlmGenerator

    named = given.discriminator or [given.model]
    if len(named) > 2:
        raise SettingsError("--discriminator: two mark each question; name one or two models")
    others = {"discriminators": [named[0], named[-1]]}
    return proposed_and_written(given, "llm", LlmGenerator, SUBTASKS, others)
