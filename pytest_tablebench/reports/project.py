"""The state of a project: this machine, datasets, the answer store, and models that retire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import table_of
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder import FolderCheck
    from pytest_tablebench.running.model_listing import ListedModel
    from pytest_tablebench.store.upkeep import Survey

FindingState = Literal["ok", "-", "NO"]
"""`ok`: works. `-`: missing, but not every run needs it. `NO`: missing, and every run needs it."""

Finding = tuple[FindingState, str]
"""The result of one check: its state and text."""

_STATES: Mapping[FindingState, doc.State] = {"ok": "holds", "-": "undecided", "NO": "fails"}


def doctor_report(findings: Mapping[str, Finding], first: str) -> doc.Document:
    """Return the result of each check, and what to fix or how to start with the command `first`."""
    rows = [
        (name, doc.StateWord(state, _STATES[state]), doc.Code(text, 2000))
        for name, (state, text) in findings.items()
    ]
    broken = [name for name, (state, _) in findings.items() if state == "NO"]
    advice = f"Fix before a run: {', '.join(broken)}." if broken else f"Ready: {first}"
    table = table_of(("check", "state", doc.Column("result", "text")), rows)
    return doc.Document("Doctor", [table, doc.Paragraph(advice)])


def folder_report(checks: Iterable[tuple[str, FolderCheck, Sequence[str]]]) -> doc.Document:
    """Return what is known about each dataset, given its name, check and repairs."""
    blocks: list[doc.Block] = []
    for name, check, repairs in checks:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in check.kinds.items())
        questions = counted(sum(check.kinds.values()), "question")
        problems = counted(len(check.problems), "problem") if check.problems else "no problem"
        state = doc.StateWord(problems, "fails" if check.problems else "holds")
        sentences: list[doc.Text] = [
            *(f"{name}: fixed: {text}" for text in repairs),
            *map(str, check.problems),
            *(f"{name}: {note}" for note in check.notes),
            (f"{name}: {questions}{f' ({kinds})' if kinds else ''}, ", state),
        ]
        blocks += map(doc.Paragraph, sentences)
    return doc.Document("Dataset folders", blocks)


def store_report(survey: Survey) -> doc.Document:
    """Return the size of a store, and its answers by model."""
    counts = survey.answers.most_common()
    rows = [(doc.Code(model), doc.Figure(count, "count")) for model, count in counts]
    if survey.programs:
        rows.append((doc.Code("programs"), doc.Figure(survey.programs, "count")))
    size = f"{counted(survey.keys, 'answer')} in {counted(survey.segments, 'segment')}"
    sentences = [f"{size}, {survey.bytes:,} bytes"]
    if survey.entries > survey.keys:
        duplicates = survey.entries - survey.keys
        sentences.append(f"{duplicates:,} of {survey.entries:,} entries are duplicates")
    table = table_of(("model", "answers"), rows)
    return doc.Document("Answer store", [*map(doc.Paragraph, sentences), table])


def store_content(survey: Survey) -> dict[str, Any]:
    """Return the same as JSON values."""
    return {
        "answers": survey.keys,
        "entries": survey.entries,
        "segments": survey.segments,
        "bytes": survey.bytes,
        "models": dict(survey.answers.most_common()),
        "programs": survey.programs,
    }


def verification_report(entries: int, damages: Sequence[str]) -> doc.Document:
    """Return what is damaged in a store."""
    text = counted(len(damages), "problem") if damages else "nothing is damaged"
    state = doc.StateWord(text, "fails" if damages else "holds")
    closing = doc.Paragraph((f"{counted(entries, 'entry', 'entries')} checked: ", state))
    return doc.Document("Answer store", [*map(doc.Paragraph, damages), closing])


SOON = 60
"""The number of days before its retirement from which a model is reported."""


def retirement_line(model: str, day: object) -> str | None:
    """Return a line from `SOON` days before a model's retirement on, else None.

    As in `gpt-4o-2024-05-13 retires in 37 days (2026-12-31)`. There is no line if `day`, the day of
    the retirement, is no date.
    """
    try:
        retires = date.fromisoformat(day) if isinstance(day, str) else None
    except ValueError:
        retires = None
    if retires is None:
        return None
    days = (retires - date.today()).days
    if days > SOON:
        return None
    if days < 0:
        return f"{model} has been retired since {retires}"
    distance = f"in {counted(days, 'day')}" if days else "today"
    return f"{model} retires {distance} ({retires})"


def retirement_lines(run: RunFacts) -> list[str]:
    """Return the lines on the model and the judge of a run."""
    lines = (
        retirement_line(run.model, run.deprecation_date),
        retirement_line(f"judge {run.judge}", run.judge_deprecation_date),
    )
    return [line for line in lines if line is not None]


_COLUMNS = ("model", "retires", "context", "$/M in", "$/M out", "can", "last used", "from")


def models_report(models: Sequence[ListedModel], problems: Sequence[str]) -> doc.Document:
    """Return a table, a sentence on each model that retires soon, and what is missing."""
    lines = [
        retirement_line(model.name, model.facts.deprecation_date)
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
    table = table_of(columns, [_model_row(model) for model in models])
    return doc.Document("Models", [table, *map(doc.Paragraph, sentences)])


def _model_row(model: ListedModel) -> tuple[doc.Cell, ...]:
    from pytest_tablebench.models import Resolution

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
    from pytest_tablebench.running.model_listing import per_million

    million = per_million(price)
    is_small = million is not None and million < 0.01
    return f"{million:.4g}" if is_small else doc.Figure(million, digits=2)


def _sources(model: ListedModel) -> str:
    sources = [f"store ({counted(model.answers, 'answer')})"] if model.answers else []
    sources += [counted(model.runs, "run")] if model.runs else []
    return ", ".join([*sources, *model.keys])
