"""The table of `tablebench models`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from pytest_tablebench.documents.formats import aligned
from pytest_tablebench.models import Resolution
from pytest_tablebench.reports.retirement_text import retirement_line
from pytest_tablebench.running.model_listing import per_million
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.running.model_listing import ListedModel

_HEAD = ("model", "retires", "context", "$/M in", "$/M out", "can", "last used", "from")
_LEFT = (0, 1, 5, 6, 7)


def models_lines(models: Sequence[ListedModel], today: date | None = None) -> list[str]:
    """Return the table, a line for each model that retires soon, and notes on missing facts."""
    lines = aligned([_HEAD, *map(_row, models)], left=_LEFT)
    retirements = [
        retirement_line(model.name, model.facts.deprecation_date, today)
        for model in models
        if model.facts is not None
    ]
    lines += [line for line in retirements if line is not None]
    notes: dict[str, list[str]] = {}
    for model in models:
        if model.note:
            notes.setdefault(model.note, []).append(printable(model.name, 80))
    return lines + [f"note: {', '.join(names)}: {printable(note)}" for note, names in notes.items()]


def _row(model: ListedModel) -> tuple[str, ...]:
    facts = model.facts or Resolution()
    abilities = ", ".join(name for name, can in model.abilities.items() if can)
    context = facts.max_input_tokens
    return (
        printable(model.name, 60),
        printable(str(facts.deprecation_date or "-"), 20),
        f"{context:,}" if isinstance(context, int) else "-",
        _price(facts.input_cost_per_token),
        _price(facts.output_cost_per_token),
        abilities or "-",
        printable((model.last_used or "-")[:10]),
        _sources(model),
    )


def _price(price: object) -> str:
    million = per_million(price)
    return "-" if million is None else f"{million:,.4g}" if million < 0.01 else f"{million:,.2f}"


def _sources(model: ListedModel) -> str:
    sources = [f"store ({counted(model.answers, 'answer')})"] if model.answers else []
    sources += [counted(model.runs, "run")] if model.runs else []
    return ", ".join([*sources, *(printable(key, 60) for key in model.keys)])
