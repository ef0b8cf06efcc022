"""Reports on gold answers for the authors of a dataset: Markdown for an issue, and JSON lines.

Every text of models and datasets in a report is inline code, so that it mentions no person and
links nothing. A line of JSON is an object with these keys:

- `schema`: `tablebench-audit/1`;
- `dataset`, `example`, `digest`: as in `corrections.csv`;
- `question`: text; `gold`: the published answers;
- `suspicion`: the probability that the gold is wrong, from 0 to 1;
- `verdict`, `answers`, `reason`: of the person that looked at it; the verdict is null without;
- `evidence`: objects with `kind`, `text`, `answer` (text or null) and `weight` (the natural
  logarithm of how much more likely the evidence is if the gold is wrong);
- `models`: objects with `answer`, `cases`, `voters` and `is_gold`;
- `cells`: the cells that matter, as `[table, row, column]` from 0; row -1 is the header.

Names of reviewers are not exported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_tablebench.audit.suspects import EVIDENCE_NAMES, VERDICT_NAMES, Suspect, odds_text
from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.results.corrections import Correction, Corrections
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.markdown import code
from pytest_tablebench.util.names import counted, slug

SCHEMA = "tablebench-audit/1"
MARK = "<!-- written by tablebench audit export -->"
"""The first line of each Markdown report."""

TOP = 20
"""The number of exported suspects without corrections."""

ISSUE_LIMIT = 65_536
"""Characters in the text of an issue on GitHub."""

_TEXT, _ANSWER, _TABLES = 2_000, 300, 3

Checked = tuple[Suspect, Correction | None]


@dataclass(frozen=True)
class ExportedReports:
    """The written files, the number of examples in them, and what you should know about them."""

    paths: tuple[Path, ...]
    examples: int
    notes: tuple[str, ...]


def write_reports(
    folder: Path,
    suspects: Sequence[Suspect],
    corrections: Corrections | None = None,
    *,
    top: int = TOP,
    force: bool = False,
) -> ExportedReports:
    """Write `NAME.md` and `NAME.jsonl` for each dataset into a folder.

    Arguments:
        folder: made if it does not exist. No file is written outside it, whatever a dataset's name.
        suspects: all examples of the audit.
        corrections: export the examples with a verdict other than `right`. A verdict on another
            version of a row, or on an example that is no suspect, is left out and noted.
        top: without corrections, the number of most suspicious examples.
        force: whether to replace files that this function did not write.

    Raises `SettingsError` if there is nothing to export, a file of the same name was not written
    here, or a file cannot be written. Then no file has changed, unless the writing itself failed.
    """
    chosen, notes = _chosen(suspects, corrections, top)
    if not chosen:
        reason = "no verdict other than right" if corrections is not None else "no suspect"
        raise SettingsError(f"nothing to export: {'; '.join([reason, *notes])}")
    by_dataset: dict[str, list[Checked]] = {}
    for item in chosen:
        by_dataset.setdefault(item[0].dataset, []).append(item)
    contents: dict[Path, str] = {}
    for dataset, stem in zip(by_dataset, _stems(by_dataset), strict=True):
        text = _report(dataset, by_dataset[dataset])
        contents[folder / f"{stem}.md"] = text
        contents[folder / f"{stem}.jsonl"] = "".join(map(_line, by_dataset[dataset]))
        if len(text) > ISSUE_LIMIT:
            notes.append(
                f"{stem}.md has {len(text):,} characters and an issue on GitHub takes "
                f"{ISSUE_LIMIT:,}: attach the file, or export fewer examples"
            )
    foreign = [path for path in contents if not force and not _is_replaceable(path)]
    if foreign:
        raise SettingsError(
            f"{foreign[0]} was not written by this command; choose another folder, "
            f"or replace it with --force"
        )
    with writing(f"{folder}: the reports cannot be written"):
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in contents.items():
            write_whole(path, text)
    return ExportedReports(tuple(contents), len(chosen), tuple(notes))


def _chosen(
    suspects: Sequence[Suspect], corrections: Corrections | None, top: int
) -> tuple[list[Checked], list[str]]:
    """Return the examples to export, the most suspicious first, and notes on the others."""
    ranked = sorted(suspects, key=lambda item: -item.suspicion)
    if corrections is None:
        return [(item, None) for item in ranked[:top]], []
    left = {key: item for key, item in corrections.by_example.items() if item.verdict != "right"}
    chosen: list[Checked] = []
    changed: list[str] = []
    for suspect in ranked:
        correction = left.pop((suspect.dataset, suspect.example_id), None)
        if correction is None:
            continue
        if correction.is_for(suspect.digest):
            chosen.append((suspect, correction))
        else:
            changed.append(f"{suspect.dataset}/{suspect.example_id}")
    notes = []
    for number, names, reason in (
        (len(changed), changed, "for another version of the example"),
        (len(left), ["/".join(key) for key in left], "for an example that these runs do not have"),
    ):
        if number:
            first = f", such as {names[0]}"
            notes.append(f"{counted(number, 'verdict')} left out, {reason}{first}")
    return chosen, notes


def _stems(datasets: Sequence[str] | dict[str, Any]) -> Iterator[str]:
    """Yield file names without suffix that differ even if the file system ignores case."""
    seen: set[str] = set()
    for number, dataset in enumerate(datasets):
        stem = slug(dataset, 80)
        if stem.lower() in seen:
            stem = f"{stem}-{number}"
        seen.add(stem.lower())
        yield stem


def _is_replaceable(path: Path) -> bool:
    """Return whether a path is free, or is a file that an earlier export wrote."""
    if path.is_symlink():
        return False
    if not path.exists():
        return True
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline(10_000_000).strip()
        if path.suffix == ".md":
            return first == MARK
        line = parsed_json(first)
    except (OSError, ValueError):
        return False
    return isinstance(line, dict) and line.get("schema") == SCHEMA


# JSON lines


def _line(checked: Checked) -> str:
    item, correction = checked
    fields = {
        "schema": SCHEMA,
        "dataset": item.dataset,
        "example": item.example_id,
        "digest": item.digest,
        "question": item.question,
        "gold": list(item.gold),
        "suspicion": round(item.suspicion, 6),
        "verdict": correction and correction.verdict,
        "answers": list(correction.answers) if correction else [],
        "reason": correction.evidence if correction else "",
        "evidence": [asdict(part) | {"weight": _rounded(part.weight)} for part in item.evidence],
        "models": [asdict(group) for group in item.groups],
        "cells": [list(cell) for cell in item.cells],
    }
    return json.dumps(fields) + "\n"


def _rounded(weight: float) -> float | None:
    return round(weight, 6) if math.isfinite(weight) else None


# Markdown


def _report(dataset: str, chosen: Sequence[Checked]) -> str:
    is_checked = chosen[0][1] is not None
    parts = [
        MARK,
        f"# Gold answers of {code(dataset)}: {counted(len(chosen), 'example')} to check",
        "Answers of several models, programs executed on the tables, and look-ups and sums derived "
        "by rule were compared with the published answers. "
        + (
            "A person has looked at each example below."
            if is_checked
            else "No person has checked the examples below; they are the most suspicious ones."
        ),
        "\n".join(_overview(chosen)),
        *(part for checked in chosen for part in _section(checked)),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(chosen: Sequence[Checked]) -> Iterator[str]:
    yield "| example | published answer | right or frequent answer | verdict or suspicion |"
    yield "| --- | --- | --- | --- |"
    for item, correction in chosen:
        if correction is not None:
            better, state = correction.answers, VERDICT_NAMES[correction.verdict]
        else:
            better = tuple(group.answer for group in item.groups if not group.is_gold)[:1]
            state = f"{item.suspicion:.0%}".replace("%", " %")
        cells = [code(item.example_id), _answers(item.gold, 80), _answers(better, 80), state]
        yield f"| {' | '.join(cells)} |"


def _answers(answers: Sequence[str], limit: int = _ANSWER) -> str:
    return ", ".join(code(answer, limit) for answer in answers) or "–"


def _section(checked: Checked) -> Iterator[str]:
    item, correction = checked
    yield f"## {code(item.example_id)}"
    yield f"Question: {code(item.question, _TEXT)}"
    facts = [f"- Published answer: {_answers(item.gold)}"]
    if correction is not None:
        facts.append(f"- Verdict: {VERDICT_NAMES[correction.verdict].lower()}")
        if correction.answers:
            facts.append(f"- Right: {_answers(correction.answers)}")
        if correction.evidence.strip():
            facts.append(f"- Reason: {code(correction.evidence.strip(), _TEXT)}")
    facts.append(f"- Probability that the published answer is wrong: {item.suspicion:.2f}")
    yield "\n".join(facts)
    if item.evidence:
        lines = [
            f"- {EVIDENCE_NAMES[part.kind]} ({odds_text(part.weight)}): {code(part.text, _TEXT)}"
            for part in item.evidence
        ]
        yield "\n".join(["Evidence:\n", *lines])
    if item.groups:
        lines = [
            f"| {code(group.answer, _ANSWER)} | {group.cases:,} | {_answers(group.voters, 80)} | "
            f"{'yes' if group.is_gold else 'no'} |"
            for group in item.groups
        ]
        head = ["| answer | cases | models | counts as right |", "| --- | ---: | --- | --- |"]
        yield "\n".join([*head, *lines])
    for number, table in enumerate(item.tables):
        marked = [
            (row, column) for table_number, row, column in item.cells if table_number == number
        ]
        if marked or number < _TABLES:
            yield table_excerpt(table, marked)


_AROUND, _FIRST = 2, 5
_MOST_ROWS, _MOST_COLUMNS = 30, 12
_CELL = 60


def table_excerpt(table: Mapping[str, Any], marked: Iterable[tuple[int, int]]) -> str:
    """Return the rows around marked cells, or the first rows, with the marked cells bold.

    Arguments:
        table: with `title`, `header` and `rows`.
        marked: cells as (row, column), from 0; row -1 is the header.
    """
    rows, header = table["rows"], table["header"]
    cells = set(marked)
    places = {row for row, _ in cells if 0 <= row < len(rows)}
    around = {n for row in places for n in range(row - _AROUND, row + _AROUND + 1)}
    numbers = sorted(n for n in around or range(_FIRST) if 0 <= n < len(rows))[:_MOST_ROWS]
    width = max([len(header), *(len(rows[n]) for n in numbers)], default=0)
    columns = _columns(width, {column for _, column in cells if 0 <= column < width})
    lines = [
        _table_line("row", [_cell(header, n, (-1, n) in cells) for n in columns]),
        _table_line("---:", ["---"] * len(columns)),
    ]
    for before, row in pairwise([-1, *numbers]):
        if row > before + 1:
            lines.append(_table_line("…", [""] * len(columns)))
        lines.append(
            _table_line(str(row + 1), [_cell(rows[row], n, (row, n) in cells) for n in columns])
        )
    if numbers[-1:] != [len(rows) - 1] and rows:
        lines.append(_table_line("…", [""] * len(columns)))
    return "\n".join([*_caption(table, len(rows), width, len(columns)), *lines])


def _columns(width: int, marked: set[int]) -> list[int]:
    """Return the columns to show: the marked ones first, then the leftmost."""
    order = sorted(range(width), key=lambda column: (column not in marked, column))
    return sorted(order[:_MOST_COLUMNS])


def _caption(table: Mapping[str, Any], rows: int, width: int, column_count: int) -> Iterator[str]:
    title = table.get("title")
    size = f"{counted(rows, 'row')}, {counted(width, 'column')}"
    part = f", {column_count} of them shown" if column_count < width else ""
    yield f"Table{f' {code(str(title))}' if title else ''} ({size}{part}):\n"


def _cell(line: list[Any], column: int, is_marked: bool) -> str:
    value = line[column] if column < len(line) else None
    if value is None or value == "":
        return "**(empty)**" if is_marked else ""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return f"**{code(text, _CELL)}**" if is_marked else code(text, _CELL)


def _table_line(label: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([label, *cells])} |"
