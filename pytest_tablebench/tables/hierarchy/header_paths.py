"""Tables made of header paths: the texts above each column and before each row, outermost first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from pytest_tablebench.tables.content import AnyTable, Cell, Span

Texts = Sequence[str]


def table_of_paths(
    cells: Sequence[Sequence[Cell]],
    kind: type[AnyTable],
    *,
    columns: Sequence[Texts],
    rows: Sequence[Texts] = (),
    title: str | None = None,
    name: str | None = None,
) -> AnyTable:
    """Return a table with header lines, row headers and merged cells made from paths.

    `columns` and `rows` have for each column and row its headers, outermost first; without `rows`
    the table has no row headers. `cells` have shape (rows, columns).

    Neighbours whose paths begin with the same texts share merged cells for them. The last text of a
    short path covers the lines down to the cells. Cells without a path, and paths without cells,
    are filled with blanks.
    """
    width = max([len(columns), *map(len, cells)])
    height = max(len(cells), len(rows))
    labels = max((len(path) for path in rows), default=0)
    levels = max([1, *(len(path) for path in columns)])
    column_paths = [list(path) for path, _ in zip_longest(columns, range(width), fillvalue=())]
    row_paths = [list(path) for path, _ in zip_longest(rows, range(height), fillvalue=())]
    lines = [[""] * (labels + width) for _ in range(levels)]
    spans = []
    if labels and labels * levels > 1:
        spans.append(Span(0, 0, levels, labels))
    for level, first, count, text, depth in merged_names(column_paths, levels):
        lines[level][labels + first] = text
        spans.append(Span(level, labels + first, depth, count))
    body: list[list[Cell]] = [
        [*[""] * labels, *row, *[""] * (width - len(row))]
        for row, _ in zip_longest(cells, range(height), fillvalue=())
    ]
    for level, first, count, text, depth in merged_names(row_paths, labels):
        body[first][level] = text
        spans.append(Span(levels + first, level, count, depth))
    *header_rows, header = lines
    return kind(
        tuple(header),
        tuple(map(tuple, body)),
        title,
        name=name,
        header_rows=tuple(map(tuple, header_rows)),
        row_headers=labels,
        spans=tuple(span for span in spans if span.rows * span.columns > 1),
    )


def merged_names(paths: Sequence[Texts], levels: int) -> Iterator[tuple[int, int, int, str, int]]:
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
