"""`tablebench generate llm TABLES... -o DIR --model NAME`: questions that a model proposes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._generating import (
    add_common,
    chosen_subtasks,
    shares,
    table_files,
    table_sources,
    write_folder,
)
from pytest_tablebench.errors import DataError, ModelError, SettingsError
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.generate._folder import Source
    from pytest_tablebench.generate.llm import LlmGenerator
    from pytest_tablebench.running.asking import Spent
    from pytest_tablebench.running.generating import Correspondence

__all__ = ["add_way"]

_BATCH = 32
"""Tables that models are asked about at once."""

_KNOWN = ("bench_api_base", "bench_param", "bench_max_cost", "bench_store")


def add_way(ways: Any) -> None:
    """Add the way to questions that asks models."""
    llm = ways.add_parser(
        "llm", help="a model proposes, two discriminators mark, full marks alone are kept"
    )
    add_common(llm, per_table=10)
    llm.add_argument("--subtask", metavar="A,B", help="ask these subtasks only")
    llm.add_argument("--model", required=True, metavar="NAME", help="who proposes questions")
    llm.add_argument(
        "--discriminator",
        action="append",
        metavar="NAME",
        help="who marks them; give it twice for two models. Default: the one that proposes",
    )
    llm.add_argument("--yes", action="store_true", help="ask the models, and pay for it")
    llm.add_argument("--bench-api-base", metavar="URL", help="address of the models")
    llm.add_argument(
        "--bench-param", action="append", metavar="K=V", help="parameter of every call. Repeatable"
    )
    llm.add_argument("--bench-max-cost", metavar="USD", help="ask no more when this is reached")
    llm.add_argument("--bench-store", metavar="DIR", help="where replies are kept, or `none`")
    llm.set_defaults(lines=_llm)


def _llm(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import SUBTASKS, LlmGenerator
    from pytest_tablebench.running.builtins import builtin_registry
    from pytest_tablebench.running.generating import Correspondence

    subtasks = chosen_subtasks(given, SUBTASKS)
    discriminators = given.discriminator or [given.model]
    if len(discriminators) > 2:
        raise SettingsError("--discriminator: two mark each question; name one or two models")
    discriminators = [discriminators[0], discriminators[-1]]
    settings = _settings(given, discriminators)
    chosen = {"language": given.language, "per_table": given.per_table}
    letters = Correspondence(settings, builtin_registry())
    maker = partial(
        LlmGenerator,
        letters.tell,
        model=given.model,
        discriminators=discriminators,
        subtasks=subtasks,
        **chosen,
    )
    try:
        lines, calls = _plan(given, letters, maker())
        if calls and not given.yes:
            return [*lines, "nothing was asked, and nothing written: ask with --yes"], 0
        made_with = {
            "way": "llm", **chosen, "subtasks": ",".join(subtasks), "model": given.model,
            "discriminators": ",".join(discriminators),
        }  # fmt: skip
        return [*lines, *_written(given, letters, maker, made_with)], 0
    finally:
        letters.close()


def _settings(given: argparse.Namespace, discriminators: Sequence[str]) -> Settings:
    """Read the options as pytest does, with the same messages for what is wrong."""
    from pytest_tablebench.config.settings import read_settings

    read = read_settings(lambda key: getattr(given, key) if key in _KNOWN else None, Path.cwd())
    return replace(read, models=tuple(dict.fromkeys([given.model, *discriminators])))


def _plan(
    given: argparse.Namespace, letters: Correspondence, maker: LlmGenerator
) -> tuple[list[str], int]:
    """Return what is said before anything is asked, and how many calls there may be."""
    from pytest_tablebench.reports.judge_text import plan_line

    _look(table_sources(list(table_files(given.tables, given.out)), lambda: None), maker)
    try:
        plans = letters.plans(maker.further)
    except ModelError as error:
        raise SettingsError(f"--model: {error}") from None
    letters.forget(missing=True)
    return [f"at most: {plan_line(plan)}" for plan in plans], sum(plan.calls for plan in plans)


def _written(
    given: argparse.Namespace,
    letters: Correspondence,
    maker: Callable[[], LlmGenerator],
    made_with: dict[str, Any],
) -> list[str]:
    """Write the folder; return what to say of it, of the yield and of the cost."""
    own = maker()
    size = _BATCH if given.limit is None else min(_BATCH, -(-given.limit // given.per_table))
    try:
        first, *rest = write_folder(
            given, own, made_with, lambda sources: _asked(sources, letters, maker, size)
        )
    except DataError as error:
        if not letters.spent.calls and not letters.spent.failed:
            raise
        raise DataError("; ".join([str(error), *_cost(letters.spent)])) from None
    tally = own.tally
    turned_down = sum(tally.rejected.values())
    shown = [first, shares("by subtask", tally.recipes)]
    shown += [f"accepted: {own.accepted:,}; not: {turned_down:,}"]
    shown += [shares("rejected", tally.rejected)] if turned_down else []
    return [*map(printable, [*shown, *_cost(letters.spent)]), *rest]


def _look(sources: Iterable[Source], maker: LlmGenerator) -> None:
    """Go through tables for what is to be asked about them."""
    from pytest_tablebench.generate._folder import usable_table

    for source in sources:
        table = usable_table(source, maker, lambda _: None)
        if table is not None:
            maker.look(table)


def _asked(
    sources: Iterator[Source],
    letters: Correspondence,
    maker: Callable[[], LlmGenerator],
    size: int,
) -> Iterator[Source]:
    """Yield the sources when all is told that is asked about them: many are asked about at once.

    What follows from replies is asked in a further round. When models cannot be asked any more,
    the sources end.
    """
    while batch := list(islice(sources, size)):
        letters.forget()
        _look(batch, maker())
        while not letters.is_complete:
            letters.ask()
            _look(batch, maker())
        yield from batch
        if letters.spent.stopped is not None:
            return


def _cost(spent: Spent) -> list[str]:
    """Return what was asked and what it cost, and why no more was."""
    calls = ", ".join(f"{name} {count:,}" for name, count in spent.calls.items())
    price = f"${spent.cost_usd:.4f}"
    if spent.unpriced:
        price = "price unknown" if not spent.cost_usd else f"{price} and what is unknown"
    untold = f" and those of {spent.uncounted:,} that do not say" if spent.uncounted else ""
    line = (
        f"asked: {counted(sum(spent.calls.values()), 'call')}{f' ({calls})' if calls else ''}, "
        f"{spent.prompt_tokens:,} tokens of prompts, {spent.completion_tokens:,} of replies"
        f"{untold}, {price}"
    )
    if spent.failed:
        line += f"; {counted(spent.failed, 'request')} without a reply"
    return [line, *([f"asked no more: {spent.stopped}"] if spent.stopped else [])]
