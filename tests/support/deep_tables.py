"""Random tables with structure, and the headings that apply to each of their cells."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pytest_tablebench import Table

Paths = list[tuple[tuple[str, ...], tuple[str, ...]]]

names = st.text("abcdefgäß&<>{}_%$#\\ ", min_size=1, max_size=6).map(lambda text: f"n{text}n")


def as_text(table: Table) -> Table:
    """Return the table with its values as text, as in HTML."""
    parts: dict[str, Any] = {
        part: [
            ["" if cell is None else str(cell) for cell in line] for line in getattr(table, part)
        ]
        for part in ("captions", "header_rows", "rows", "notes")
    }
    kept = {key: getattr(table, key) for key in ("row_headers", "row_levels", "spans", "sections")}
    return Table(header=list(map(str, table.header)), **parts, **kept)


@st.composite
def header(draw: st.DrawFn, columns: int, depth: int, first: int) -> tuple[Any, Any, Any]:
    """Draw header lines with merged cells, and the headings over each column."""
    if depth == 1:
        line = draw(st.lists(names, min_size=columns, max_size=columns))
        return [line], [], [(name,) for name in line]
    lines: list[list[str]] = [[] for _ in range(depth)]
    spans: list[tuple[int, int, int, int]] = []
    paths: list[tuple[str, ...]] = []
    while len(paths) < columns:
        left = columns - len(paths)
        width = draw(st.integers(1, left))
        name, start = draw(names), first + len(paths)
        if width == 1:
            spans.append((0, start, depth, 1))
            for number, line in enumerate(lines):
                line.append("" if number else name)
            paths.append((name,))
            continue
        below, inner, under = draw(header(width, depth - 1, start))
        spans.append((0, start, 1, width))
        spans += [(row + 1, *rest) for row, *rest in inner]
        lines[0] += [name, *[""] * (width - 1)]
        for number, more in enumerate(below, start=1):
            lines[number] += more
        paths += [(name, *path) for path in under]
    return lines, spans, paths


@st.composite
def deep_tables(draw: st.DrawFn) -> tuple[Table, Paths]:
    """Draw an unambiguous table, and the paths of its rows and columns."""
    columns, depth = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    outer = draw(st.integers(1, 2))
    lines, spans, column_paths = draw(header(columns, depth, outer))
    corner = draw(names)
    for number, line in enumerate(lines):
        line[:0] = ["" if number else corner, *[""] * (outer - 1)]
    if depth * outer > 1:
        spans.append((0, 0, depth, outer))
    rows: list[list[Any]] = []
    levels: list[int] = []
    sections: list[int] = []
    row_paths: list[tuple[str, ...]] = []
    for _ in range(draw(st.integers(1, 4))):
        title, count = draw(names), draw(st.integers(1, 3))
        if outer == 2 and count > 1:
            spans.append((depth + len(rows), 0, count, 1))
        if outer == 1 and draw(st.booleans()):
            sections.append(len(rows))
            if draw(st.booleans()):
                spans.append((depth + len(rows), 0, 1, columns + 1))
            rows.append([title, *[""] * columns])
            levels.append(0)
            row_paths.append((title,))
        under = (title,) if outer == 2 or sections else ()
        stack: list[str] = []
        for number in range(count):
            label = draw(names)
            values = draw(st.lists(st.integers(0, 99), min_size=columns, max_size=columns))
            rows.append([*(["" if number else title] if outer == 2 else []), label, *values])
            # Rows belong to the last section before them.
            levels.append(draw(st.integers(0, len(stack))))
            stack = [*stack[: levels[-1]], label]
            above = under
            if outer == 1 and sections:
                above = (rows[sections[-1]][0],)
            row_paths.append((*above, *stack))
    alone = st.lists(names.map(lambda text: [text, *[""] * (outer + columns - 1)]), max_size=2)
    captions = draw(alone)
    table = Table(
        header=lines[-1],
        rows=rows,
        header_rows=lines[:-1],
        captions=captions,
        notes=draw(alone),
        row_headers=outer,
        row_levels=levels if any(levels) else (),
        sections=sections,
        spans=[(row + len(captions), *rest) for row, *rest in spans],
    )
    paths = [(row, column) for row in row_paths for column in [(), *column_paths]]
    return table, paths
