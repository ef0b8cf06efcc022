"""A document as lines for a terminal, without control characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import TERMINAL, aligned, fitting, flat, pieces
from pytest_tablebench.util.names import printable

_LONGEST = 2000
"""The most characters of a sentence."""

_FOLDED = 10
"""The most rows or items of a fold."""

_LONGEST_CELL = 100
_WIDTH = 120
"""The width up to which long texts stay in a table, if the width of the terminal is unknown."""


def terminal_lines(blocks: Iterable[doc.Block], *, width: int | None = None) -> list[str]:
    """Return the lines of blocks; the last columns of tables that exceed `width` are left out."""
    lines: list[str] = []
    before: doc.Block | None = None
    for block in blocks:
        block_lines = list(_block_lines(block, width))
        if block_lines and lines and _is_apart(before, block):
            lines.append("")
        lines += block_lines
        before = block if block_lines else before
    return lines


def _is_apart(before: doc.Block | None, block: doc.Block) -> bool:
    """Return whether an empty line parts two blocks.

    Not after a heading, before a list, or between sentences and texts.
    """
    joins = isinstance(before, doc.Paragraph | doc.Listing | doc.Verbatim) and isinstance(
        block, doc.Paragraph | doc.Verbatim
    )
    return not (joins or isinstance(before, doc.Heading) or isinstance(block, doc.Listing))


def _block_lines(block: doc.Block, width: int | None) -> Iterator[str]:
    match block:
        case doc.Heading(text, level):
            yield f" {_sentence(text)} ".center(80, "=") if level == 2 else _sentence(text)
        case doc.Paragraph(text, tone) if text and tone != "legend":
            yield _sentence(text)
        case doc.Sentences(items):
            yield from map(_sentence, items)
        case doc.Verbatim(text, indent):
            yield from (
                f"{' ' * indent}{printable(line.expandtabs())}" for line in text.splitlines()
            )
        case doc.Verdict(text, _, reasons):
            yield _sentence(text)
            yield from (f"  {_sentence(reason)}" for reason in reasons)
        case doc.Listing(items, most):
            yield from (f"  {_sentence(item)}" for item in items[:most])
            yield from [f"  ... {block.remainder}"] if block.remainder else []
        case doc.TableBlock():
            yield from _table(block, width)
        case doc.Fold(title, inner):
            yield _sentence(title)
            room = None if width is None else width - 2
            cut = [
                replace(part, most=min(part.most, _FOLDED))
                if isinstance(part, doc.TableBlock | doc.Listing)
                else part
                for part in inner
            ]
            yield from (f"  {line}".rstrip() for line in terminal_lines(cut, width=room))


def _sentence(text: doc.Text) -> str:
    """Return a sentence; the whole is escaped, so that pieces form no escape code together."""
    return printable(TERMINAL.text(text), _LONGEST)


def _table(table: doc.TableBlock, width: int | None) -> Iterator[str]:
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


def _cell(text: doc.Text) -> str:
    most = max(
        piece.most if isinstance(piece, doc.Code) else _LONGEST_CELL for piece in pieces(text)
    )
    return printable(TERMINAL.text(text), most)


def _stacked(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield each row as its first cell, and the others below it with the names of their columns."""
    for first, *others in rows:
        yield first
        yield from (
            f"  {title}: {cell}" for title, cell in zip(header[1:], others, strict=True) if cell
        )
