"""Answers that differ from their snapshots: counts, and the changed words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.snapshot_files import FOLDER
from pytest_tablebench.results.snapshots import DiffPart, excerpt, shorten, word_diff
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.results.snapshot_comparison import SnapshotComparison

__all__ = ["change_kind", "change_parts", "counts_line"]


def counts_line(comparison: SnapshotComparison, model: str, data: Mapping[str, Any]) -> str:
    """Return the line of one model: how many answers are the same, changed and new.

    Arguments:
        comparison: the snapshot comparison of the run.
        model: the model.
        data: the content of its `snapshots.json`.
    """
    files, counts, compared = comparison.files(model), data["counts"], data["compared_with"]
    title, recording = model, "--snapshot-update records them"
    if compared is not None:
        title += f" against {compared}"
    if comparison.is_in_vain(model):
        answers = sum(kind != "no_answer" for file in files for kind in file.kinds.values())
        if compared is not None:
            recording = f"a run with --snapshot-update and {compared} records them"
        end = "" if any(file.problem for file in files) else f"; {recording}"
        return f"{title}: 0 of {counted(answers, 'answer')} had a snapshot{end}"
    text = (
        f"{title}: {counts['same']} same text, {counts['reworded']} other text with the same "
        f"verdict, {counts['flipped']} flipped, {counts['new']} new"
    )
    if counts["no_answer"]:
        text += f", {counts['no_answer']} without an answer (not compared)"
    unused = sum(file_data["unused"] or 0 for file_data in data["files"].values())
    if unused:
        text += f", {unused} unused (stored, but no longer a case)"
    if comparison.update:
        return f"{text}; recorded in {FOLDER}/"
    if counts["new"] or counts["reworded"] or counts["flipped"]:
        text += f"; {recording}"
    return text


def change_kind(change: Mapping[str, Any]) -> str:
    """Return how an answer changed: `reworded`, or its old and new verdict."""
    if change["kind"] == "reworded":
        return "reworded"
    return f"{change['old']['verdict']} -> {change['new']['verdict']}"


def change_parts(change: Mapping[str, Any]) -> list[DiffPart]:
    """Return the removed and added words of a change; empty if its texts were not stored."""
    old, new = change["old"], change["new"]
    if "text" not in old:
        return []
    return shorten(word_diff(*excerpt(old["text"], new["text"], 600)[1:]))
