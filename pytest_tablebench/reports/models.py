"""The models of a project: their retirement, prices and abilities."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.models import Resolution
from pytest_tablebench.reports.retirement import retirement_line
from pytest_tablebench.running.model_listing import per_million
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.running.model_listing import ListedModel

_COLUMNS = ("model", "retires", "context", "$/M in", "$/M out", "can", "last used", "from")


def models_report(
    models: Sequence[ListedModel], problems: Sequence[str], today: date | None = None
) -> doc.Document:
    """Return a table, a sentence on each model that retires soon, and what is missing."""
    lines = [
        retirement_line(model.name, model.facts.deprecation_date, today)
        for model in models
        if model.facts is not None
    ]
    sentences = [line for line in lines if line is not None]
    notes: dict[str, list[str]] = {}
    for model in models:
        if model.note:
            notes.setdefault(model.note, []).append(model.name)
    sentences += [f"note: {', '.join(names)}: {note}" for note, names in notes.items()]
    sentences += [f"note: {problem}" for problem in problems]
    if not models:
        sentences.append("no model is in the store, in run folders or in the configuration")
    texts = ("model", "can", "from")
    columns = [doc.Column(title, "text" if title in texts else "figure") for title in _COLUMNS]
    table = table_of(columns, [_row(model) for model in models])
    return doc.Document("Models", [table, *map(doc.Paragraph, sentences)])


def _row(model: ListedModel) -> tuple[doc.Cell, ...]:
    facts, unknown = model.facts or Resolution(), doc.Figure(None)
    abilities = ", ".join(name for name, can in model.abilities.items() if can)
    context = facts.max_input_tokens
    return (
        doc.Code(model.name),
        str(facts.deprecation_date or "") or unknown,
        doc.Figure(context if isinstance(context, int) else None, "count"),
        _price(facts.input_cost_per_token),
        _price(facts.output_cost_per_token),
        abilities or unknown,
        (model.last_used or "")[:10] or unknown,
        _sources(model),
    )


def _price(price: object) -> doc.Cell:
    million = per_million(price)
    is_small = million is not None and million < 0.01
    return f"{million:.4g}" if is_small else doc.Figure(million, digits=2)


def _sources(model: ListedModel) -> str:
    sources = [f"store ({counted(model.answers, 'answer')})"] if model.answers else []
    sources += [counted(model.runs, "run")] if model.runs else []
    return ", ".join([*sources, *model.keys])
