"""Answers that differ from their snapshots: counts, and the changed words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal

from pytest_tablebench.documents import document as doc
from pytest_tablebench.results.snapshots import excerpt
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.results.snapshot_comparison import SnapshotComparison

SHOWN = 10
"""The maximum number of changes in the report; `snapshots.json` has all."""

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_MARKS = {"same": ("", ""), "old": ("[-", "-]"), "new": ("{+", "+}")}


def snapshots_report(comparison: SnapshotComparison) -> doc.Document:
    """Return the counts of each model with its changes, `SHOWN` in all, and the problems."""
    blocks: list[doc.Block] = []
    left = SHOWN
    for model in comparison.models:
        data = comparison.data(model)
        changes = data["changes"]
        blocks.append(doc.Paragraph(_counts_line(comparison, model, data)))
        for change in changes[:left]:
            blocks.append(doc.Paragraph(f"{change_kind(change)}  {change['case_id']}"))
            blocks += [doc.Verbatim(words)] if (words := change_words(change)) else []
        if rest := len(changes[left:]):
            text = f"not shown: {rest} more changed; all are in snapshots.json"
            blocks.append(doc.Paragraph(text))
        left = max(0, left - len(changes))
    blocks += [doc.Paragraph(problem, "warning") for problem in dict.fromkeys(comparison.problems)]
    return doc.Document("tablebench: snapshots of answers", blocks)


def _counts_line(comparison: SnapshotComparison, model: str, data: Mapping[str, Any]) -> str:
    """Return how many answers of a model are the same, changed and new."""
    files = comparison.files[model].values()
    counts, compared = data["counts"], data["compared_with"]
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
    if unused := sum(file["unused"] or 0 for file in data["files"].values()):
        text += f", {unused} unused (stored, but no longer a case)"
    if comparison.update:
        return f"{text}; recorded in {comparison.folder.name}/"
    if counts["new"] or counts["reworded"] or counts["flipped"]:
        text += f"; {recording}"
    return text


def change_kind(change: Mapping[str, Any]) -> str:
    """Return how an answer changed: `reworded`, or its old and new verdict."""
    if change["kind"] == "reworded":
        return "reworded"
    return f"{change['old']['verdict']} -> {change['new']['verdict']}"


def change_words(change: Mapping[str, Any]) -> str:
    """Return the words of both answers on one line, as git's word diff prints them.

    Removed words are in `[-` and `-]`, added ones in `{+` and `+}`; long parts are shortened. The
    text is empty if the answers were not stored.
    """
    old, new = change["old"].get("text", ""), change["new"].get("text", "")
    words = ""
    for kind, text in word_diff(*excerpt(old, new, 600), most=300):
        most = 80 if kind == "same" else 400
        is_long, (start, end) = len(text) > most, _MARKS[kind]
        part = f"{text[: most // 2]}...{text[-most // 2 :]}" if is_long else text
        words += f"{start}{printable(part)}{end}"
    return words


def word_diff(
    old: str, new: str, most: int | None = None
) -> Iterator[tuple[Literal["same", "old", "new"], str]]:
    """Yield the text in both answers (`same`), or in only one of them (`old`, `new`).

    Only the first `most` words, punctuation marks and gaps of each text are compared (None: all),
    which bounds the time; the others are left out. Together the parts of
    an answer are its text.
    """
    before, after = _TOKEN.findall(old)[:most], _TOKEN.findall(new)[:most]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, low, high, start, end in matcher.get_opcodes():
        if tag == "equal":
            yield "same", "".join(before[low:high])
            continue
        if low < high:
            yield "old", "".join(before[low:high])
        if start < end:
            yield "new", "".join(after[start:end])
