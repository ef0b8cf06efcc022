"""A report as plain values; a writer makes text for a terminal, Markdown or a page of them.

Nothing in a document is escaped, formatted or cut to a width: a writer does that for its readers.
A report is a function that returns a `Document`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_tablebench.claims.estimate import Estimate

Kind = Literal["number", "signed", "percent", "count", "money", "chance"]
State = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True, slots=True)
class Code:
    """A name, case or answer of other origin; longer ones than `most` characters are cut."""

    text: str
    most: int = 120


@dataclass(frozen=True, slots=True)
class Figure:
    """A number; None if it is unknown.

    Args:
        kind: `number` with `digits`, `signed` for a difference, `percent` for a share of 1,
            `count`, `money` in US dollars, or `chance` for a p-value.
        unit: the text after the number, such as ` s`; not after an unknown one.
        unknown: the text for None, in place of the writer's own.
        strength: what the colour of the cell on a page shows, for differences full at .3.
    """

    value: float | None
    kind: Kind = "number"
    digits: int = 3
    unit: str = ""
    unknown: str | None = None
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval, as figures of a kind; None if it is unknown."""

    bounds: Sequence[float] | None
    kind: Kind = "number"
    digits: int = 3


@dataclass(frozen=True, slots=True)
class Link:
    """Text that leads to a place of the same page (`#name`), a file near it, or an address."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Text that selects cases on the page of a run: `values` are for its filters.

    A filter has the name that the page's script gives it, such as `d` for a number of a dataset.
    """

    text: Code | Figure | str
    values: Mapping[str, int | str]
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Aside:
    """Less important text next to other text."""

    text: str


@dataclass(frozen=True, slots=True)
class StateWord:
    """A word with the state that gives it its colour, and the reason as a hint on a page."""

    text: str
    state: State
    reason: str = ""


Piece = str | Aside | Choice | Code | Figure | Interval | Link | StateWord
Text = Piece | tuple[Piece, ...]
"""A sentence, or a sentence in pieces."""

Cell = Text | Estimate | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        title: its name; for estimates the name of the figure, whose interval has the next column.
        kind: `text` is aligned to the left and may be long, `figure` to the right.
        estimates: the kind of figure of a column of estimates.
        scale: the lowest and highest value of the range that a page draws for each estimate.
        edge: the value on this scale that a line marks, such as a margin.
    """

    title: str = ""
    kind: Literal["text", "figure", "estimate"] = "figure"
    estimates: Kind = "number"
    scale: tuple[float, float] | None = None
    edge: float | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    `rank` is `whole` for a total, `part` for a part of the row above, and `own` for a row of the
    reader's own among others.
    """

    cells: Sequence[Cell]
    rank: Literal["", "whole", "part", "own"] = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; level 2 opens a section, level 3 a part of it. `name` is the target of links."""

    text: Text
    level: Literal[2, 3] = 2
    name: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more.

    A `warning` is marked. A `hint` explains the block before it, a `legend` the marks of a page,
    so that other writers leave it out.
    """

    text: Text
    tone: Literal["", "hint", "warning", "legend"] = ""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences, each on a line of its own, apart from the blocks before and after."""

    items: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer with its reasons."""

    text: Text
    state: State
    reasons: Sequence[Text] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of sentences; after `most` only the number of others, and where to find them."""

    items: Sequence[Text]
    most: int = 1000
    elsewhere: str = ""

    @property
    def remainder(self) -> str:
        """What the list does not show, as a sentence; empty if it shows all."""
        count = len(self.items) - self.most
        place = f" ({self.elsewhere})" if self.elsewhere else ""
        return f"and {count:,} more{place}" if count > 0 else ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows below columns; after `most` rows only their number is shown.

    A terminal leaves out the last columns that do not fit, but for the first `fewest`. A table of
    long texts is shown there as one block for each row. A page shows a heat map with its column
    titles upright.
    """

    columns: Sequence[Column]
    rows: Sequence[TableRow]
    most: int = 500
    fewest: int = 5
    is_heat_map: bool = False

    @property
    def flat(self) -> tuple[list[Column], list[list[Text]]]:
        """Columns and shown rows with two figures in place of each estimate: value, interval."""
        columns = [
            part
            for column in self.columns
            for part in (
                (Column(column.title), Column("95 % interval"))
                if column.kind == "estimate"
                else (column,)
            )
        ]
        rows = [
            [
                text
                for column, cell in zip(self.columns, row.cells, strict=True)
                for text in _flat(column, cell)
            ]
            for row in self.rows[: self.most]
        ]
        return columns, rows


def _flat(column: Column, cell: Cell) -> list[Text]:
    if column.kind != "estimate" and not isinstance(cell, Estimate):
        return ["" if cell is None else cell]
    estimate = cell if isinstance(cell, Estimate) else Estimate()
    value = Figure(estimate.value, column.estimates)
    if column.kind != "estimate":
        return [value]
    return [value, Interval(estimate.interval, column.estimates)]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that a reader opens; a terminal shows them below their title."""

    title: Text
    blocks: Sequence[Block]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of a page; other writers leave it out.

    Args:
        kind: the name of a function in `documents/charts`.
        title: what it shows.
        data: the function's further arguments.
    """

    kind: str
    title: str
    data: Mapping[str, Any] = field(default_factory=dict)


Block = Heading | Paragraph | Sentences | Verdict | Listing | TableBlock | Fold | Chart


@dataclass(frozen=True, slots=True)
class Document:
    """A report: its title, a sentence below it, and blocks in the order of reading."""

    title: Text
    blocks: Sequence[Block]
    lead: Text = ""


def pieces(text: Text) -> tuple[Piece, ...]:
    """Return a sentence as a tuple of its pieces."""
    return text if isinstance(text, tuple) else (text,)


def table(
    columns: Sequence[Column | str],
    rows: Sequence[Sequence[Cell] | TableRow],
    *,
    most: int = 500,
    fewest: int = 5,
    is_heat_map: bool = False,
) -> TableBlock:
    """Return a table; a name is a column of figures, the first a column of texts."""
    return TableBlock(
        [
            Column(column, "figure" if place else "text") if isinstance(column, str) else column
            for place, column in enumerate(columns)
        ],
        [row if isinstance(row, TableRow) else TableRow(row) for row in rows],
        most,
        fewest,
        is_heat_map,
    )
