"""The content of a table: header, rows and optional structure.

`Table` adds methods to read and write tables; readers need only this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from pytest_tablebench.errors import TableError
from pytest_tablebench.util.names import counted

Cell = Any
"""Text, int, float, bool or None; a list if an upstream file has one inside a cell."""


STRUCTURE = ("header_rows", "row_headers", "row_levels", "spans", "captions", "sections", "notes")
"""The fields of a `Table` that flat tables leave empty."""


class Span(NamedTuple):
    """A merged cell: its upper left position, from 0, and how many rows and columns it covers."""

    row: int
    column: int
    rows: int
    columns: int


class Path(NamedTuple):
    """The header texts of a cell, outermost first."""

    row: tuple[str, ...]
    column: tuple[str, ...]


@dataclass(frozen=True)
class TableContent:
    """A table: a header line and rows of typed cells, with optional structure.

    A table never changes: sequences are copied into tuples, and every operation returns a new
    table. Cells keep their type, so 1, 1.0, "1" and True differ when serialized.

    The fields from `header_rows` on are its structure, which a flat table leaves empty. Structure
    seeds no draw and is not part of `as_mapping`. Code without support for it works on `header` and
    `rows`.

    Arguments:
        header: column names, shape (columns,); normally text, but kept as given.
        rows: shape (rows, columns). Rows of different lengths are kept; code that needs equal
            lengths raises a `TableError` that names the row.
        title: shown only if a dataset's prompt shows it.
        name: what error messages call the table (a file, an id); not part of equality.
        extra: further keys of the upstream mapping, as a mapping or pairs in the upstream order. No
            format shows them, but they take part in draws seeded by the table (spec: torr.md
            section 6.2). A key `"header"` or `"rows"` only marks its position, with any value; if
            both are missing they come first. Part of equality, including the order.
        header_rows: the header lines above the last one, outermost first, shape (lines, columns);
            `header` is the last line, which flat formats show.
        row_headers: the number of leading columns that name the rows.
        row_levels: the indentation level of each row, 0 for the outermost, shape (rows,).
        spans: merged cells, positioned in `lines`. The text is at the upper left position; the
            other positions contain "".
        captions: lines above the header, including blank ones, shape (lines, columns).
        sections: the rows (from 0) that only name the rows after them.
        notes: lines below the rows, including blank ones, shape (lines, columns).
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

    if TYPE_CHECKING:  # accepts any sequences, which become tuples

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
        """Whether the table has structure."""
        return any(getattr(self, name) for name in STRUCTURE)

    @property
    def lines(self) -> tuple[tuple[Cell, ...], ...]:
        """All lines in the order of a sheet: captions, header lines, rows, notes."""
        return (*self.captions, *self.header_rows, self.header, *self.rows, *self.notes)

    @property
    def label(self) -> str:
        """The name of this table in messages: its name, its title, or its first column names."""
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
        """Return the table with another header or other rows, or without `extra`.

        The new table has no structure, because the positions in it may have changed.
        """
        return type(self)(
            self.header if header is None else tuple(header),
            self.rows if rows is None else tuple(tuple(row) for row in rows),
            self.title,
            name=self.name,
            extra=self.extra if keep_extra else (),
        )

    def require_rectangular(self, purpose: str) -> None:
        """Raise a `TableError` for the first row whose length differs from the header's."""
        width = len(self.header)
        for number, row in enumerate(self.rows, start=1):
            if len(row) != width:
                raise TableError(
                    f"{self.label}: row {number} has {counted(len(row), 'cell')}, the header "
                    f"has {width}; {purpose} needs rows of equal length"
                )

    def as_mapping(self) -> dict[str, Any]:
        """Return `{"header": [...], "rows": [[...]]}`, the form that upstream code uses.

        The keys of `extra` are included, in its order.
        """
        lines = {"header": list(self.header), "rows": [list(row) for row in self.rows]}
        return {key: lines.get(key, value) for key, value in self.extra} if self.extra else lines


AnyTable = TypeVar("AnyTable", bound=TableContent)
"""The class of table that a reader returns."""


def _extra_pairs(extra: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> tuple[Any, ...]:
    """Return `extra` as pairs with marks for `header` and `rows`, or empty without other keys."""
    try:
        pairs = dict(extra)
    except (TypeError, ValueError):
        raise TableError(
            f"extra must be a mapping or pairs of key and value, not {type(extra).__name__}"
        ) from None
    if not pairs.keys() - {"header", "rows"} and list(pairs) != ["rows", "header"]:
        return ()
    missing = dict.fromkeys(key for key in ("header", "rows") if key not in pairs)
    keys = dict.fromkeys(pairs.keys() & {"header", "rows"})
    return tuple((missing | pairs | keys).items())


def _check_structure(table: TableContent) -> None:
    table.require_rectangular("structure")
    width, lines = len(table.header), len(table.lines)
    for part, name in (("captions", "caption"), ("header_rows", "header line"), ("notes", "note")):
        for number, line in enumerate(getattr(table, part), start=1):
            if len(line) != width:
                raise TableError(
                    f"{table.label}: {name} {number} has {counted(len(line), 'cell')}, the last "
                    f"header line {width}"
                )
    for row in table.sections:
        if not 0 <= row < len(table.rows):
            raise TableError(
                f"{table.label}: sections contains row {row}, the table has "
                f"{counted(len(table.rows), 'row')}, counted from 0"
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
            raise TableError(
                f"{table.label}: {span} is not a merged cell inside {lines} x {width} cells"
            )
        for row in range(span.row, span.row + span.rows):
            for column in range(span.column, span.column + span.columns):
                other = covered.setdefault((row, column), span)
                if other is not span:
                    raise TableError(f"{table.label}: {span} and {other} overlap")
