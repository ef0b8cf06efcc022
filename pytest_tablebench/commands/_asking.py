"""The shared part of all commands that ask models: options, price, calls, costs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands.outputs import print_note
from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.generate.question_maker import Conversation
    from pytest_tablebench.running.asking import ModelClient
    from pytest_tablebench.running.pricing import Spent


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
