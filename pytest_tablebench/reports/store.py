"""The content of an answer store, and whether it is damaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.store.upkeep import Survey


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
