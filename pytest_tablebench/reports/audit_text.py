"""Lines and JSON about an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.audit.ranking import preferred_answer
from pytest_tablebench.documents.formats import aligned
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.audit.ranking import Audit
    from pytest_tablebench.audit.suspects import Suspect

AUDIT_SCHEMA = 1
"""The version of the JSON file of an audit."""


def audit_lines(audit: Audit, top: int) -> list[str]:
    """Return the first `top` suspects as a table, and what the audit could not know."""
    voters = ", ".join(printable(voter, 60) for voter in audit.voters)
    lines = [f"{counted(len(audit.suspects), 'example')}; voters: {voters}"]
    for name, share in sorted(audit.wrong_share.items()):
        rights = ", ".join(
            f"{printable(voter, 60)} {value:.2f}"
            for voter, value in audit.accuracy.get(name, {}).items()
        )
        how = "estimated" if audit.is_estimated else "assumed"
        shown = f"{printable(name, 60)}: {how} share of wrong golds {share:.3f}"
        lines.append(f"{shown}; of right answers {rights}")
    rows = [["", "example", "suspicion", "gold", "preferred", "main reason"]]
    rows += [_row(number, item) for number, item in enumerate(audit.suspects[:top], 1)]
    lines += ["", *aligned(rows, left=(1, 3, 4, 5))] if len(rows) > 1 else []
    lines += [""] if audit.notes else []
    return [*lines, *(f"note: {printable(note, 400)}" for note in audit.notes)]


def _row(number: int, suspect: Suspect) -> list[str]:
    preferred = preferred_answer(suspect.evidence)
    reason = max(suspect.evidence, key=lambda item: item.weight, default=None)
    return [
        str(number),
        printable(f"{suspect.dataset}/{suspect.example_id}", 48),
        f"{suspect.suspicion:.3f}",
        printable(", ".join(suspect.gold), 28),
        "-" if preferred is None else printable(preferred, 28),
        "-" if reason is None else printable(reason.text, 110),
    ]


def judge_counts_line(judge: str, counts: Mapping[str, int]) -> str:
    """Return how often a judge preferred the gold, the other answer, or contradicted itself."""
    names = {"first": "the gold", "second": "the other answer"}
    shown = ", ".join(f"{names.get(name, name)} {count}" for name, count in sorted(counts.items()))
    return f"{printable(judge, 100)}: {shown or 'no example has another answer to ask about'}"


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
