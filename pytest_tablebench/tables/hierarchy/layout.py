"""Which lines and columns of a grid are captions, headers, sections, rows and notes.

Where the file marks header cells (`<th>`), it is believed. A spreadsheet marks nothing; the rules
below read what its author did with merges, blanks, indents and numbers, as RealHiTBench's tables
show it (spec: realhitbench.md section 1, classes of structure). They can be wrong where a sheet
says nothing at all.
"""

from __future__ import annotations

from pytest_tablebench.tables.hierarchy.grid import Grid
from pytest_tablebench.tables.hierarchy.shape import Shape, is_numeric, is_year
from pytest_tablebench.tables.table import Table

_DEEPEST = 8  # header lines; real tables have up to four
_NEAR = 5  # lines below a header that tell whether numbers stand in the table
_UNMERGED = 2  # header lines that are found below the first one without a merge


def to_table(grid: Grid) -> Table:
    """Return the grid as a table with structure; a flat one has at least its row header column."""
    shape = Shape(grid)
    first = _first_line(shape)
    body = first + _depth(shape, first)
    end = _notes(shape, body)
    sections = [line for line in range(body, end) if shape.is_label(line)]
    row_headers = _row_headers(shape, range(first, body), [*range(body, end)], set(sections))
    return Table(
        grid.cells[body - 1],
        grid.cells[body:end],
        name=grid.name,
        header_rows=grid.cells[first : body - 1],
        row_headers=row_headers,
        row_levels=_levels(grid, range(body, end), row_headers),
        spans=grid.spans,
        captions=grid.cells[:first],
        sections=tuple(line - body for line in sections),
        notes=grid.cells[end:],
    )


def _first_line(shape: Shape) -> int:
    """Return the first line that is no caption.

    A caption stands alone in its line, or is a pair of name and value over a wider table.
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
        if widest >= 4 and shape.extent(line) <= 2 and not shape.merged_in(line):
            continue
        values = [shape.cell(line, column) for column in places if column > shape.left]
        if values and all(is_numeric(cell) and not is_year(cell) for cell in values):
            return _name_above(shape, line)
        return line
    return next(line for line in range(count) if shape.lines[line])


def _name_above(shape: Shape, line: int) -> int:
    """Return the first line of the captions' last block: the first values have no other header."""
    blank = [at for at in range(line) if not shape.lines[at]]
    return blank[-1] + 1 if blank and blank[-1] + 1 < line else line


def _depth(shape: Shape, first: int) -> int:
    """Return how many header lines there are from the first one on."""
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
        elif unmerged < _UNMERGED and _goes_on(shape, first, end):
            unmerged += 1
            end += 1
        else:
            break
    return end - first


def _divided(shape: Shape, line: int) -> int:
    """Return how far below a line its merged cells have names for their parts, 0 for nowhere.

    One blank line may stand between, but not at the end.
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


def _goes_on(shape: Shape, first: int, line: int) -> bool:
    """Whether a line without merges above it goes on with the header: words over numbers."""
    places = shape.lines[line]
    if len(places) < 2 or any(is_numeric(shape.cell(line, column)) for column in places):
        return False
    starts_blank = places[0] > shape.left and not shape.is_covered(line, shape.left)
    above = shape.lines[first]
    fills_gaps = any(above[0] < column and not shape.is_filled(first, column) for column in places)
    below = range(line + 1, min(line + 1 + _NEAR, len(shape.lines)))
    numbers = any(is_numeric(shape.cell(at, column)) for at in below for column in shape.lines[at])
    return numbers and (starts_blank or fills_gaps)


def _notes(shape: Shape, body: int) -> int:
    """Return the line behind the last one that is more than one text at the left edge.

    That is the number of lines where nothing stands below it.
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
    noted = any(shape.lines[line] for line in range(last + 1, count))
    return last + 1 if noted else count


def _row_headers(shape: Shape, header: range, body: list[int], sections: set[int]) -> int:
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
    found = max(1, corner, blank, _grouping(shape, body), _naming(shape, header, rows))
    return min(left + found, shape.width)


def _grouping(shape: Shape, body: list[int]) -> int:
    """Return how many leading columns name groups by merges over rows, and what they group."""
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
    at = shape.left + count
    if not count or at + 1 >= shape.width:
        return count
    cells = [shape.cell(line, at) for line in body if shape.is_filled(line, at)]
    return count if all(map(is_numeric, cells)) else count + 1


def _naming(shape: Shape, header: range, rows: list[int]) -> int:
    """Return how many leading columns tell each row from all others, up to the last one of text.

    Only columns whose name reaches over several header lines count: beside them the others are
    grouped, and so hold the values.
    """
    if len(header) == 1:
        return 0
    found = 0
    for column in range(shape.left, shape.width):
        named = {shape.owner(line, column) for line in header}
        cells = [shape.cell(line, column) for line in rows]
        texts = [str(cell) for cell in cells if cell != ""]
        if None in named or len(named) > 1 or len(set(texts)) < max(len(rows), 2):
            break
        if not all(map(is_numeric, cells)):
            found = column - shape.left + 1
    return found


def _levels(grid: Grid, body: range, row_headers: int) -> tuple[int, ...]:
    """Return how deep each row's label stands in, counted over the indents there are.

    Blanks before a text are an indent too, from two on; one is a slip.
    """
    widths = []
    for line in body:
        filled = [column for column in range(row_headers) if grid.cells[line][column] != ""]
        text = str(grid.cells[line][filled[-1]]) if filled else ""
        blanks = len(text) - len(text.lstrip())
        indent = grid.indents.get((line, filled[-1]), 0) if filled else 0
        widths.append(2 * indent + (blanks if blanks > 1 else 0))
    ranks = {width: rank for rank, width in enumerate(sorted({0, *widths}))}
    return tuple(ranks[width] for width in widths) if len(ranks) > 1 else ()
