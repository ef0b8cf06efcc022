"""The questions, tables, prompts and pictures of a run as blocks inside the page, cut to fit."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.reports.html._details import deflated, is_picture
from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import (
    ExampleText,
    PromptText,
    Text,
    TranscriptText,
    example_key,
)
from pytest_tablebench.util.names import are, counted

_CELL_LIMIT, _ROW_LIMIT, _COLUMN_LIMIT = 400, 200, 60
_OTHER_LIMIT = 20
"""The most captions, header lines, and notes, each."""
_DEEPEST = 8
"""The number of different levels of indentation."""
_WIDE = {"caption", "section", "note"}
"""Kinds of lines whose texts extend over the empty cells after them, as in a spreadsheet."""


def shown_example(example: ExampleText) -> dict[str, Any]:
    """Return a question, its length, and up to five tables cut to fit a screen."""
    tables = [shown_table(table) for table in example.tables[:5]]
    return {
        "id": example.id,
        "question": example.question[:4000],
        "length": len(example.question),
        "tables": tables,
        "table_count": len(example.tables),
    }


def shown_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return title, header and rows, and the numbers of all rows and columns.

    A table with structure has `lines` and no rows. A line has a kind (`caption`, `head`, `row`,
    `section`, `note`) and the cells that no merged cell covers. A cell has its text, the lines
    (`down`) and columns (`across`) that it covers if more than one, whether it is a header
    (`is_header`), and its indentation (`level`).
    """
    rows, header = table["rows"], table["header"]
    width = max([len(header), *map(len, rows)], default=0)
    title = table.get("title")
    content: dict[str, Any] = {
        "title": None if title is None else str(title)[:_CELL_LIMIT],
        "header": [cell_text(cell) for cell in header[:_COLUMN_LIMIT]],
        "rows": [],
        "row_count": len(rows),
        "column_count": width,
    }
    structure = table.get("structure")
    if structure is not None:
        return {**content, "lines": _lines(table, structure, min(width, _COLUMN_LIMIT))}
    content["rows"] = [
        [cell_text(cell) for cell in row[:_COLUMN_LIMIT]] for row in rows[:_ROW_LIMIT]
    ]
    return content


def _lines(
    table: Mapping[str, Any], structure: Mapping[str, Any], width: int
) -> list[dict[str, Any]]:
    """Return the shown lines; a merged cell at the edge is cut."""
    shown_lines = list(_kept(table, structure))
    position_of = {number: at for at, (number, _, _, _) in enumerate(shown_lines)}
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    covered: set[tuple[int, int]] = set()
    for row, column, rows, columns in structure.get("spans", ()):
        if row not in position_of:
            continue
        down = [
            position_of[n]
            for n in range(row, min(row + rows, shown_lines[-1][0] + 1))
            if n in position_of
        ]
        across = range(column, min(column + columns, width))
        if not down or not across:
            continue
        sizes[down[0], column] = len(down), len(across)
        covered |= {(line, over) for line in down for over in across}
    names = structure.get("row_headers", 0)
    lines = []
    for at, (_, kind, level, line) in enumerate(shown_lines):
        cells = line[:width]
        labels = [n for n, cell in enumerate(cells[:names]) if not _is_empty(cell)]
        packed_cells, end = [], 0
        for column, cell in enumerate(cells):
            size = sizes.get((at, column))
            if column < end or (size is None and (at, column) in covered):
                continue
            if size is None and kind in _WIDE and not _is_empty(cell):
                end = column + 1
                while end < len(cells) and _is_empty(cells[end]) and (at, end) not in covered:
                    end += 1
                size = 1, end - column
            head = kind == "head" or (kind in {"row", "section"} and column < names)
            indent = level if column == (labels[-1] if labels else 0) else 0
            down_by, across_by = size or (1, 1)
            facts = {"down": down_by, "across": across_by, "is_header": head, "level": indent}
            usual = {"down": 1, "across": 1, "is_header": False, "level": 0}
            marked = {name: value for name, value in facts.items() if value != usual[name]}
            packed_cells.append({"text": cell_text(cell), **marked})
        lines.append({"kind": kind, "cells": packed_cells})
    return lines


def _is_empty(cell: Any) -> bool:
    return cell is None or cell == ""


def _kept(
    table: Mapping[str, Any], structure: Mapping[str, Any]
) -> Iterator[tuple[int, str, int, Sequence[Any]]]:
    """Yield the shown lines: number in the sheet, kind, level, cells."""
    captions, above = structure.get("captions", []), structure.get("header_rows", [])
    sections, levels = set(structure.get("sections", ())), structure.get("row_levels", ())
    heads = [*above[:_OTHER_LIMIT], table["header"]]
    at = len(captions) + len(above) + 1
    for number, line in enumerate(captions[:_OTHER_LIMIT]):
        yield number, "caption", 0, line
    for number, line in enumerate(heads, len(captions)):
        # The last header line keeps its number if header lines above it are left out.
        yield (at - 1 if line is heads[-1] else number), "head", 0, line
    for row, line in enumerate(table["rows"][:_ROW_LIMIT]):
        level = min(levels[row], _DEEPEST) if row < len(levels) else 0
        yield at + row, "section" if row in sections else "row", level, line
    notes = structure.get("notes", [])[:_OTHER_LIMIT]
    for number, line in enumerate(notes, at + len(table["rows"])):
        yield number, "note", 0, line


def cell_text(value: Any, limit: int = _CELL_LIMIT) -> str | None:
    """Return a cell as prompts show it, cut to `limit` characters; None for an empty one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        text = value
    elif isinstance(value, int | float):
        text = str(value)  # as prompts show it
    else:
        text = json.dumps(value, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"


TABLES, PROMPTS = 64, 24
"""Tables, and prompts, in a block."""

_TABLE_BUDGET = 6_500_000
_WRONG_PROMPT_BUDGET, _RIGHT_PROMPT_BUDGET = 9_000_000, 5_000_000
_TURNS, _TURN_LIMIT = 40, 20_000
_PROMPT_LIMIT = 60_000


class _Blocks:
    """Collects values into blocks until a budget is used up, and records their places.

    Arguments:
        letter: first letter of the ids of the blocks.
        size: values in a block.
        budget: characters of all these blocks.
        blocks: receives the blocks by id.
        places: receives, by a value's key, its block's number times `size` plus its place there.
    """

    def __init__(
        self, letter: str, size: int, budget: int, blocks: dict[str, str], places: dict[str, int]
    ) -> None:
        self._letter, self._size, self._budget = letter, size, budget
        self._blocks, self._places = blocks, places
        self._waiting: dict[str, Any] = {}
        self.left_out = 0

    def add(self, key: str, value: Any) -> None:
        if self._budget <= 0:
            self.left_out += 1
            return
        self._waiting[key] = value
        if len(self._waiting) == self._size:
            self.close()

    def close(self) -> None:
        """Store the waiting values if they still fit."""
        if not self._waiting:
            return
        block = deflated(list(self._waiting.values()))
        self._budget -= len(block)
        if self._budget < 0:
            self.left_out += len(self._waiting)
        else:
            number = sum(name.startswith(self._letter) for name in self._blocks)
            self._blocks[f"{self._letter}{number}"] = block
            for position, key in enumerate(self._waiting, number * self._size):
                self._places[key] = position
        self._waiting = {}


class TextPacker:
    """Packs texts one by one. Prompts of cases that are not right have their own budget."""

    def __init__(self) -> None:
        self.blocks: dict[str, str] = {}
        """The blocks by id."""
        self.questions: dict[tuple[str, str], str] = {}
        """The questions by dataset and example."""
        self.tables: dict[str, int] = {}
        self.prompts: dict[str, int] = {}
        """The places of tables and prompts as in `_Blocks`."""
        self.tables_cut = self.prompts_cut = self.tables_left_out = self.prompts_left_out = 0
        self._tables = _Blocks("t", TABLES, _TABLE_BUDGET, self.blocks, self.tables)
        self._wrong, self._right = (
            _Blocks("q", PROMPTS, budget, self.blocks, self.prompts)
            for budget in (_WRONG_PROMPT_BUDGET, _RIGHT_PROMPT_BUDGET)
        )

    def add_example(self, example: ExampleText, record: Record) -> None:
        """Add the question and tables of a record."""
        self.questions.setdefault((record.dataset, record.example_id), example.question)
        content = shown_example(example)
        self.tables_cut += content["table_count"] > len(content["tables"]) or any(
            table["row_count"] > _ROW_LIMIT or table["column_count"] > _COLUMN_LIMIT
            for table in content["tables"]
        )
        self._tables.add(example.id, content)

    def add(self, text: PromptText | TranscriptText, *, is_right: bool) -> None:
        """Add a prompt or a transcript; `is_right`: all its cases are right."""
        target = self._right if is_right else self._wrong
        if isinstance(text, TranscriptText):
            turns = text.turns[:_TURNS]
            self.prompts_cut += len(text.turns) > _TURNS or any(
                len(content) > _TURN_LIMIT for _, content in turns
            )
            target.add(text.digest, {"turns": [_turn(*turn) for turn in turns]})
        else:
            self.prompts_cut += len(text.text) > _PROMPT_LIMIT
            prompt = {"text": text.text[:_PROMPT_LIMIT], "length": len(text.text)}
            target.add(text.digest, prompt)

    def close(self) -> None:
        """Pack the last texts, and count what did not fit."""
        for part in (self._tables, self._wrong, self._right):
            part.close()
        self.tables_left_out = self._tables.left_out
        self.prompts_left_out = self._wrong.left_out + self._right.left_out


def packed_texts(records: Sequence[Record], texts: Iterable[Text]) -> TextPacker:
    """Pack the texts of these records."""
    keys = {example_key(r.dataset, r.example_id, r.perturbation): r for r in records}
    wrong = {
        digest
        for r in records
        if r.outcome != "right"
        for digest in (r.prompt_digest, r.transcript)
    }
    digests = {digest for r in records for digest in (r.prompt_digest, r.transcript)}
    packer = TextPacker()
    for text in texts:
        if isinstance(text, ExampleText):
            if (record := keys.get(text.id)) is not None:
                packer.add_example(text, record)
        elif text.digest in digests:
            packer.add(text, is_right=text.digest not in wrong)
    return packer


def _turn(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "text": content[:_TURN_LIMIT], "length": len(content)}


_BUDGET = 9_000_000
"""Characters of base64 in a page; further pictures are only in `media/`."""


@dataclass(frozen=True)
class Pictures:
    """Blocks by element id, the number of each picture by file name, and notes on what fits."""

    blocks: Mapping[str, str]
    numbers: Mapping[str, int]
    notes: tuple[str, ...]


def pack_pictures(folders: Iterable[Path]) -> Pictures:
    """Return the pictures of `media` folders, each once, the smallest first.

    A file whose digest is not its name is left out.
    """
    files = {path.name: path for media in folders for path in _files(media)}
    by_size = sorted((path.stat().st_size, name) for name, path in files.items())
    blocks: dict[str, str] = {}
    numbers: dict[str, int] = {}
    left, missing = _BUDGET, 0
    for size, name in by_size:
        left -= size * 4 // 3 + 4
        if left < 0:
            missing += 1
            continue
        data = files[name].read_bytes()
        if hashlib.sha256(data).hexdigest() != name[:64]:
            continue
        numbers[name] = len(numbers)
        blocks[f"m{numbers[name]}"] = base64.b64encode(data).decode("ascii")
    notes: tuple[str, ...] = ()
    if numbers or missing:
        packed_text = (
            f"{counted(len(numbers), 'picture')} of media/ {are(len(numbers))} on this page"
        )
        rest = f"; {counted(missing, 'larger one')} did not fit" if missing else ""
        notes = (packed_text + rest,)
    return Pictures(blocks, numbers, notes)


def _files(media: Path) -> list[Path]:
    try:
        return [path for path in media.iterdir() if is_picture(path.name) and path.is_file()]
    except OSError:
        return []
