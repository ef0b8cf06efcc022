"""The shared part of all `generate` commands that ask models: options, price, calls, report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands.generate import Origin, shares, write_folder
from pytest_tablebench.commands.outputs import print_note
from pytest_tablebench.errors import DataError, ModelError, SettingsError
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.generate.folder import PreparedTable
    from pytest_tablebench.generate.question_maker import Conversation, QuestionMaker
    from pytest_tablebench.running.asking import ModelClient
    from pytest_tablebench.running.pricing import Spent

_BATCH = 32
"""The number of tables that models are asked about concurrently."""


def ask_and_write(
    options: argparse.Namespace,
    models: Sequence[str],
    maker: QuestionMaker,
    origin: Origin,
    made_with: Mapping[str, Any],
    *,
    then: Callable[[Path], list[str]] | None = None,
) -> tuple[list[str], int]:
    """Plan the calls and their price; with `--yes` make them and write the folder.

    Arguments:
        options: of the command, with those of `add_asking`.
        models: the models that are asked in addition to `--model`.
        maker: of the questions.
        origin: of the tables.
        made_with: the facts that the questions depend on.
        then: see `write_folder`.

    Returns the lines to print, and the exit code.
    """
    from pytest_tablebench.generate.folder import prepare

    with open_client(options, models) as client:
        sources = origin.sources(lambda: None)
        tables = (prepare(source, maker, lambda _: None) for source in sources)
        lines, calls = plan_lines(client, tables)
        if calls and not options.yes:
            return [*lines, "nothing was asked or written; add --yes to ask"], 0
        write = partial(write_folder, options, maker, made_with, origin, then=then)
        return [*lines, *_written(options, client, maker, write)], 0


@contextmanager
def open_client(options: argparse.Namespace, models: Sequence[str]) -> Iterator[ModelClient]:
    """Open the caller of the models; at the end it reports answers that a shared store lacks."""
    from pytest_tablebench.running.asking import ModelClient
    from pytest_tablebench.running.builtins import command_registry

    named = options.model if isinstance(options.model, list) else [options.model]
    settings = replace(settings_of(options), models=tuple(dict.fromkeys([*named, *models])))
    client = ModelClient(settings, command_registry())
    try:
        yield client
    finally:
        for problem in client.close():
            print_note(problem)


def settings_of(options: argparse.Namespace) -> Settings:
    """Read the options as pytest does, with the same error messages."""
    from pytest_tablebench.config.settings import read_settings

    return read_settings(lambda key: getattr(options, key, None), Path.cwd())


def plan_lines(
    client: ModelClient, conversations: Iterable[Conversation[Any]], flag: str = "--model"
) -> tuple[list[str], int]:
    """Return a line for each model that conversations ask, and the largest number of calls.

    `flag` is the option that names the models.
    """
    from pytest_tablebench.reports.judges import plan_sentence

    try:
        plans = client.plans(conversations)
    except ModelError as error:
        raise SettingsError(f"{flag}: {error}") from None
    return [f"at most: {plan_sentence(plan)}" for plan in plans], sum(plan.calls for plan in plans)


def _written(
    options: argparse.Namespace,
    client: ModelClient,
    maker: QuestionMaker,
    write: Callable[..., list[str]],
) -> list[str]:
    """Write the folder; return lines on its content, the yield and the cost."""
    size = _BATCH if options.limit is None else min(_BATCH, -(-options.limit // options.per_table))
    try:
        first, *rest = write(answer=partial(_answered, client, size))
    except (DataError, SettingsError) as error:
        if not client.spent.calls and not client.spent.failed:
            raise
        raise type(error)("; ".join([str(error), *cost_lines(client.spent)])) from None
    tally = maker.tally
    rejected_count = sum(tally.rejected.values())
    lines = [first, shares("by subtask", tally.recipes)]
    lines += [f"accepted: {tally.accepted:,} of {tally.accepted + rejected_count:,}"]
    lines += [shares("rejected", tally.rejected)] if rejected_count else []
    lines += [shares("steps", tally.course)] if tally.course else []
    return [*lines, *cost_lines(client.spent), *rest]


def _answered(
    client: ModelClient, size: int, conversations: Iterator[Conversation[PreparedTable]]
) -> Iterator[PreparedTable | Exception]:
    """Yield the results of conversations in their order; `size` of them run concurrently.

    They end when the models cannot be asked any more.
    """
    while batch := list(islice(conversations, size)):
        client.forget()
        yield from client.converse(batch)
        if client.spent.stopped is not None:
            return


def cost_lines(spent: Spent) -> list[str]:
    """Return lines on the calls, their cost, and why they stopped."""
    from pytest_tablebench.models import refusal_lines

    calls = ", ".join(f"{name} {count:,}" for name, count in spent.calls.items())
    price = f"${spent.cost_usd:.4f}"
    if spent.unpriced:
        price = "price unknown" if not spent.cost_usd else f"{price}, and some prices are unknown"
    untold = f", without {spent.uncounted:,} replies that lack a count" if spent.uncounted else ""
    line = (
        f"asked: {counted(sum(spent.calls.values()), 'call')}{f' ({calls})' if calls else ''}, "
        f"{spent.prompt_tokens:,} tokens of prompts, {spent.completion_tokens:,} of replies"
        f"{untold}, {price}"
    )
    if spent.failed:
        line += f"; {counted(spent.failed, 'request')} without a reply"
    notes = refusal_lines(spent.left_out)
    return [line, *notes, *([f"stopped: {spent.stopped}"] if spent.stopped else [])]
