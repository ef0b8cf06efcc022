"""Finds captions, headers, sections, rows and notes among the lines and columns of a grid.

Header cells that the file marks (`<th>`) are headers. A spreadsheet marks none. The rules below use
merges, blanks, indents and numbers, as in RealHiTBench's tables (spec: realhitbench.md section 1,
classes of structure). They can be wrong for a sheet without such signs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pytest_tablebench.tables.content import AnyTable
from pytest_tablebench.tables.hierarchy._shape import Shape, is_numeric, is_period, is_year
from pytest_tablebench.tables.hierarchy.grid import Grid


def notes_start(shape: Shape, body: int) -> int:
    """Return the line after the last one with more than a single text at the left edge.

    Without texts below it, this is the number of lines.
    """
    count = len(shape.lines)
    last = next(
        (
            line
            for line in range(count - 1, body - 1, -1)
            if shape.lines[line] and (not shape.is_label(line) or shape.is_named_row(line))
        ),
        body - 1,
    )
    has_notes = any(shape.lines[line] for line in range(last + 1, count))
    return last + 1 if has_notes else count


def count_row_headers(shape: Shape, header: range, body: list[int], sections: set[int]) -> int:
    """Return how many leading columns name the rows, at least one."""
    rows = [line for line in body if line not in sections and shape.lines[line]]
    marked = max((shape.leading_heads(line) for line in rows), default=0)
    if marked:
        return marked
    left = shape.left
    corner = next(
        (
            span.columns
            for span in shape.merged_in(header.start)
            if (span.row, span.column, span.rows) == (header.start, left, len(header))
        ),
        0,
    )
    steps = range(shape.width - left)
    named = (n for n in steps if any(shape.is_filled(line, left + n) for line in header))
    blank = next(named, 0)
    count = max(
        1,
        corner,
        blank,
        _grouping(shape, body),
        _naming(shape, header, rows),
        _blank_groups(shape, rows),
    )
    return min(left + count, shape.width)


def _grouping(shape: Shape, body: list[int]) -> int:
    """Return how many leading columns name groups, by merges over rows, and the grouped rows."""
    inside = set(body)
    columns = {
        column
        for span in shape.grid.spans
        if span.rows > 1 and span.row in inside
        for column in range(span.column, span.column + span.columns)
    }
    count = 0
    while shape.left + count in columns:
        count += 1
    column = shape.left + count
    if not count or column + 1 >= shape.width:
        return count
    cells = [shape.cell(line, column) for line in body if shape.is_filled(line, column)]
    return count if all(map(is_numeric, cells)) else count + 1


def _blank_groups(shape: Shape, rows: Sequence[int]) -> int:
    """Return 2 if the first column names groups only in their first rows, otherwise 0.

    The second column must name the rows of a group: its texts are parts of a year, or repeat in
    other groups.
    """
    outer, inner = shape.left, shape.left + 1
    rows = [line for line in rows if len(shape.lines[line]) > 1]
    starts = [line for line in rows if shape.cell(line, outer) != ""]
    if shape.width - inner < 2 or not rows or rows[0] not in starts:
        return 0
    if not 0 < 2 * len(starts) <= len(rows):
        return 0
    names = [str(shape.cell(line, inner)).strip() for line in rows]
    if not all(names) or any(map(is_numeric, names)):
        return 0
    repeats = len(starts) > 1 and 2 * len(set(names)) <= len(names)
    return 2 if repeats or all(map(is_period, names)) else 0


def _naming(shape: Shape, header: range, rows: list[int]) -> int:
    """Return how many leading columns identify each row, up to the last column with text.

    Only columns whose name covers several header lines count; the other columns are grouped, so
    they contain the values.
    """
    if len(header) == 1:
        return 0
    count = 0
    for column in range(shape.left, shape.width):
        named = {shape.owner(line, column) for line in header}
        cells = [shape.cell(line, column) for line in rows]
        texts = [str(cell) for cell in cells if cell != ""]
        if None in named or len(named) > 1 or len(set(texts)) < max(len(rows), 2):
            break
        if not all(map(is_numeric, cells)):
            count = column - shape.left + 1
    return count


def row_levels(shape: Shape, body: range, row_headers: int, sections: set[int]) -> tuple[int, ...]:
    """Return the level of each row's label, from 0; () if all labels have the same level.

    Levels follow from indents. Without indents, parts of a year are below the year above them, and
    labels in plain type below the bold label above them.
    """
    places = [_label_column(shape, line, row_headers) for line in body]
    widths = [_indent(shape, line, column) for line, column in zip(body, places, strict=True)]
    if not any(widths):
        labels = dict(zip(body, places, strict=True))
        widths = _below_years(shape, labels) or _below_bold(shape, labels, sections)
    ranks = {width: rank for rank, width in enumerate(sorted({0, *widths}))}
    return tuple(ranks[width] for width in widths) if len(ranks) > 1 else ()


def _label_column(shape: Shape, line: int, row_headers: int) -> int | None:
    """Return the last column of the row headers with a text in this line."""
    cells = shape.grid.cells[line]
    return next((column for column in reversed(range(row_headers)) if cells[column] != ""), None)


def _indent(shape: Shape, line: int, column: int | None) -> int:
    """Return the indent of a label, including two or more leading blanks; one blank is a typo."""
    if column is None:
        return 0
    text = str(shape.grid.cells[line][column])
    blanks = len(text) - len(text.lstrip())
    return 2 * shape.grid.indents.get((line, column), 0) + (blanks if blanks > 1 else 0)


def _below_years(shape: Shape, labels: Mapping[int, int | None]) -> list[int]:
    """Return level 1 for quarters and months below a row labelled with a year; [] without any."""
    levels = []
    is_in_year = False
    for line, column in labels.items():
        label = "" if column is None else shape.grid.cells[line][column]
        is_part = is_period(label)
        is_in_year = is_year(label) or (is_in_year and is_part)
        levels.append(int(is_part and is_in_year))
    return levels if any(levels) else []


def _below_bold(
    shape: Shape, labels: Mapping[int, int | None], sections: Collection[int]
) -> list[int]:
    """Return level 1 for rows in plain type below a row with a bold label; [] without groups.

    Bold labels begin groups only if the first row is bold, there are two or more groups, and each
    has at least two rows in plain type.
    """
    rows = [line for line, column in labels.items() if column is not None]
    if not rows or any(line in sections for line in rows):
        return []
    bold = [(line, labels[line]) in shape.grid.bold for line in rows]
    starts = [index for index, is_bold in enumerate(bold) if is_bold]
    if len(starts) < 2 or starts[0] != 0:
        return []
    ends = [*starts[1:], len(rows)]
    if any(end - start < 3 for start, end in zip(starts, ends, strict=True)):
        return []
    is_plain = {line for line, is_bold in zip(rows, bold, strict=True) if not is_bold}
    return [int(line in is_plain) for line in labels]


_DEEPEST = 8  # header lines; real tables have up to four
_NEAR = 5  # lines below a header that are searched for numbers
_UNMERGED = 2  # header lines below the first one that need no merged cell


def to_table(grid: Grid, kind: type[AnyTable]) -> AnyTable:
    """Return the grid as a table with structure; even a flat one has one column of row headers."""
    shape = Shape(grid)
    first = _first_line(shape)
    body = first + _depth(shape, first)
    end = notes_start(shape, body)
    sections = [line for line in range(body, end) if shape.is_label(line) or shape.is_banner(line)]
    row_headers = count_row_headers(shape, range(first, body), [*range(body, end)], set(sections))
    return kind(
        grid.cells[body - 1],
        grid.cells[body:end],
        name=grid.name,
        header_rows=grid.cells[first : body - 1],
        row_headers=row_headers,
        row_levels=row_levels(shape, range(body, end), row_headers, set(sections)),
        spans=grid.spans,
        captions=grid.cells[:first],
        sections=tuple(line - body for line in sections),
        notes=grid.cells[end:],
    )


def _first_line(shape: Shape) -> int:
    """Return the first line that is not a caption.

    A caption is the only text of its line, or a pair of name and value above a wider table.
    """
    count = len(shape.lines)
    marked = next((line for line in range(count) if shape.is_head_line(line)), None)
    if marked is not None and shape.grid.groups[marked] == "thead":
        return marked
    widest = max(shape.extent(line) for line in range(count))
    for line in range(count):
        places = shape.lines[line]
        if not places or shape.is_label(line):
            continue
        if len(places) == 1 and shape.fills(line):
            continue
        if shape.is_navigation(line) or shape.is_parameters(line):
            continue
        if widest >= 4 and shape.extent(line) <= 2 and not shape.merged_in(line):
            continue
        values = [shape.cell(line, column) for column in places if column > shape.left]
        if values and all(is_numeric(cell) and not is_year(cell) for cell in values):
            return _name_above(shape, line)
        return line
    return next(line for line in range(count) if shape.lines[line])


def _name_above(shape: Shape, line: int) -> int:
    """Return the first line of the last block above the values, which have no other header."""
    blank = [above for above in range(line) if not shape.lines[above]]
    return blank[-1] + 1 if blank and blank[-1] + 1 < line else line


def _depth(shape: Shape, first: int) -> int:
    end = first + 1
    while end < len(shape.lines) and shape.is_head_line(first) and shape.is_head_line(end):
        end += 1
    marked = shape.is_head_line(first)
    unmerged = 0
    while end < len(shape.lines) and end - first < _DEEPEST:
        bottom = max(
            [span.row + span.rows for line in range(first, end) for span in shape.merged_in(line)],
            default=end,
        )
        if end < bottom <= min(first + _DEEPEST, len(shape.lines) - 1):
            end = bottom
        elif marked:
            break
        elif more := _divided(shape, end - 1):
            end += more
        elif unmerged < _UNMERGED and (_continues(shape, first, end) or _styled(shape, first, end)):
            unmerged += 1
            end += 1
        else:
            break
    return end - first


def _divided(shape: Shape, line: int) -> int:
    """Return the distance to the line that names the parts of merged cells in this line, or 0.

    One blank line may be between them.
    """
    groups = [span for span in shape.merged_in(line) if span.columns > 1]
    if len(groups) == 1 and groups[0].column == shape.left:
        return 0  # the corner, or a section
    step = next((step for step in (1, 2) if shape.lines[line + step : line + step + 1] != [[]]), 3)
    if line + step >= len(shape.lines):
        return 0
    below = shape.lines[line + step]
    ends = [(span.column, span.column + span.columns) for span in groups]
    if all(sum(start <= column < end for column in below) < 2 for start, end in ends):
        return 0
    cells = [shape.cell(line + step, column) for column in below]
    return step if all(not is_numeric(cell) or is_year(cell) for cell in cells) else 0


def _continues(shape: Shape, first: int, line: int) -> bool:
    """Return whether a line without merges above it continues the header: words over numbers."""
    places = shape.lines[line]
    if len(places) < 2 or any(is_numeric(shape.cell(line, column)) for column in places):
        return False
    starts_blank = places[0] > shape.left and not shape.is_covered(line, shape.left)
    above = shape.lines[first]
    fills_gaps = any(above[0] < column and not shape.is_filled(first, column) for column in places)
    below = range(line + 1, min(line + 1 + _NEAR, len(shape.lines)))
    numbers = any(
        is_numeric(shape.cell(other, column)) for other in below for column in shape.lines[other]
    )
    return numbers and (starts_blank or fills_gaps)


def _styled(shape: Shape, first: int, line: int) -> bool:
    """Return whether bold type or a border marks a line of words as the last header line.

    This line and the one above are in bold type and the next is not, or the first border is below
    this line.
    """
    if not shape.is_words(line) or not shape.is_words(line - 1):
        return False
    below = next((other for other in range(line + 1, len(shape.lines)) if shape.lines[other]), None)
    if below is None or shape.is_label(below):
        return False
    is_last_bold = shape.is_bold(line - 1) and shape.is_bold(line) and not shape.is_bold(below)
    is_ruled_off = (
        shape.is_underlined(line)
        and not any(shape.is_underlined(other) for other in range(first, line))
        and not shape.is_underlined(below)
    )
    return is_last_bold or is_ruled_off
