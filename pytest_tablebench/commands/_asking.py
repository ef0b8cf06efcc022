"""What all ways to generated questions share that ask models: options, price, asking, report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._generating import Origin, shares, write_folder
from pytest_tablebench.errors import DataError, ModelError, SettingsError
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.generate.folder import TableSource
    from pytest_tablebench.generate.llm import AskingMaker, Follow
    from pytest_tablebench.running.asking import Spent
    from pytest_tablebench.running.generating import ModelClient

_BATCH = 32
"""Tables that models are asked about at once."""


def add_asking(
    parser: argparse.ArgumentParser, does: str, *, several: bool = False, required: bool = True
) -> None:
    """Add the options of all ways that ask models; `does` is what `--model` is for.

    With `several` it is a list of models.
    """
    action = "append" if several else "store"
    parser.add_argument("--model", required=required, action=action, metavar="NAME", help=does)
    parser.add_argument("--yes", action="store_true", help="ask the models, and pay for it")
    parser.add_argument("--bench-api-base", metavar="URL", help="address of the models")
    parser.add_argument(
        "--bench-param", action="append", metavar="K=V", help="parameter of every call. Repeatable"
    )
    parser.add_argument("--bench-max-cost", metavar="USD", help="ask no more when this is reached")
    parser.add_argument("--bench-store", metavar="DIR", help="where replies are kept, or `none`")


def ask_and_write(
    options: argparse.Namespace,
    models: Sequence[str],
    maker: Callable[..., AskingMaker],
    origin: Callable[[Follow, bool], Origin],
    made_with: Mapping[str, Any],
    *,
    then: Callable[[Path], list[str]] | None = None,
) -> tuple[list[str], int]:
    """Say what models are asked and what it costs; with `--yes` ask, and write the folder.

    Arguments:
        options: of the command, those of `add_asking` among them.
        models: beside `--model` those that are asked.
        maker: gives a new maker, handed what drives conversations.
        origin: of the tables, handed what drives conversations; and whether a table that a model
            has not written yet is to be expected as one of its size.
        made_with: what the questions depend on.
        then: see `write_folder`.

    Returns what to say, and the exit code.
    """
    with open_client(options, models) as client:
        new = partial(maker, client.follow)
        lines, calls = _plan(client, origin(client.follow, True), new())
        if calls and not options.yes:
            return [*lines, "nothing was asked, and nothing written: ask with --yes"], 0
        write = partial(
            write_folder,
            options,
            made_with=made_with,
            origin=origin(client.follow, False),
            then=then,
        )
        return [*lines, *_written(options, client, new, write)], 0


@contextmanager
def open_client(options: argparse.Namespace, models: Sequence[str]) -> Iterator[ModelClient]:
    """Open what asks the models; what could not be brought to a shared store is said in the end."""
    from pytest_tablebench.running.builtins import command_registry
    from pytest_tablebench.running.generating import ModelClient

    named = options.model if isinstance(options.model, list) else [options.model]
    settings = replace(settings_of(options), models=tuple(dict.fromkeys([*named, *models])))
    client = ModelClient(settings, command_registry())
    try:
        yield client
    finally:
        for problem in client.close():
            sys.stderr.write(f"note: {problem}\n")


def settings_of(options: argparse.Namespace) -> Settings:
    """Read the options as pytest does, with the same messages for what is wrong."""
    from pytest_tablebench.config.settings import read_settings

    return read_settings(lambda key: getattr(options, key, None), Path.cwd())


def _plan(client: ModelClient, tables: Origin, maker: AskingMaker) -> tuple[list[str], int]:
    """Return what is said before anything is asked, and how many calls there may be."""
    from pytest_tablebench.reports.judge_text import plan_line

    _look(tables.sources(lambda: None), maker)
    try:
        plans = client.plans(maker.further)
    except ModelError as error:
        raise SettingsError(f"--model: {error}") from None
    client.forget(missing=True)
    return [f"at most: {plan_line(plan)}" for plan in plans], sum(plan.calls for plan in plans)


def _written(
    options: argparse.Namespace,
    client: ModelClient,
    maker: Callable[[], AskingMaker],
    write: Callable[..., list[str]],
) -> list[str]:
    """Have the folder written; return what to say of it, of the yield and of the cost."""
    folder_maker = maker()
    size = _BATCH if options.limit is None else min(_BATCH, -(-options.limit // options.per_table))
    try:
        first, *rest = write(
            maker=folder_maker,
            ahead=lambda sources: _sources_after_asking(sources, client, maker, size),
        )
    except DataError as error:
        if not client.spent.calls and not client.spent.failed:
            raise
        raise DataError("; ".join([str(error), *cost_lines(client.spent)])) from None
    tally = folder_maker.tally
    turned_down = sum(tally.rejected.values())
    shown = [first, shares("by subtask", tally.recipes)]
    shown += [f"accepted: {folder_maker.accepted:,}; not: {turned_down:,}"]
    shown += [shares("rejected", tally.rejected)] if turned_down else []
    shown += [shares("on the way", tally.course)] if tally.course else []
    return [*map(printable, [*shown, *cost_lines(client.spent)]), *rest]


def _look(sources: Iterable[TableSource], maker: AskingMaker) -> None:
    """Go through tables for what is to be asked about them."""
    from pytest_tablebench.generate.folder import usable_table

    for source in sources:
        table = usable_table(source, maker, lambda _: None)
        if table is not None:
            maker.look(table)


def _sources_after_asking(
    sources: Iterator[TableSource],
    client: ModelClient,
    maker: Callable[[], AskingMaker],
    size: int,
) -> Iterator[TableSource]:
    """Yield the sources when all is told that is asked about them: many are asked about at once.

    What follows from replies is asked in a further round. When models cannot be asked any more,
    the sources end.
    """
    while batch := list(islice(sources, size)):
        client.forget()
        _look(batch, maker())
        while not client.is_complete:
            client.ask()
            _look(batch, maker())
        yield from batch
        if client.spent.stopped is not None:
            return


def cost_lines(spent: Spent) -> list[str]:
    """Return what was asked and what it cost, and why no more was."""
    from pytest_tablebench.models import refusal_lines

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
    notes = refusal_lines(spent.left_out)
    return [line, *notes, *([f"asked no more: {spent.stopped}"] if spent.stopped else [])]
