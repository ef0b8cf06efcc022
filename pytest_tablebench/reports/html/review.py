"""Pages on which people give verdicts: on gold answers, and on replies that a judge marked.

Each is one file that loads nothing. What people enter is stored in their browser and saved as CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pytest_tablebench.audit.suspects import EVIDENCE_NAMES, VERDICT_NAMES, Suspect, odds_text
from pytest_tablebench.documents.html import save_page
from pytest_tablebench.reports.html._details import deflated
from pytest_tablebench.reports.html._texts import cell_text
from pytest_tablebench.results.corrections import (
    COLUMNS,
    WITH_ANSWERS,
    Correction,
    Corrections,
    cells_of,
)
from pytest_tablebench.results.labelled_cases import LabelCase, LabelScale

_DETAILS, _TABLES = 32, 8
_ROW_LIMITS = (1000, 200, 60, 20)
"""The number of first rows of a table, tried in turn until the tables fit the budget."""
_BUDGET = 30_000_000
_COLUMN_LIMIT, _CELL_LIMIT, _OTHER_LIMIT = 200, 1_000, 20
_AROUND = 5
"""Rows before and after a marked cell that a cut table keeps."""

TEXT_LIMIT = 20_000
"""The most characters of a question, reply or answer."""


def page_id(kind: str, keys: Iterable[tuple[str, ...]]) -> str:
    """Return the name under which a browser stores what was entered; the order does not count."""
    text = json.dumps([kind, sorted(keys)])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def pack_items(
    index: Mapping[str, Any],
    details: Sequence[Mapping[str, Any]],
    tables: Sequence[Sequence[Mapping[str, Any]]],
    marked: Sequence[Sequence[tuple[int, int, int]]],
    *,
    budget: int = _BUDGET,
) -> dict[str, str]:
    """Return the blocks of a page by the ids of their elements.

    Arguments:
        index: what list and filters need.
        details: by item, what is shown of it.
        tables: by item, its tables.
        marked: by item, the marked cells as (table, row, column).
        budget: characters of all blocks of tables; longer tables are cut to fit.
    """
    for limit in _ROW_LIMITS:
        blocks, places = _table_blocks(tables, marked, limit)
        if sum(map(len, blocks.values())) <= budget:
            break
    else:
        blocks, places = {}, [[] for _ in tables]
    full = [
        {**detail, "tables": at, "table_count": len(item)}
        for detail, at, item in zip(details, places, tables, strict=True)
    ]
    blocks |= _chunks("d", full, _DETAILS)
    sizes = {"details": _DETAILS, "tables": _TABLES}
    blocks["index"] = deflated({**index, "count": len(details), "sizes": sizes})
    return blocks


def _chunks(letter: str, values: Sequence[Any], size: int) -> dict[str, str]:
    return {
        f"{letter}{start // size}": deflated(values[start : start + size])
        for start in range(0, len(values), size)
    }


def _table_blocks(
    tables: Sequence[Sequence[Mapping[str, Any]]],
    marked: Sequence[Sequence[tuple[int, int, int]]],
    limit: int,
) -> tuple[dict[str, str], list[list[int]]]:
    """Return blocks of different tables, and by item the places of its tables in them."""
    places: dict[str, int] = {}
    values: list[Any] = []
    by_item = []
    for item, cells in zip(tables, marked, strict=True):
        at = []
        for number, table in enumerate(item):
            table_block = _table_excerpt(
                table, {row for table_number, row, _ in cells if table_number == number}, limit
            )
            key = json.dumps(table_block)
            if key not in places:
                places[key] = len(values)
                values.append(table_block)
            at.append(places[key])
        by_item.append(at)
    return _chunks("t", values, _TABLES), by_item


def _table_excerpt(table: Mapping[str, Any], marked: set[int], limit: int) -> dict[str, Any]:
    """Return the first rows of a table and the rows around marked cells.

    `numbers` has the number of each row, from 0, if rows between them are left out.
    """
    rows, header = table["rows"], table["header"]
    title = table.get("title")
    around = {row + step for row in marked for step in range(-_AROUND, _AROUND + 1)}
    numbers = sorted({*range(min(limit, len(rows))), *(n for n in around if 0 <= n < len(rows))})
    structure = table.get("structure") or {}
    return {
        "title": None if title is None else str(title)[:_CELL_LIMIT],
        "header": _row_cells(header),
        "above": [
            _row_cells(line)
            for name in ("captions", "header_rows")
            for line in structure.get(name, ())[:_OTHER_LIMIT]
        ],
        "below": [_row_cells(line) for line in structure.get("notes", ())[:_OTHER_LIMIT]],
        "rows": [_row_cells(rows[number]) for number in numbers],
        "numbers": None if numbers == list(range(len(numbers))) else numbers,
        "row_count": len(rows),
        "column_count": max([len(header), *map(len, rows)], default=0),
    }


def _row_cells(cells: Sequence[Any]) -> list[str | None]:
    return [cell_text(cell, _CELL_LIMIT) for cell in cells[:_COLUMN_LIMIT]]


LABEL_COLUMNS = ("case_id", "label", "who", "when")
"""The columns of `labels.csv`; a label is a number from 0 to 1."""

_MODULES = (
    "text",
    "blocks",
    "review-items",
    "review-list",
    "review-table",
    "review-item",
    "review-verdict",
    "review-file",
    "review-begin",
)
_TONES = {"right": "right", "wrong": "wrong", "several": "several", "unclear": "none"}
_EXCERPT, _SHORT = 240, 80
_SCALES: tuple[LabelScale, ...] = ("marks", "right_wrong")
_MARKS = [
    {
        "value": f"{mark / 10:g}",
        "label": str(mark),
        "key": str(mark) if mark < 10 else "t",
        "tone": "wrong" if mark < 4 else "none" if mark < 7 else "right",
    }
    for mark in range(11)
]
_RIGHT_OR_WRONG = [
    {"value": "1", "label": "Right", "key": "1", "tone": "right"},
    {"value": "0", "label": "Wrong", "key": "0", "tone": "wrong"},
]
_PLAIN: Mapping[str, Any] = {
    "kinds": [],
    "with_answers": (),
    "earlier": {},
    "changed": [],
    "others": [],
}
"""The index of a page without evidence and earlier verdicts."""


def write_audit_page(
    path: Path,
    suspects: Sequence[Suspect],
    *,
    corrections: Corrections | None = None,
    blind: bool = False,
    title: str = "Gold answers",
) -> None:
    """Write a page that shows suspects and saves verdicts as `corrections.csv`.

    Arguments:
        path: the file to write; a former one is replaced.
        suspects: in the order of the list.
        corrections: earlier verdicts. A verdict on another version of a row is shown as such and
            stays in the saved file, as do verdicts on examples that are not on the page.
        blind: whether suspicion, evidence and the models' answers stay hidden until the reviewer
            has given a verdict. The list is then in the order of datasets and examples.
        title: the heading.

    Raises `SettingsError` if `path` cannot be written.
    """
    items = list(suspects)
    if blind:
        items.sort(key=lambda item: (item.dataset, item.example_id))
    datasets = sorted({item.dataset for item in items})
    kinds = list(EVIDENCE_NAMES)
    earlier, changed, others = _earlier(items, corrections)
    columns = {
        "dataset": [datasets.index(item.dataset) for item in items],
        "id": [item.example_id for item in items],
        "digest": [item.digest for item in items],
        "question": [item.question[:_EXCERPT] for item in items],
        "gold": [" | ".join(item.gold)[:_SHORT] for item in items],
        "answer": [
            next((group.answer[:_SHORT] for group in item.groups if not group.is_gold), "")
            for item in items
        ],
        "suspicion": [round(item.suspicion, 3) for item in items],
        "kinds": [
            sum(1 << kinds.index(kind) for kind in {part.kind for part in item.evidence})
            for item in items
        ],
    }
    choices = [
        {"value": verdict, "label": name, "key": str(number), "tone": _TONES.get(verdict, "broken")}
        for number, (verdict, name) in enumerate(VERDICT_NAMES.items(), 1)
    ]
    index = {
        "kind": "audit",
        "page": page_id("audit", [(i.dataset, i.example_id, i.digest) for i in items]),
        "file": "corrections.csv",
        "header": COLUMNS,
        "blind": blind,
        "datasets": datasets,
        "kinds": list(EVIDENCE_NAMES.values()),
        "choices": [choices],
        "with_answers": WITH_ANSWERS,
        "columns": columns,
        "earlier": earlier,
        "changed": changed,
        "others": others,
    }
    details = [_suspect(item) for item in items]
    cells = [item.cells for item in items]
    _save(path, title, index, details, [item.tables for item in items], cells)


def _suspect(item: Suspect) -> dict[str, Any]:
    return {
        "question": item.question[:TEXT_LIMIT],
        "gold": [text[:TEXT_LIMIT] for text in item.gold],
        "cells": item.cells,
        "groups": [
            {
                "answer": group.answer[:TEXT_LIMIT],
                "cases": group.cases,
                "voters": group.voters,
                "is_gold": group.is_gold,
            }
            for group in item.groups
        ],
        "evidence": [
            {
                "kind": EVIDENCE_NAMES[part.kind],
                "text": part.text[:TEXT_LIMIT],
                "answer": None if part.answer is None else part.answer[:TEXT_LIMIT],
                "against": part.weight > 0,
                "odds": odds_text(part.weight),
            }
            for part in item.evidence
        ],
    }


def _earlier(
    items: Sequence[Suspect], corrections: Corrections | None
) -> tuple[dict[int, dict[str, Any]], list[int], list[list[str]]]:
    """Return earlier verdicts by item, items whose row has changed, and all other lines."""
    left: dict[tuple[str, str], Correction] = dict(corrections.by_example) if corrections else {}
    earlier, changed = {}, []
    for number, item in enumerate(items):
        correction = left.get((item.dataset, item.example_id))
        if correction is None:
            continue
        if not correction.is_for(item.digest):
            changed.append(number)
            continue
        earlier[number] = {
            "verdict": correction.verdict,
            "answers": list(correction.answers),
            "notes": correction.evidence,
            "who": correction.reviewer,
            "when": correction.date,
        }
        del left[correction.key]
    return earlier, changed, [cells_of(correction) for correction in left.values()]


def write_label_page(
    path: Path,
    cases: Sequence[LabelCase],
    *,
    blind: bool = True,
) -> None:
    """Write a page on which a person marks replies and saves the marks as `labels.csv`.

    Arguments:
        path: the file to write; a former one is replaced.
        cases: in the order in which the page shows them.
        blind: whether the page leaves out the judge's marks; they are then not in the file.

    Raises `SettingsError` if `path` cannot be written.
    """
    datasets = sorted({case.dataset for case in cases})
    columns = {
        "dataset": [datasets.index(case.dataset) for case in cases],
        "id": [case.case_id for case in cases],
        "question": [case.question[:_EXCERPT] for case in cases],
        "gold": [" | ".join(case.references)[:_SHORT] for case in cases],
        "answer": [case.reply[:_SHORT] for case in cases],
        "scale": [_SCALES.index(case.scale) for case in cases],
    }
    index = {
        "kind": "labels",
        "page": page_id("labels", [(case.case_id,) for case in cases]),
        "file": "labels.csv",
        "header": LABEL_COLUMNS,
        "blind": blind,
        "datasets": datasets,
        "choices": [_MARKS, _RIGHT_OR_WRONG],
        "columns": columns,
    }
    details = [
        {
            "question": case.question[:TEXT_LIMIT],
            "gold": [text[:TEXT_LIMIT] for text in case.references],
            "reply": case.reply[:TEXT_LIMIT],
            "reply_length": len(case.reply),
            "mark": None if blind or case.judge_mark is None else round(case.judge_mark, 3),
            "cells": [],
        }
        for case in cases
    ]
    tables = [case.tables for case in cases]
    _save(path, "Judged replies", index, details, tables, [()] * len(cases))


def _save(  # noqa: PLR0917 - a page is its parts
    path: Path,
    title: str,
    index: Mapping[str, Any],
    details: Sequence[Mapping[str, Any]],
    tables: Sequence[Sequence[Mapping[str, Any]]],
    marked: Sequence[Sequence[tuple[int, int, int]]],
) -> None:
    blocks = pack_items({**_PLAIN, **index}, details, tables, marked)
    facts = {"title": title, "kind": index["kind"], "count": len(details), "blocks": blocks}
    save_page(path, "review.html", facts, modules=_MODULES, styles=("page.css", "review.css"))
