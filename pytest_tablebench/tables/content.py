"""What a table is: header, rows, and structure where there is more.

`Table` adds to it how tables are read and written; readers need only what is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from pytest_tablebench.errors import TableError
from pytest_tablebench.util.names import counted

__all__ = ["STRUCTURE", "AnyTable", "Cell", "Path", "Span", "TableContent"]

Cell = Any
"""Text, int, float, bool or None; a list where an upstream file holds one inside a cell."""


STRUCTURE = (
    "header_rows",
    "row_headers",
    "row_levels",
    "spans",
    "captions",
    "sections",
    "notes",
)
"""The fields of a `Table` that flat tables leave empty."""


class Span(NamedTuple):
    """A merged cell: its upper left position, from 0, and how many rows and columns it covers."""

    row: int
    column: int
    rows: int
    columns: int


class Path(NamedTuple):
    """The header texts that a cell stands under, outermost first."""

    row: tuple[str, ...]
    column: tuple[str, ...]


@dataclass(frozen=True)
class TableContent:
    """A table: a header line and rows of typed cells, and structure where there is more.

    Arguments:
        header: column names, shape (columns,); normally text, but kept as given.
        rows: shape (rows, columns); ragged rows are kept as they are, and code that
            cannot work with them raises a `TableError` that names the row.
        title: shown only where a dataset's prompt shows it.
        name: what error messages call the table (a file, an id); not part of equality.
        extra: further keys of the upstream mapping the table comes from, which no format
            shows but which take part in draws seeded by the table (spec: torr.md section
            6.2). A mapping or pairs, in the upstream order; a key `"header"` or `"rows"` in
            it only marks its position and takes any value, and where both are missing they
            come first. Part of equality, order included.

    The table never changes: sequences are copied into tuples, and every operation returns
    a new table. Cells keep their type, so 1, 1.0, "1" and True stay apart when serialized.

    Structure is kept in further fields, which a flat table leaves empty. No draw is seeded by them
    and `as_mapping` does not show them; code that knows none works on `header` and `rows`.

    Arguments:
        header_rows: the header lines above the last one, outermost first, shape (lines, columns);
            `header` stays the last line, the flat one that flat formats show.
        row_headers: how many leading columns name the rows.
        row_levels: how deep each row is indented, 0 for the outermost, shape (rows,).
        spans: merged cells, counted over `lines`; a merged cell's text stands in its upper left
            position, and what it covers holds "".
        captions: lines above the header, shape (lines, columns), blank ones too.
        sections: which rows (from 0) only name the rows that follow.
        notes: lines below the rows, shape (lines, columns), blank ones too.
    """

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str | None = None
    name: str | None = field(default=None, compare=False, kw_only=True)
    extra: tuple[tuple[str, Any], ...] = field(default=(), kw_only=True)
    header_rows: tuple[tuple[Cell, ...], ...] = field(default=(), kw_only=True)
    row_headers: int = field(default=0, kw_only=True)
    row_levels: tuple[int, ...] = field(default=(), kw_only=True)
    spans: tuple[Span, ...] = field(default=(), kw_only=True)
    captions: tuple[tuple[Cell, ...], ...] = field(default=(), kw_only=True)
    sections: tuple[int, ...] = field(default=(), kw_only=True)
    notes: tuple[tuple[Cell, ...], ...] = field(default=(), kw_only=True)

    if TYPE_CHECKING:  # any sequences may be given, which become tuples

        def __init__(
            self,
            header: Iterable[Cell],
            rows: Iterable[Iterable[Cell]],
            title: str | None = None,
            *,
            name: str | None = None,
            extra: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
            header_rows: Iterable[Iterable[Cell]] = (),
            row_headers: int = 0,
            row_levels: Iterable[int] = (),
            spans: Iterable[tuple[int, int, int, int]] = (),
            captions: Iterable[Iterable[Cell]] = (),
            sections: Iterable[int] = (),
            notes: Iterable[Iterable[Cell]] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        for label, value in (("header", self.header), ("rows", self.rows)):
            if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
                raise TableError(
                    f"{self.label}: {label} must be a list, not {type(value).__name__}"
                )
        object.__setattr__(self, "header", tuple(self.header))
        rows = []
        for number, row in enumerate(self.rows, start=1):
            if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
                raise TableError(
                    f"{self.label}: row {number} must be a list of cells, not {type(row).__name__}"
                )
            rows.append(tuple(row))
        object.__setattr__(self, "rows", tuple(rows))
        object.__setattr__(self, "extra", _extra_pairs(self.extra))
        if self.is_structured:
            for part in ("captions", "header_rows", "notes"):
                object.__setattr__(self, part, tuple(map(tuple, getattr(self, part))))
            object.__setattr__(self, "sections", tuple(self.sections))
            object.__setattr__(self, "row_levels", tuple(self.row_levels))
            object.__setattr__(self, "spans", tuple(sorted(Span(*span) for span in self.spans)))
            _check_structure(self)

    @property
    def is_structured(self) -> bool:
        """Whether the table has any of the fields that flat tables leave empty."""
        return any(getattr(self, name) for name in STRUCTURE)

    @property
    def lines(self) -> tuple[tuple[Cell, ...], ...]:
        """All lines in the order of a sheet: captions, header lines, rows, notes."""
        return (*self.captions, *self.header_rows, self.header, *self.rows, *self.notes)

    @property
    def label(self) -> str:
        """What messages call this table: its name, its title, or its first column names."""
        if self.name or self.title:
            return f"table {self.name or self.title!r}"
        header = tuple(self.header) if isinstance(self.header, Iterable) else ()
        names = ", ".join(repr(cell)[:40] for cell in header[:3])
        return f"table with columns [{names}{', …' if len(header) > 3 else ''}]"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows (without the header) and of header cells."""
        return len(self.rows), len(self.header)

    def replace(
        self,
        *,
        header: Iterable[Cell] | None = None,
        rows: Iterable[Sequence[Cell]] | None = None,
        keep_extra: bool = True,
    ) -> Self:
        """Return the same table with another header or other rows, or without `extra`.

        Structure speaks of positions, which may be others now: the new table has none.
        """
        return type(self)(
            self.header if header is None else tuple(header),
            self.rows if rows is None else tuple(tuple(row) for row in rows),
            self.title,
            name=self.name,
            extra=self.extra if keep_extra else (),
        )

    def require_rectangular(self, purpose: str) -> None:
        """Raise a `TableError` naming the first row whose length is not the header's."""
        width = len(self.header)
        for number, row in enumerate(self.rows, start=1):
            if len(row) != width:
                raise TableError(
                    f"{self.label}: row {number} has {counted(len(row), 'cell')}, the header "
                    f"has {width}; {purpose} needs rows of equal length"
                )

    def as_mapping(self) -> dict[str, Any]:
        """Return `{"header": [...], "rows": [[...]]}`, the form upstream code works on.

        The keys of `extra` are there too, in its order.
        """
        lines = {"header": list(self.header), "rows": [list(row) for row in self.rows]}
        return {key: lines.get(key, value) for key, value in self.extra} if self.extra else lines


AnyTable = TypeVar("AnyTable", bound=TableContent)
"""The kind of table that a reader is asked for."""


def _extra_pairs(extra: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> tuple[Any, ...]:
    """Return `extra` in one form: empty, or pairs of which two mark `header` and `rows`."""
    try:
        pairs = dict(extra)
    except (TypeError, ValueError):
        raise TableError(
            f"extra must be a mapping or pairs of key and value, not {type(extra).__name__}"
        ) from None
    if not pairs.keys() - {"header", "rows"} and list(pairs) != ["rows", "header"]:
        return ()
    missing = dict.fromkeys(key for key in ("header", "rows") if key not in pairs)
    marks = dict.fromkeys(pairs.keys() & {"header", "rows"})
    return tuple((missing | pairs | marks).items())


def _check_structure(table: TableContent) -> None:
    """Raise a `TableError` for structure that does not fit the header and rows."""
    table.require_rectangular("structure")
    width, lines = len(table.header), len(table.lines)
    for part, name in (
        ("captions", "caption"),
        ("header_rows", "header line"),
        ("notes", "note"),
    ):
        for number, line in enumerate(getattr(table, part), start=1):
            if len(line) != width:
                raise TableError(
                    f"{table.label}: {name} {number} has {counted(len(line), 'cell')}, the last "
                    f"header line {width}"
                )
    for row in table.sections:
        if not 0 <= row < len(table.rows):
            raise TableError(
                f"{table.label}: section row {row} of {counted(len(table.rows), 'row')}"
            )
    if not 0 <= table.row_headers <= width:
        raise TableError(
            f"{table.label}: row_headers is {table.row_headers}, the table has "
            f"{counted(width, 'column')}"
        )
    if table.row_levels and len(table.row_levels) != len(table.rows):
        raise TableError(
            f"{table.label}: row_levels has "
            f"{counted(len(table.row_levels), 'entry', 'entries')} for "
            f"{counted(len(table.rows), 'row')}"
        )
    covered: dict[tuple[int, int], Span] = {}
    for span in table.spans:
        inside = span.row + span.rows <= lines and span.column + span.columns <= width
        if min(span) < 0 or span.rows * span.columns < 2 or not inside:
            raise TableError(f"{table.label}: {span} is no merged cell of {lines} x {width} cells")
        for row in range(span.row, span.row + span.rows):
            for column in range(span.column, span.column + span.columns):
                other = covered.setdefault((row, column), span)
                if other is not span:
                    raise TableError(f"{table.label}: {span} and {other} overlap")
