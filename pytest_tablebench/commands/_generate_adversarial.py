"""`tablebench generate adversarial TABLES... -o DIR --model NAME`: questions that withstand."""

from __future__ import annotations

import argparse
from functools import partial
from itertools import cycle, islice
from typing import Any

from pytest_tablebench.commands._asking import add_asking, asked_and_written
from pytest_tablebench.commands._generating import add_common, chosen_subtasks, tables_given
from pytest_tablebench.errors import SettingsError

__all__ = ["add_way"]


def add_way(ways: Any) -> None:
    """Add the way to questions in rounds of a generator and a critic."""
    parser = ways.add_parser(
        "adversarial",
        help="a critic attacks what a model proposes, three turns at most; solvers answer",
    )
    add_common(parser, per_table=10)
    parser.add_argument("--subtask", metavar="A,B", help="ask these subtasks only")
    add_asking(parser, "who proposes questions, and mends them")
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

    subtasks = chosen_subtasks(given, COMPARED)
    named = given.solver or [given.model]
    if len(named) > len(SOLVERS):
        raise SettingsError("--solver: three answer each question; name one to three models")
    solvers = list(islice(cycle(named), len(SOLVERS)))
    critic = given.critic or given.model
    chosen = {"language": given.language, "per_table": given.per_table}
    return asked_and_written(
        given,
        [critic, *solvers],
        partial(
            AdversarialGenerator,
            model=given.model,
            critic=critic,
            solvers=solvers,
            subtasks=subtasks,
            **chosen,
        ),
        lambda _: tables_given(given),
        {
            "way": "adversarial", **chosen, "subtasks": ",".join(subtasks), "model": given.model,
            "critic": critic, "solvers": ",".join(solvers),
        },
    )  # fmt: skip
