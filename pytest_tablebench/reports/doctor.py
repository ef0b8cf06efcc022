"""What works on a machine, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.tables import table_of

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
