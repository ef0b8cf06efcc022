"""An audit: the gold answers that are most likely wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_tablebench.audit.ranking import preferred_answer
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.audit.ranking import Audit
    from pytest_tablebench.audit.suspects import Suspect

AUDIT_SCHEMA = 1
"""The version of the JSON file of an audit."""


def audit_report(audit: Audit, top: int) -> doc.Document:
    """Return the first `top` suspects as a table, and what the audit could not know."""
    sentences = [f"{counted(len(audit.suspects), 'example')}; voters: {', '.join(audit.voters)}"]
    how = "estimated" if audit.is_estimated else "assumed"
    for name, share in sorted(audit.wrong_share.items()):
        accuracy = audit.accuracy.get(name, {})
        rights = ", ".join(f"{voter} {value:.2f}" for voter, value in accuracy.items())
        sentences.append(
            f"{name}: {how} share of wrong golds {share:.3f}; of right answers {rights}"
        )
    titles = ("example", "suspicion", "gold", "preferred", "main reason")
    columns = [doc.Column(title, "figure" if title == "suspicion" else "text") for title in titles]
    return doc.Document(
        "Gold answers",
        [
            *map(doc.Paragraph, sentences),
            table_of(columns, [_row(suspect) for suspect in audit.suspects[:top]]),
            *(doc.Paragraph(f"note: {note}") for note in audit.notes),
        ],
    )


def _row(suspect: Suspect) -> tuple[doc.Cell, ...]:
    preferred = preferred_answer(suspect.evidence)
    reason = max(suspect.evidence, key=lambda item: item.weight, default=None)
    return (
        doc.Code(f"{suspect.dataset}/{suspect.example_id}", 200),
        doc.Figure(suspect.suspicion),
        doc.Code(", ".join(suspect.gold)),
        None if preferred is None else doc.Code(preferred),
        None if reason is None else doc.Code(reason.text, 200),
    )


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values.

    `suspects` contains all examples, the most suspicious first, with `dataset`, `example`,
    `digest`, `question`, `gold`, `preferred`, `suspicion`, `evidence` (`kind`, `text`, `answer`,
    `weight`), `groups` (`answer`, `cases`, `voters`, `is_gold`) and `cells`.
    """
    return {
        "schema": AUDIT_SCHEMA,
        "voters": list(audit.voters),
        "accuracy": {name: dict(values) for name, values in audit.accuracy.items()},
        "wrong_share": dict(audit.wrong_share),
        "notes": list(audit.notes),
        "suspects": [
            {
                "dataset": suspect.dataset,
                "example": suspect.example_id,
                "digest": suspect.digest,
                "question": suspect.question,
                "gold": list(suspect.gold),
                "preferred": preferred_answer(suspect.evidence),
                "suspicion": round(suspect.suspicion, 6),
                "evidence": [vars(item) for item in suspect.evidence],
                "groups": [vars(group) for group in suspect.groups],
                "cells": list(suspect.cells),
            }
            for suspect in audit.suspects
        ],
    }
