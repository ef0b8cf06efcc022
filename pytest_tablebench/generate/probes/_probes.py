"""Draw probes: questions about the content and size of a table, with their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from pytest_tablebench.errors import TableError
from pytest_tablebench.generate.pair import (
    Pair,
    RejectedError,
    answer_text,
    cell_key,
    is_empty,
    parse_number,
    plain_question,
    says,
)
from pytest_tablebench.generate.question_maker import (
    ComputedQuestions,
    TableQuestions,
    data_file,
    digest_of,
    spoken,
)
from pytest_tablebench.tables.content import Cell, Path
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

_MOST_ITEMS = 15
_LONGEST = 100_000

_PLACE = ("none", "mask_cols_names", "shuffle_cols_names")
_BY_NAME = ("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows")
_ARRANGED = ("none", "shuffle_rows", "shuffle_cols")


@dataclass(frozen=True)
class Probe:
    """The fields of the wording, the answer, and the perturbations that keep the answer correct."""

    fields: Mapping[str, object]
    answers: tuple[str, ...]
    perturbations: tuple[str, ...]


class Board:
    """A table for drawing probes; cells that cannot be an answer raise `RejectedError`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.header, self.rows = table.header, table.rows
        everything = [cell for line in table.lines for cell in line if not is_empty(cell)]
        self.counts = Counter(map(cell_key, everything))

    def text(self, cell: Cell) -> str:
        """Return a cell as an answer. Raises `RejectedError` for an ambiguous one."""
        text = None if is_empty(cell) else answer_text(cell)
        if text is None:
            raise RejectedError
        return text

    def texts(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """Return several cells as the items of an answer."""
        if not 1 < len(cells) <= _MOST_ITEMS:
            raise RejectedError
        return tuple(map(self.text, cells))

    def once(self, cell: Cell) -> str:
        """Return a cell whose value occurs only once in the table."""
        if self.counts[cell_key(cell)] != 1:
            raise RejectedError
        return self.text(cell)

    def draw_cell(self, rng: Random) -> tuple[int, int]:
        """Return a row and a column, from 0."""
        return rng.randrange(len(self.rows)), rng.randrange(len(self.header))

    @cached_property
    def label(self) -> int | None:
        """The first column with a distinct name in each row; None without one."""
        for index in range(len(self.header)):
            cells = [row[index] for row in self.rows]
            writable = all(not is_empty(cell) and answer_text(cell) is not None for cell in cells)
            if writable and len(set(map(cell_key, cells))) == len(cells):
                return index
        return None

    @cached_property
    def paths(self) -> Counter[Path]:
        """The number of cells with the same headings above and at their left."""
        table = self.table
        return Counter(
            table.path(row, index)
            for row in range(len(table.rows))
            for index in range(len(table.header))
        )

    def named(self, rng: Random) -> tuple[int, int, int]:
        """Return the column of names, a row, and another column with a unique heading."""
        if self.label is None:
            raise RejectedError
        row, column = self.draw_cell(rng)
        self.once(self.header[column])
        if column == self.label:
            raise RejectedError
        return self.label, row, column


def _rows(board: Board, _: Random) -> Probe:
    return Probe({}, (str(len(board.rows)),), ("none", "shuffle_rows", "shuffle_cols", *_PLACE[1:]))


def _columns(board: Board, _: Random) -> Probe:
    kept = ("none", "shuffle_rows", "shuffle_cols", "insert_empty_rows", *_PLACE[1:])
    return Probe({}, (str(len(board.header)),), kept)


def _cell_at(board: Board, rng: Random) -> Probe:
    row, column = board.draw_cell(rng)
    fields = {"row": row + 1, "column": column + 1}
    return Probe(fields, (board.text(board.rows[row][column]),), _PLACE)


def _cell(board: Board, rng: Random) -> Probe:
    label, row, column = board.named(rng)
    fields = {
        "name": board.text(board.rows[row][label]),
        "heading": board.text(board.header[column]),
    }
    return Probe(fields, (board.text(board.rows[row][column]),), _BY_NAME)


def _row_of(board: Board, rng: Random) -> Probe:
    row, column = board.draw_cell(rng)
    kept = ("none", "shuffle_cols", *_PLACE[1:])
    return Probe({"value": board.once(board.rows[row][column])}, (str(row + 1),), kept)


def _column_of(board: Board, rng: Random) -> Probe:
    row, column = board.draw_cell(rng)
    kept = ("none", "shuffle_rows", "insert_empty_rows", *_PLACE[1:])
    return Probe({"value": board.once(board.rows[row][column])}, (str(column + 1),), kept)


def _heading_of(board: Board, rng: Random) -> Probe:
    row, column = board.draw_cell(rng)
    fields = {"value": board.once(board.rows[row][column])}
    return Probe(fields, (board.once(board.header[column]),), _BY_NAME)


def _name_of(board: Board, rng: Random) -> Probe:
    label, row, column = board.named(rng)
    key = cell_key(board.rows[row][column])
    if sum(cell_key(other[column]) == key for other in board.rows) != 1:
        raise RejectedError
    fields = {
        "label": board.text(board.header[label]),
        "heading": board.text(board.header[column]),
        "value": board.text(board.rows[row][column]),
    }
    return Probe(fields, (board.text(board.rows[row][label]),), _BY_NAME)


def _row(board: Board, rng: Random) -> Probe:
    if board.label is None:
        raise RejectedError
    row = board.draw_cell(rng)[0]
    name = board.once(board.rows[row][board.label])
    others = [cell for index, cell in enumerate(board.rows[row]) if index != board.label]
    kept = ("none", "shuffle_rows", "insert_empty_rows", *_PLACE[1:])
    return Probe({"name": name}, board.texts(others), kept)


def _row_at(board: Board, rng: Random) -> Probe:
    row = board.draw_cell(rng)[0]
    return Probe({"row": row + 1}, board.texts(board.rows[row]), _PLACE)


def _column(board: Board, rng: Random) -> Probe:
    column = board.draw_cell(rng)[1]
    cells = board.texts([row[column] for row in board.rows])
    fields = {"heading": board.once(board.header[column])}
    return Probe(fields, cells, ("none", "shuffle_cols", "insert_empty_rows"))


def _headings(board: Board, _: Random) -> Probe:
    kept = ("none", "shuffle_rows", "insert_empty_rows")
    return Probe({}, board.texts(board.header), kept)


def _merged(board: Board, rng: Random, along: str) -> Probe:
    spans = [span for span in board.table.spans if getattr(span, along) > 1]
    if not spans:
        raise RejectedError
    span = rng.choice(spans)
    value = board.once(board.table.lines[span.row][span.column])
    return Probe({"value": value}, (str(getattr(span, along)),), ("none",))


def _under_merged(board: Board, rng: Random) -> Probe:
    """Ask for the headings under a merged heading of the line above the last one."""
    table = board.table
    line = len(table.captions) + len(table.header_rows) - 1
    spans = [
        span
        for span in table.spans
        if table.header_rows and span.row == line and span.rows == 1 and span.columns > 1
    ]
    if not spans:
        raise RejectedError
    span = rng.choice(spans)
    value = board.once(table.lines[line][span.column])
    names = board.texts(table.header[span.column : span.column + span.columns])
    return Probe({"value": value}, names, ("none", "shuffle_rows"))


def _path(board: Board, rng: Random) -> Probe:
    """Ask for a cell by all the headings above it and at its left."""
    table = board.table
    if not (table.header_rows or table.row_levels or table.sections or table.row_headers > 1):
        raise RejectedError
    row, column = board.draw_cell(rng)
    if column < table.row_headers or row in table.sections:
        raise RejectedError
    headings = table.path(row, column)
    if not headings.row or not headings.column or board.paths[headings] != 1:
        raise RejectedError
    names = [text for part in headings for text in part]
    if any(answer_text(name) is None or '"' in name for name in names):
        raise RejectedError
    row_text, column_text = (" > ".join(f'"{name}"' for name in part) for part in headings)
    fields = {"row": row_text, "column": column_text}
    return Probe(fields, (board.text(board.rows[row][column]),), _ARRANGED)


PROBES: Mapping[str, Callable[[Board, Random], Probe]] = {
    "rows": _rows,
    "columns": _columns,
    "cell_at": _cell_at,
    "cell": _cell,
    "row_of": _row_of,
    "column_of": _column_of,
    "heading_of": _heading_of,
    "name_of": _name_of,
    "row": _row,
    "row_at": _row_at,
    "column": _column,
    "headings": _headings,
    "merged_columns": lambda board, rng: _merged(board, rng, "columns"),
    "merged_rows": lambda board, rng: _merged(board, rng, "rows"),
    "under_merged": _under_merged,
    "path": _path,
}

STRUCTURED = ("columns", "merged_columns", "merged_rows", "under_merged", "path")
"""Probes of tables with structure, in which the number of a row is ambiguous."""


class ProbeGenerator(ComputedQuestions):
    """Makes probes of one table after the other; the kinds alternate."""

    reads_structure = True

    def make(self, table: Table, most: int | None) -> TableQuestions:
        """Return a digest of the table and its probes. Raises `RejectedError`."""
        try:
            table.require_rectangular("a probe")
        except TableError:
            raise RejectedError("rows of unequal length") from None
        if not table.rows or not table.header:
            raise RejectedError("too small")
        names = [cell_key(name) for name in table.header if not is_empty(name)]
        if not table.is_structured and len(set(names)) < len(table.header):
            raise RejectedError("empty or repeated headings")
        if len(repr((table.lines, table.spans))) > _LONGEST:
            raise RejectedError("too long")
        digest, seen = digest_of(table.lines, table.spans), set[str]()
        board, rng = Board(table), seeded_random(f"probes/{digest}", seed=self._seed)
        kinds = STRUCTURED if table.is_structured else PROBES
        return digest, self.drawn(
            kinds, most, _next, lambda kind: self._pair(kind, board, digest, rng, seen)
        )

    def _pair(self, kind: str, board: Board, digest: str, rng: Random, seen: set[str]) -> Pair:
        language = spoken(self._language, self.tally.accepted, board.header)
        probe = PROBES[kind](board, rng)
        question = rng.choice(data_file(f"probes/{language}.toml")[kind]).format_map(probe.fields)
        key = plain_question(question)
        if kind in {"rows", "columns", "headings"} and kind in seen:
            raise RejectedError
        if key in seen:
            raise RejectedError("duplicate")
        if any(says(key, answer) for answer in probe.answers):
            raise RejectedError("answer in question")
        seen |= {key, kind}
        single = len(probe.answers) == 1
        number = single and parse_number(probe.answers[0]) is not None
        return Pair(
            id=f"{digest[:10]}-{kind}-{self.tally.accepted}",
            question=question,
            answers=probe.answers,
            metric="number" if number else "" if single else "ordered_list",
            tags={"skill": "probe", "probe": kind, "language": language},
            perturbations=probe.perturbations,
        )


def _next(draws: dict[str, int]) -> str:
    """Return the first kind and move it to the end, so that the kinds alternate."""
    kind = next(iter(draws))
    draws[kind] = draws.pop(kind)
    return kind
