"""A report as plain values; a writer makes text for a terminal, Markdown or a page of them.

Nothing in a document is escaped, formatted or cut to a width: a writer does that for its readers.
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
    """A number, or both ends of an interval; None if it is unknown.

    `kind`: `signed` for a difference, `percent` for a share of 1, `money` in US dollars, `chance`
    for a p-value. `unit` follows a known number. `unknown` is the text for None. `strength` is
    what the colour of the cell on a page shows, for differences full at .3.
    """

    value: float | Sequence[float] | None
    kind: Kind = "number"
    digits: int = 3
    unit: str = ""
    unknown: str | None = None
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Text that leads to a place of the page (`#name`), a file near it, or an address."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Text that selects cases on the page of a run, by `values` of the script's filters."""

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


Piece = str | Aside | Choice | Code | Figure | Link | StateWord
Text = Piece | tuple[Piece, ...]  # a sentence, or a sentence in pieces
Cell = Text | Estimate | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    `text` is aligned to the left and may be long, `figure` to the right. The interval of estimates
    has the next column, and `estimates` is their kind. `scale` has the ends of the range that a
    page draws for each; `edge` is the value that a line marks on it, such as a margin.
    """

    title: str = ""
    kind: Literal["text", "figure", "estimate"] = "figure"
    estimates: Kind = "number"
    scale: tuple[float, float] | None = None
    edge: float | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: `whole` is a total, `part` of the row above, `own` the reader's own."""

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
    """A sentence. A `hint` explains the block before it, a `legend` the marks of a page only."""

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
class Verbatim:
    """Text with its own lines and blanks, such as a prompt; a terminal indents it."""

    text: str
    indent: int = 2


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of sentences; after `most` only the number of others, and where to find them."""

    items: Sequence[Text]
    most: int = 1000
    elsewhere: str = ""

    @property
    def remainder(self) -> str:
        """The number of other sentences and their place; empty without any."""
        location = f" ({self.elsewhere})" if self.elsewhere else ""
        return f"and {more:,} more{location}" if (more := len(self.items) - self.most) > 0 else ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows below columns, `most` of them; a narrow terminal shows at least `fewest` columns."""

    columns: Sequence[Column]
    rows: Sequence[TableRow]
    most: int = 500
    fewest: int = 5
    is_heat_map: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that a reader opens; a terminal shows them below their title."""

    title: Text
    blocks: Sequence[Block]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of a page: its kind in `documents/_charts`, title and data; only a page shows it."""

    kind: str
    title: str
    data: Mapping[str, Any] = field(default_factory=dict)


Block = Heading | Paragraph | Sentences | Verbatim | Verdict | Listing | TableBlock | Fold | Chart


@dataclass(frozen=True, slots=True)
class Document:
    """A report: its title, a sentence below it, and blocks in the order of reading."""

    title: Text
    blocks: Sequence[Block]
    lead: Text = ""
