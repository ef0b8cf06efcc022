"""Perturbations that add content: rows up to a table length, columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.perturbations._base import (
    changes_meaning,
    draw_for,
    require_count,
    require_flat,
    require_full_rows,
)
from pytest_tablebench.tables.perturbations._invented import invented
from pytest_tablebench.tables.table import Table

CHARACTERS_PER_TOKEN = 4
MOST_TOKENS = 1_000_000
_NAMES = ("Record no.", "Checked by", "Batch", "Filed under", "Entry code", "Revision", "Sheet")
_CHINESE_NAMES = ("记录编号", "核对人", "批次", "归档号", "条目代码", "修订号", "页码")
_PEOPLE = ("Adair", "Brook", "Corin", "Dale", "Ellis", "Frith")


@changes_meaning
def repeat_rows(table: Table, *, seed: int = 0, tokens: int = 2000) -> Table:
    """Repeat random rows at random positions until the table has this many tokens.

    Each row stays true, but counts and sums change. A token is four characters.
    """
    draw = _draw(table, seed, "repeat_rows", tokens)
    return _longer(table, draw, tokens, lambda: draw.choice(table.rows))


@changes_meaning
def distractor_rows(table: Table, *, seed: int = 0, tokens: int = 2000) -> Table:
    """Insert rows about invented things until the table has this many tokens.

    The texts of the first column are invented, the other cells are drawn from their columns. Facts
    that are looked up by name stay true, but counts, sums and comparisons change.
    """
    draw = _draw(table, seed, "distractor_rows", tokens)
    columns = list(zip(*(row[: len(table.header)] for row in table.rows), strict=False))
    taken = {str(row[0]) for row in table.rows if row}

    def row() -> tuple[Cell, ...]:
        first, *others = (draw.choice(column) for column in columns)
        label = invented(str(first), draw, taken) if str(first or "") else first
        taken.add(str(label))
        return (label, *others)

    return _longer(table, draw, tokens, row)


def distractor_columns(table: Table, *, seed: int = 0, count: int = 2) -> Table:
    """Add irrelevant columns after the others; every fact stays in its place."""
    require_count("count", count)
    require_full_rows(table, "distractor_columns")
    draw = draw_for(table, seed, "distractor_columns")
    header = "".join(str(name) for name in table.header)
    chinese = any("\u4e00" <= character <= "\u9fff" for character in header)
    names = [name for name in (_CHINESE_NAMES if chinese else _NAMES) if name not in table.header]
    if count > len(names):
        raise SettingsError(f"count must be at most {len(names)}, not {count}")
    chosen = draw.sample(names, count)
    sections, width = set(table.sections), len(table.header)

    def blank(lines: Sequence[Sequence[Cell]]) -> tuple[tuple[Cell, ...], ...]:
        return tuple((*line, *("" for _ in chosen)) for line in lines)

    return replace(
        table,
        header=(*table.header, *chosen),
        rows=tuple(
            (*row[:width], *("" if number in sections else _filler(draw) for _ in chosen))
            for number, row in enumerate(table.rows)
        ),
        captions=blank(table.captions),
        header_rows=blank(table.header_rows),
        notes=blank(table.notes),
    )


def _filler(draw: Random) -> str:
    return draw.choice((draw.choice(_PEOPLE), f"{draw.choice('ABCDEF')}-{draw.randint(100, 999)}"))


def _draw(table: Table, seed: int, name: str, tokens: int) -> Random:
    require_count("tokens", tokens)
    if tokens > MOST_TOKENS:
        raise SettingsError(f"tokens must be at most {MOST_TOKENS:,}, not {tokens:,}")
    require_flat(table, name)
    require_full_rows(table, name)
    return draw_for(table, seed, name)


def _longer(table: Table, draw: Random, tokens: int, make: Callable[[], tuple[Cell, ...]]) -> Table:
    """Return the table with new rows inserted; the old ones keep their order."""
    if not table.rows or not table.header:  # nothing to draw from
        return table
    missing = tokens * CHARACTERS_PER_TOKEN - sum(map(_length, (table.header, *table.rows)))
    added: list[tuple[Cell, ...]] = []
    while missing > 0:
        added.append(make())
        missing -= _length(added[-1])
    # All places are drawn at once: inserting rows one by one would move the others each time.
    count = len(table.rows) + len(added)
    places = set(draw.sample(range(count), len(added)))
    old, new = iter(table.rows), iter(added)
    rows = [next(new) if place in places else next(old) for place in range(count)]
    return table.replace(rows=rows)


def _length(row: Sequence[Cell]) -> int:
    return max(1, sum(len(str(cell)) + 1 for cell in row))
