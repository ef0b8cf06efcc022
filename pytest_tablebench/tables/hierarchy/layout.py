"""Finds captions, headers, sections, rows and notes among the lines and columns of a grid.

Header cells that the file marks (`<th>`) are headers. A spreadsheet marks none. The rules below use
merges, blanks, indents and numbers, as in RealHiTBench's tables (spec: realhitbench.md section 1,
classes of structure). They can be wrong for a sheet without such signs.
"""

from __future__ import annotations

from pytest_tablebench.tables.content import AnyTable
from pytest_tablebench.tables.hierarchy.cell_kinds import is_numeric, is_year
from pytest_tablebench.tables.hierarchy.grid import Grid
from pytest_tablebench.tables.hierarchy.row_layout import count_row_headers, notes_start, row_levels
from pytest_tablebench.tables.hierarchy.shape import Shape

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
