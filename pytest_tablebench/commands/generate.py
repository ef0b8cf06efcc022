"""`tablebench generate WAY TABLES... -o DIR`: questions from tables."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_tablebench.commands import (
    _generate_annotation,
    _generate_proposed,
    _generate_review,
    _generate_translate,
    _generate_treb,
)
from pytest_tablebench.commands._generating import (
    add_common,
    chosen_names,
    shares,
    write_folder,
)


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="write a dataset folder with questions about tables",
        description="Write questions about tables into a dataset folder, which `pytest "
        "--bench-data=DIR` runs. rules, probes, twins, review and treb call no model. The other "
        "commands show the calls and their price, and make the calls only with --yes. No reply is "
        "paid for twice.",
    )
    ways = parser.add_subparsers(required=True, metavar="WAY")
    rules = ways.add_parser(
        "rules",
        help="make questions on every table skill, by rule",
        description="Make questions on every table skill by rule. Answers are computed with exact "
        "numbers, and tests with scipy.",
    )
    add_common(rules, per_table=20)
    rules.add_argument(
        "--subtask", metavar="A,B", help="only questions of these subtasks. Default: all"
    )
    rules.set_defaults(lines=_rules)
    probes = ways.add_parser(
        "probes",
        help="make questions on sizes, cells, rows and columns",
        description="Make questions on sizes, cells, rows and columns. A model that fails them "
        "cannot read the tables.",
    )
    add_common(probes, per_table=20)
    probes.set_defaults(lines=_probes)
    twins = ways.add_parser(
        "twins",
        help="ask each question about a table with merged cells and about its rearranged twin",
        description="Make each question twice: for a table with merged cells, and for its twin, "
        "in which parts are rearranged.",
    )
    add_common(twins, per_table=10)
    twins.set_defaults(lines=_twins)
    _generate_proposed.add_ways(ways)
    _generate_translate.add_way(ways)
    _generate_annotation.add_ways(ways)
    _generate_review.add_way(ways)
    _generate_treb.add_way(ways)


def _rules(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.rules import SKILLS, RuleGenerator

    subtasks = chosen_names("subtask", options.subtask, SKILLS)
    chosen = {"language": options.language, "per_table": options.per_table}
    maker = RuleGenerator(seed=options.seed, subtasks=subtasks, **chosen)
    lines = write_folder(options, maker, {"way": "rules", **chosen, "subtasks": ",".join(subtasks)})
    tally = maker.tally
    by_subtask = dict.fromkeys(subtasks, 0)
    for (subtask, _), count in maker.cells().items():
        by_subtask[subtask] += count
    shown = [*lines[:1], shares("by subtask", by_subtask)]
    shown += [shares("rejected", tally.rejected)] if tally.rejected else []
    return [*shown, *lines[1:]], 0


def _probes(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.probes import ProbeGenerator

    chosen = {"language": options.language, "per_table": options.per_table}
    maker = ProbeGenerator(seed=options.seed, **chosen)
    lines = write_folder(options, maker, {"way": "probes", **chosen})
    return [lines[0], shares("by kind", maker.tally.recipes), *lines[1:]], 0


def _twins(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.twins import TwinGenerator

    chosen = {"language": options.language, "per_table": options.per_table}
    maker = TwinGenerator(seed=options.seed, **chosen)
    lines = write_folder(options, maker, {"way": "twins", **chosen})
    return [lines[0], shares("twins with exchanged", maker.exchanged), *lines[1:]], 0
