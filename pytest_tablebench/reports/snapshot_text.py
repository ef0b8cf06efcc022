"""The lines on changed answers in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.snapshot_files import FOLDER
from pytest_tablebench.results.snapshots import DiffPart, excerpt, shorten, word_diff
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.results.snapshot_comparison import SnapshotComparison

__all__ = ["change_parts", "change_title", "counts_line"]


def counts_line(comparison: SnapshotComparison, model: str, data: Mapping[str, Any]) -> str:
    """Return the line of one model: how many answers are the same, changed and new.

    Arguments:
        comparison: the snapshot comparison of the run.
        model: the model.
        data: the content of its `snapshots.json`.
    """
    title, compared = printable(model, 80), data["compared_with"]
    if compared is not None:
        title = f"{title} against {printable(compared, 80)}"
    if comparison.is_in_vain(model):
        return f"{title}: {_no_snapshot_text(comparison, model, compared)}"
    return f"{title}: {_counts_text(data, comparison.update)}"


def _no_snapshot_text(comparison: SnapshotComparison, model: str, compared: str | None) -> str:
    files = comparison.files(model)
    count = sum(len(file.kinds) + len(file.unread) for file in files)
    text = f"0 of {counted(count, 'answer')} had a snapshot"
    if any(file.problem for file in files):
        return text
    if compared is None:
        return f"{text}; --snapshot-update records them"
    return f"{text}; a run with --snapshot-update and {printable(compared, 80)} records them"


def _counts_text(data: Mapping[str, Any], update: bool) -> str:
    counts = data["counts"]
    text = (
        f"{counts['same']} same text, {counts['reworded']} other text with the same verdict, "
        f"{counts['flipped']} flipped, {counts['new']} new"
    )
    if counts["no_answer"]:
        text += f", {counts['no_answer']} without an answer (not compared)"
    unused = sum(file_data["unused"] or 0 for file_data in data["files"].values())
    if unused:
        text += f", {unused} unused (stored, but no longer a case)"
    if update:
        return f"{text}; recorded in {FOLDER}/"
    if counts["new"] or counts["reworded"] or counts["flipped"]:
        text += "; --snapshot-update records them"
    return text


def change_title(change: Mapping[str, Any]) -> str:
    """Return the first line of a change: its kind and its case."""
    old, new = change["old"], change["new"]
    verdict = f"{old['verdict']} -> {new['verdict']}" if change["kind"] == "flipped" else "reworded"
    return f"{verdict}  {printable(change['case_id'], 200)}"


def change_parts(change: Mapping[str, Any]) -> list[DiffPart]:
    """Return the removed and added words of a change; empty if its texts were not stored."""
    old, new = change["old"], change["new"]
    if "text" not in old:
        return []
    shown = excerpt(old["text"], new["text"], 600)
    return shorten(word_diff(shown.old, shown.new))
