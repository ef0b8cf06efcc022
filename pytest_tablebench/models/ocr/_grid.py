"""Arrange the words of a picture as the rows of a table, by their positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

APART = 0.8
"""The least vertical distance of two rows' middles, in heights of their words' boxes.

rapidocr's boxes are half as high again as a line: lines of one cell are 0.7 apart, rows 1.
"""


@dataclass(frozen=True)
class Word:
    """A recognized text and its box in pixels; y grows downwards."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return (self.top + self.bottom) / 2


@dataclass(frozen=True)
class OcrGrid:
    """The lines above a table, and its rows of equal length; the first row is the header."""

    above: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grid_of(words: Iterable[Word]) -> OcrGrid:
    """Return the table that words form.

    Words at the same height form a row. So do lines that follow closely, because a cell may have
    several lines. The rows with the most cells define the columns. Single cells above them are not
    part of the table.
    """
    cells = [_cells(row) for row in _rows(words)]
    if not cells:
        return OcrGrid((), ())
    most = max(map(len, cells))
    full = [row for row in cells if len(row) == most]
    columns = [
        (min(row[n].left for row in full), max(row[n].right for row in full)) for n in range(most)
    ]
    begin = 0
    while most > 1 and len(cells[begin]) == 1:
        begin += 1
    above = tuple(row[0].text for row in cells[:begin])
    return OcrGrid(above, tuple(_placed(row, columns) for row in cells[begin:]))


def _rows(words: Iterable[Word]) -> list[list[Word]]:
    """Split words into rows, from the top, at vertical distances above that of lines in a cell."""
    rows: list[list[Word]] = []
    ordered = sorted(words, key=lambda word: (word.middle, word.left))
    apart = APART * median(word.bottom - word.top for word in ordered) if ordered else 0.0
    for before, word in zip([None, *ordered], ordered, strict=False):
        if before is None or word.middle - before.middle > apart:
            rows.append([])
        rows[-1].append(word)
    return rows


def _cells(row: Iterable[Word]) -> list[Word]:
    """Join the lines of each cell in a row; return the cells from the left."""
    cells: list[Word] = []
    for word in row:  # from the top
        above = next((n for n, cell in enumerate(cells) if _below(word, cell)), None)
        if above is None:
            cells.append(word)
        else:
            cell = cells[above]
            left, right = min(cell.left, word.left), max(cell.right, word.right)
            text = f"{cell.text} {word.text}"
            cells[above] = Word(text, left, cell.top, right, word.bottom)
    return sorted(cells, key=lambda cell: cell.left)


def _below(word: Word, cell: Word) -> bool:
    """Return whether a word is a further line of a cell; their boxes may differ a little."""
    shared = min(word.right, cell.right) - max(word.left, cell.left)
    return shared > 0.5 * min(word.right - word.left, cell.right - cell.left)


def _placed(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    """Put each cell of a row into the column that it overlaps most, or else the nearest."""
    texts = [""] * len(columns)
    for cell in row:

        def shared(n: int, cell: Word = cell) -> float:
            left, right = columns[n]
            return min(right, cell.right) - max(left, cell.left)  # below 0: how far away

        place = max(range(len(columns)), key=shared)
        texts[place] = f"{texts[place]} {cell.text}".strip()
    return tuple(texts)
