"""A document as lines for a terminal, without control characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_tablebench.documents.document import (
    Block,
    Code,
    Fold,
    Heading,
    Listing,
    Paragraph,
    Sentences,
    TableBlock,
    Text,
    Verbatim,
    Verdict,
)
from pytest_tablebench.documents.formats import TERMINAL, aligned, fitting, flat, pieces
from pytest_tablebench.util.names import printable

__all__ = ["terminal_lines"]

_LONGEST = 2000
"""The most characters of a sentence."""

_FOLDED = 10
"""The most rows or items of a fold."""

_LONGEST_CELL = 100
_WIDTH = 120
"""The width up to which long texts stay in a table, if the width of the terminal is unknown."""


def terminal_lines(blocks: Iterable[Block], *, width: int | None = None) -> list[str]:
    """Return the lines of blocks; the last columns of tables that exceed `width` are left out."""
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        block_lines = list(_block_lines(block, width))
        if block_lines and lines and _is_apart(before, block):
            lines.append("")
        lines += block_lines
        before = block if block_lines else before
    return lines


def _is_apart(before: Block | None, block: Block) -> bool:
    """Return whether an empty line parts two blocks.

    Not after a heading, before a list, or between sentences and texts.
    """
    joins = isinstance(before, Paragraph | Listing | Verbatim) and isinstance(
        block, Paragraph | Verbatim
    )
    return not (joins or isinstance(before, Heading) or isinstance(block, Listing))


def _block_lines(block: Block, width: int | None) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f" {_sentence(text)} ".center(80, "=") if level == 2 else _sentence(text)
        case Paragraph(text, tone) if text and tone != "legend":
            yield _sentence(text)
        case Sentences(items):
            yield from map(_sentence, items)
        case Verbatim(text, indent):
            yield from (
                f"{' ' * indent}{printable(line.expandtabs())}" for line in text.splitlines()
            )
        case Verdict(text, _, reasons):
            yield _sentence(text)
            yield from (f"  {_sentence(reason)}" for reason in reasons)
        case Listing(items, most):
            yield from (f"  {_sentence(item)}" for item in items[:most])
            yield from [f"  ... {block.remainder}"] if block.remainder else []
        case TableBlock():
            yield from _table(block, width)
        case Fold(title, inner):
            yield _sentence(title)
            room = None if width is None else width - 2
            cut = [
                replace(part, most=min(part.most, _FOLDED))
                if isinstance(part, TableBlock | Listing)
                else part
                for part in inner
            ]
            yield from (f"  {line}".rstrip() for line in terminal_lines(cut, width=room))


def _sentence(text: Text) -> str:
    """Return a sentence; the whole is escaped, so that pieces form no escape code together."""
    return printable(TERMINAL.text(text), _LONGEST)


def _table(table: TableBlock, width: int | None) -> Iterator[str]:
    columns, rows = flat(table)
    if not rows:
        return
    header = [printable(column.title, _LONGEST_CELL) for column in columns]
    head = [header] if any(header) else []
    texts = [[_cell(cell) for cell in row] for row in rows]
    for row, cells in zip(table.rows, texts, strict=False):
        cells[0] = f"  {cells[0]}" if row.rank == "part" else cells[0]
    left = {index for index, column in enumerate(columns) if column.kind == "text"}
    is_long = len(left) > 2 and max(map(len, aligned([*head, *texts], left))) > (width or _WIDTH)
    if is_long:
        yield from _stacked(header, texts)
    else:
        yield from fitting([*head, *texts], width, left=left, fewest=table.fewest)
    if len(table.rows) > table.most:
        yield f"and {len(table.rows) - table.most:,} more"


def _cell(text: Text) -> str:
    most = max(piece.most if isinstance(piece, Code) else _LONGEST_CELL for piece in pieces(text))
    return printable(TERMINAL.text(text), most)


def _stacked(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield each row as its first cell, and the others below it with the names of their columns."""
    for first, *others in rows:
        yield first
        yield from (
            f"  {title}: {cell}" for title, cell in zip(header[1:], others, strict=True) if cell
        )
