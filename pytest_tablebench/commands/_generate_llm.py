"""`tablebench generate llm TABLES... -o DIR --model NAME`: questions that a model proposes."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from pytest_tablebench.commands._asking import add_asking, asked_and_written
from pytest_tablebench.commands._generating import add_common, chosen_subtasks, tables_given
from pytest_tablebench.errors import SettingsError

__all__ = ["add_way"]


def add_way(ways: Any) -> None:
    """Add the way to questions that asks models."""
    llm = ways.add_parser(
        "llm", help="a model proposes, two discriminators mark, full marks alone are kept"
    )
    add_common(llm, per_table=10)
    llm.add_argument("--subtask", metavar="A,B", help="ask these subtasks only")
    add_asking(llm, "who proposes questions")
    llm.add_argument(
        "--discriminator",
        action="append",
        metavar="NAME",
        help="who marks them; give it twice for two models. Default: the one that proposes",
    )
    llm.set_defaults(lines=_llm)


def _llm(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import SUBTASKS, LlmGenerator

    subtasks = chosen_subtasks(given, SUBTASKS)
    discriminators = given.discriminator or [given.model]
    if len(discriminators) > 2:
        raise SettingsError("--discriminator: two mark each question; name one or two models")
    discriminators = [discriminators[0], discriminators[-1]]
    chosen = {"language": given.language, "per_table": given.per_table}
    return asked_and_written(
        given,
        discriminators,
        partial(
            LlmGenerator,
            model=given.model,
            discriminators=discriminators,
            subtasks=subtasks,
            **chosen,
        ),
        lambda _: tables_given(given),
        {
            "way": "llm", **chosen, "subtasks": ",".join(subtasks), "model": given.model,
            "discriminators": ",".join(discriminators),
        },
    )  # fmt: skip
