"""The check of dataset folders: mistakes, repairs and notes of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.documents import document as doc
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder import FolderCheck


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
