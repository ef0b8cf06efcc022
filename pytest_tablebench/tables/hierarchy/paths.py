"""The meaning of a cell: the header texts of its column and row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import AnyTable, Cell, Path, Span, TableContent
from pytest_tablebench.tables.hierarchy._shape import is_numeric
from pytest_tablebench.tables.hierarchy.grid import owners


def one_line(cell: Cell) -> str:
    """Return a cell as text on one line, white space collapsed, None as ""."""
    return "" if cell is None else " ".join(str(cell).split())


def plain(cell: Cell) -> str:
    """Return a cell as a text to compare: on one line, without case."""
    return one_line(cell).casefold()


def expanded(table: TableContent) -> list[list[Cell]]:
    """Return the table's lines with the text of a merged cell in all its positions."""
    lines = [list(line) for line in table.lines]
    for (line, column), span in owners(table.spans).items():
        lines[line][column] = lines[span.row][span.column]
    return lines


def indents(table: TableContent) -> dict[tuple[int, int], int]:
    """Return the levels of indented rows, by line and column of their last row header."""
    first = len(table.captions) + len(table.header_rows) + 1
    levels = {}
    for row, level in enumerate(table.row_levels):
        labels = [
            column for column in range(table.row_headers) if one_line(table.rows[row][column])
        ]
        if level and labels:
            levels[first + row, labels[-1]] = level
    return levels


class Paths:
    """The paths of one table's cells.

    Attributes:
        columns: the header texts of each column.
        above: the sections and less indented rows above each row that it belongs to.
        rows: the texts of each row's path, its own label last.
    """

    def __init__(self, table: TableContent) -> None:
        self._table = table
        self._owners = owners(table.spans)
        self._lines = table.lines
        self._first = len(table.captions) + len(table.header_rows) + 1
        self.columns = [self._column(column) for column in range(len(table.header))]
        self.above: list[tuple[str, ...]] = []
        self.rows = self._row_paths()

    def of(self, row: int, column: int) -> Path:
        """Return the path of a cell; see `Table.path`."""
        if not (0 <= row < len(self.rows) and 0 <= column < len(self.columns)):
            raise TableError(
                f"{self._table.label}: no cell in row {row}, column {column}; there are "
                f"{len(self.rows)} rows and {len(self.columns)} columns, counted from 0"
            )
        return Path(self.rows[row], self.columns[column])

    def anchor(self, line: int, column: int) -> tuple[int, int]:
        """Return the upper left position of the cell at a position of the table's lines."""
        owner = self._owners.get((line, column))
        return (owner.row, owner.column) if owner else (line, column)

    def text(self, line: int, column: int) -> str:
        """Return the text of the cell at a position of the table's lines."""
        first_line, first_column = self.anchor(line, column)
        return one_line(self._lines[first_line][first_column])

    def _column(self, column: int) -> tuple[str, ...]:
        top = len(self._table.captions)
        places = list(dict.fromkeys(self.anchor(line, column) for line in range(top, self._first)))
        if not any(self.text(*cell) for cell in places):
            return ()  # a divider without names
        names = []
        for line, first_column in places:
            text = self.text(line, first_column)
            if not text and line < self._first - 1 and not self._is_merged:
                text = self._over_groups[line - top][first_column]
            names.append(text)
        return tuple(name for name in names if name)

    @cached_property
    def _is_merged(self) -> bool:
        """Whether the header has cells merged over columns; blank cells are then really blank."""
        top = len(self._table.captions)
        return any(span.columns > 1 and top <= span.row < self._first for span in self._table.spans)

    @cached_property
    def _over_groups(self) -> list[list[str]]:
        """The names of each header line without merges: a name is valid up to the next one."""
        groups = []
        for line in self._lines[len(self._table.captions) : self._first]:
            name = ""
            groups.append([name := one_line(cell) or name for cell in line])
        return groups

    def _row_paths(self) -> list[tuple[str, ...]]:
        table = self._table
        levels = table.row_levels or (0,) * len(table.rows)
        sections = set(table.sections)
        above: list[tuple[int, str]] = []  # the current sections with their levels
        parents: list[tuple[int, str, tuple[str, ...]]] = []  # the current parent rows
        paths = []
        for row, level in enumerate(levels):
            outer, label = self._labels(row)
            if row in sections:
                above = [kept for kept in above if kept[0] < level]
                parents = []
                self.above.append(tuple(text for _, text in above))
                paths.append((*self.above[-1], label))
                above.append((level, label))
                continue
            parents = [kept for kept in parents if kept[0] < level and kept[2] == outer]
            under = tuple(text for _, text, _ in parents)
            over = tuple(text for _, text in above)
            self.above.append((*over, *under))
            names = (*over, *outer, *under, label)
            paths.append(tuple(name for name in names if name))
            if label:
                parents.append((level, label, outer))
        return paths

    def _labels(self, row: int) -> tuple[tuple[str, ...], str]:
        """Return the texts of a row's header cells: all but the last, and the last.

        If these cells are blank, the only other text of the row is its label.
        """
        if row in self._groups:
            return self._groups[row], self._header_texts(row)[-1]
        texts = self._header_texts(row)
        if texts:
            return tuple(texts[:-1]), texts[-1]
        if not self._table.row_headers:
            return (), ""
        cells = [one_line(cell) for cell in self._lines[self._first + row]]
        names = {cell for cell in cells if cell and not is_numeric(cell)}
        has_values = row in self._table.sections or any(map(is_numeric, filter(None, cells)))
        return (), names.pop() if len(names) == 1 and has_values else ""

    def _header_texts(self, row: int) -> list[str]:
        line = self._first + row
        places = dict.fromkeys(
            self.anchor(line, column) for column in range(self._table.row_headers)
        )
        return [text for cell in places if (text := self.text(*cell))]

    @cached_property
    def carried(self) -> frozenset[int]:
        """The rows whose group is named only in a row above them."""
        return frozenset(self._groups)

    @cached_property
    def _groups(self) -> dict[int, tuple[str, ...]]:
        """The group names of each row whose leading header cells are blank.

        A name is valid for the rows below it, up to the next name, a section or a blank row. Empty
        if the header cells are merged over rows (blank cells are then really blank), or if a row
        has no group.
        """
        table = self._table
        if table.row_headers < 2 or self._merges_rows:
            return {}
        sections = set(table.sections)
        groups: dict[int, tuple[str, ...]] = {}
        names: tuple[str, ...] = ()
        for row, cells in enumerate(table.rows):
            texts = [one_line(cell) for cell in cells[: table.row_headers]]
            blanks = next((column for column, text in enumerate(texts) if text), None)
            if row in sections or blanks is None:
                names = ()
                if row not in sections and any(map(one_line, cells)):
                    return {}
                continue
            if blanks and (len(names) <= blanks or not all(texts[blanks:])):
                return {}
            if blanks:
                groups[row] = (*names[:blanks], *texts[blanks:-1])
            names = (*names[:blanks], *texts[blanks:])
            names = names if all(names) else ()
        return groups

    @cached_property
    def _merges_rows(self) -> bool:
        last = self._first + len(self._table.rows)
        return any(
            span.rows > 1
            and span.column < self._table.row_headers
            and self._first <= span.row < last
            for span in self._table.spans
        )


Texts = Sequence[str]


def table_of_paths(
    cells: Sequence[Sequence[Cell]],
    kind: type[AnyTable],
    *,
    columns: Sequence[Texts],
    rows: Sequence[Texts] = (),
    corner: str | None = None,
) -> AnyTable:
    """Return a table with header lines, row headers and merged cells made from paths.

    `columns` and `rows` have for each column and row its headers, outermost first; without `rows`
    and `corner`, a text above the row headers, there are none. `cells` have shape (rows, columns).

    Neighbours whose paths begin with the same texts share merged cells for them. The last text of a
    short path covers the lines down to the cells. Cells without a path, and paths without cells,
    are filled with blanks.
    """
    width = max([len(columns), *map(len, cells)])
    height = max(len(cells), len(rows))
    labels = max([int(corner is not None), *map(len, rows)])
    levels = max([1, *(len(path) for path in columns)])
    column_paths = [list(path) for path, _ in zip_longest(columns, range(width), fillvalue=())]
    row_paths = [list(path) for path, _ in zip_longest(rows, range(height), fillvalue=())]
    lines = [[""] * (labels + width) for _ in range(levels)]
    spans = []
    if labels:
        lines[0][0] = corner or ""
        spans.append(Span(0, 0, levels, labels))
    for level, first, count, text, depth in _merged_names(column_paths, levels):
        lines[level][labels + first] = text
        spans.append(Span(level, labels + first, depth, count))
    body: list[list[Cell]] = [
        [*[""] * labels, *row, *[""] * (width - len(row))]
        for row, _ in zip_longest(cells, range(height), fillvalue=())
    ]
    for level, first, count, text, depth in _merged_names(row_paths, labels):
        body[first][level] = text
        spans.append(Span(levels + first, level, count, depth))
    *header_rows, header = lines
    return kind(
        tuple(header),
        tuple(map(tuple, body)),
        header_rows=tuple(map(tuple, header_rows)),
        row_headers=labels,
        spans=tuple(span for span in spans if span.rows * span.columns > 1),
    )


def _merged_names(paths: Sequence[Texts], levels: int) -> Iterator[tuple[int, int, int, str, int]]:
    """Yield level, first position, number of positions, text and number of levels of headers.

    Neighbours share equal names, except the last name of a path, which covers the levels below.
    """
    for level in range(levels):
        first = 0
        while first < len(paths):
            path, count = paths[first], 1
            if len(path) <= level:
                first += 1
                continue
            is_last = len(path) == level + 1
            while not is_last and first + count < len(paths):
                other = paths[first + count]
                if len(other) <= level + 1 or other[: level + 1] != path[: level + 1]:
                    break
                count += 1
            yield level, first, count, path[level], levels - level if is_last else 1
            first += count
