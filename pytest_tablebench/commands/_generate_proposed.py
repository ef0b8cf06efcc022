"""`tablebench generate llm` and `adversarial TABLES... -o DIR --model NAME`: proposed questions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import add_asking, ask_and_write
from pytest_tablebench.commands._generating import (
    Origin,
    add_common,
    chosen_names,
    count_from_1,
    tables_of,
)
from pytest_tablebench.errors import SettingsError

if TYPE_CHECKING:
    from pytest_tablebench.generate.folder import TableSource
    from pytest_tablebench.generate.llm import Examine


def add_ways(ways: Any) -> None:
    """Add the commands `llm` (with discriminators) and `adversarial` (with a critic)."""
    parser = ways.add_parser(
        "llm",
        help="let a model propose questions, and keep those that two discriminators mark best",
        description="A model proposes questions. Two discriminators mark each from 1 to 5 for "
        "accuracy, relevance and coverage of what was asked for; only full marks are kept.",
    )
    _add_proposing(parser, "model that proposes questions")
    parser.add_argument(
        "--discriminator",
        action="append",
        metavar="NAME",
        help="model that marks the questions. Repeat it to name two. Default: that of --model",
    )
    parser.set_defaults(lines=_llm)
    parser = ways.add_parser(
        "adversarial",
        help="let a critic attack the questions of a model; solvers vote on the answer",
        description="A model proposes questions. A critic attacks each: can it be answered, is "
        "there one answer only, is it correct? The model corrects its faults, in at most three "
        "turns. Three solvers answer without seeing the answer; two or more must agree.",
    )
    _add_proposing(parser, "model that proposes and corrects questions")
    parser.add_argument(
        "--critic",
        metavar="NAME",
        help="model that attacks the questions. Default: the model of --model",
    )
    parser.add_argument(
        "--solver",
        action="append",
        metavar="NAME",
        help="model that answers the questions. Repeatable, up to three. Default: the model of "
        "--model",
    )
    parser.set_defaults(lines=_adversarial)


def _llm(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import SUBTASKS, MarkedQuestion

    named = options.discriminator or [options.model]
    if len(named) > 2:
        raise SettingsError("--discriminator: name one or two models")
    others = {"discriminators": [named[0], named[-1]]}
    return _propose_and_write(options, "llm", MarkedQuestion(**others), SUBTASKS, others)


def _adversarial(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import COMPARED, SOLVERS, AttackedQuestion

    named = options.solver or [options.model]
    if len(named) > len(SOLVERS):
        raise SettingsError("--solver: name one to three models")
    critic, solvers = options.critic or options.model, list(islice(cycle(named), len(SOLVERS)))
    others = {"critic": [critic], "solvers": solvers}
    examine = AttackedQuestion(options.model, critic, solvers)
    return _propose_and_write(options, "adversarial", examine, COMPARED, others)


def _add_proposing(parser: argparse.ArgumentParser, does: str) -> None:
    """Add the options of both commands; `does` is the help of `--model`."""
    add_common(parser, per_table=10, needs_tables=False)
    parser.add_argument(
        "--subtask", metavar="A,B", help="only questions of these subtasks. Default: all"
    )
    parser.add_argument(
        "--invent",
        type=count_from_1,
        metavar="N",
        help="let the model invent N tables, in addition to TABLES or without any",
    )
    add_asking(parser, does)


def _propose_and_write(
    options: argparse.Namespace,
    way_name: str,
    examine: Examine,
    all_subtasks: Mapping[str, object],
    others: Mapping[str, Sequence[str]],
) -> tuple[list[str], int]:
    """Ask models; return the lines to print, and the exit code.

    Arguments:
        options: of the command.
        way_name: the name of the command.
        examine: examines each question that is proposed.
        all_subtasks: subtasks that may be asked.
        others: the models in addition to `--model`, by their role.
    """
    from pytest_tablebench.generate.llm import ProposedQuestions

    subtasks = chosen_names("subtask", options.subtask, all_subtasks)
    chosen = {"language": options.language, "per_table": options.per_table}
    return ask_and_write(
        options,
        [model for models in others.values() for model in models],
        ProposedQuestions(examine, made=way_name, model=options.model, subtasks=subtasks, **chosen),
        _tables(options),
        {"way": way_name, **chosen, "invent": options.invent or 0}
        | {"subtasks": ",".join(subtasks), "model": options.model}
        | {name: ",".join(models) for name, models in others.items()},
    )


def _tables(options: argparse.Namespace) -> Origin:
    """Return the tables of the command, followed by those that the model invents."""
    from pytest_tablebench.generate.llm import invented

    count = options.invent or 0
    if not options.tables and not count:
        raise SettingsError("name TABLES to ask about, or let the model invent some: --invent N")
    origin = tables_of(options) if options.tables else Origin((), lambda _: iter(()), 0)

    def sources(tick: Callable[[], object]) -> Iterator[TableSource]:
        yield from origin.sources(tick)
        about = {"model": options.model, "seed": options.seed, "language": options.language}
        for source in invented(count=count, **about):
            yield source
            tick()

    return Origin(origin.files, sources, origin.count + count)
