r"""Tables with structure as text, in the formats of RealHiTBench's files.

Captions, header lines, rows and notes are written as the lines of one sheet (spec: realhitbench.md
section 1, "Table files"). The formats differ:

- LaTeX keeps merged cells, and names the package they need in a comment.
- HTML keeps merged cells as `colspan` and `rowspan`.
- CSV quotes every cell, and leaves the positions under a merged cell empty.
- Markdown has a column of line numbers, and pads its cells.
- JSON has a record for each line after the first.

They differ from upstream's files in three points: HTML marks header cells with `<th>`, it has no
style sheet, and no format adds decimals to whole numbers.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Cell, Span
from pytest_tablebench.tables.hierarchy.grid import owners
from pytest_tablebench.tables.hierarchy.paths import Paths, expanded, indents
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.tokens import count_tokens

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # after the end of a line it would begin an argument
        "]": "{]}",
        **{character: f"\\{character}" for character in "#$%&_{}"},
    }
)
_LONGEST_TEXT = 50_000_000  # characters with padding; longer tables are not padded
_PIXELS = 9  # per level of indentation, as in HTML that spreadsheets export


def _cell_text(cell: Cell) -> str:
    return "" if cell is None else str(cell)


def to_latex(table: Table) -> str:
    r"""Return a `tabular` with `\multirow` and `\multicolumn`, cells escaped and line ends kept."""
    if not table.header:
        raise TableError(f"{table.label}: has no columns; serializer 'latex' needs at least one")
    merged = owners(table.spans)
    lines = [
        " & ".join(_latex_cells(line, number, merged)) for number, line in enumerate(table.lines)
    ]
    needs = "% \\usepackage{multirow}\n" if any(span.rows > 1 for span in table.spans) else ""
    body = " \\\\\n".join(lines)
    columns = "l" * len(table.header)
    return (
        f"{needs}\\begin{{table}}[]\n\\begin{{tabular}}{{{columns}}}\n{body}\n"
        "\\end{tabular}\n\\end{table}"
    )


def latex_tokens(table: Table) -> int:
    """Return the number of tokens of a table in LaTeX. Raises what `to_latex` raises."""
    return count_tokens(to_latex(table).encode("utf-8", "surrogatepass"))


def _latex_cells(
    line: tuple[Cell, ...], number: int, merged: dict[tuple[int, int], Span]
) -> Iterable[str]:
    for column, cell in enumerate(line):
        span = merged.get((number, column), Span(number, column, 1, 1))
        if column != span.column:
            continue
        text = _latex_text(_cell_text(cell)) if number == span.row else ""
        if span.rows > 1 and number == span.row:
            text = f"\\multirow{{{span.rows}}}{{*}}{{{text}}}"
        yield f"\\multicolumn{{{span.columns}}}{{l}}{{{text}}}" if span.columns > 1 else text


def _latex_text(text: str) -> str:
    parts = [part.translate(_ESCAPES) for part in text.splitlines()]
    if len(parts) < 2:
        return "".join(parts)
    return r"\begin{tabular}[c]{@{}l@{}}" + r"\\ ".join(parts) + r"\end{tabular}"


def _to_html(table: Table) -> str:
    """Return HTML with captions and header lines in `<thead>`, notes in `<tfoot>`, text escaped."""
    merged, levels, lines = owners(table.spans), indents(table), table.lines
    top = len(table.captions)
    first = top + len(table.header_rows) + 1
    last = first + len(table.rows)

    def cells(number: int) -> Iterable[str]:
        for column, cell in enumerate(lines[number]):
            span = merged.get((number, column), Span(number, column, 1, 1))
            if span[:2] != (number, column):
                continue
            is_label = first <= number < last and column < table.row_headers
            tag = "th" if top <= number < first or is_label else "td"
            attributes = f' rowspan="{span.rows}"' if span.rows > 1 else ""
            attributes += f' colspan="{span.columns}"' if span.columns > 1 else ""
            if level := levels.get((number, column)):
                attributes += f' style="padding-left:{_PIXELS * level}px"'
            text = html.escape(_cell_text(cell), quote=False).replace("\n", "<br>")
            yield f"<{tag}{attributes}>{text}</{tag}>"

    text = "<table>\n"
    for part, start, stop in (
        ("thead", 0, first),
        ("tbody", first, last),
        ("tfoot", last, len(lines)),
    ):
        rows = [f"    <tr>{''.join(cells(number))}</tr>\n" for number in range(start, stop)]
        text += f"  <{part}>\n{''.join(rows)}  </{part}>\n" if rows else ""
    return f"{text}</table>"


def _to_csv(table: Table) -> str:
    """Return CSV with every cell in quotes; quotes inside are doubled, line ends kept."""
    return "\n".join(
        ",".join('"' + _cell_text(cell).replace('"', '""') + '"' for cell in line)
        for line in table.lines
    )


def _to_markdown(table: Table) -> str:
    """Return a pipe table with a column of line numbers, and cells padded to equal width.

    The first line is the header. A cell with several lines takes several lines of the table, as in
    upstream's files.
    """
    lines = [
        [_cell_text(number), *(_cell_text(cell).replace("\t", " ") for cell in line)]
        for number, line in enumerate(table.lines, start=-1)
    ]
    lines[0][0] = ""
    parts = [[cell.splitlines() or [""] for cell in line] for line in lines]
    # Upstream's writer makes a column at least two wider than its first line.
    widths = [
        max([len(text) + 2 for text in column[0]] + [len(text) for part in column for text in part])
        for column in zip(*parts, strict=True)
    ]
    if sum(widths) * sum(max(map(len, line)) for line in parts) > _LONGEST_TEXT:
        widths = [0] * len(widths)
    written = [text for line in parts for text in _padded(line, widths)]
    rule = [f"{'-' * (widths[0] + 1)}:", *(f":{'-' * (width + 1)}" for width in widths[1:])]
    written.insert(max(map(len, parts[0])), f"|{'|'.join(rule)}|")
    return "\n".join(written)


def _padded(line: list[list[str]], widths: list[int]) -> Iterable[str]:
    for step in range(max(map(len, line))):
        texts = [cell[step] if step < len(cell) else "" for cell in line]
        index, others = texts[0].rjust(widths[0]), zip(texts[1:], widths[1:], strict=True)
        yield f"| {' | '.join([index, *(text.ljust(width) for text, width in others)])} |"


def _to_json(table: Table) -> str:
    """Return a list with a record for each line after the first, whose cells are the keys.

    An empty cell gives the key `Unnamed: n`, and a repeated name `name.1`. Values are text, or null
    for an empty cell.
    """
    names: list[str] = []
    used: dict[str, None] = {}
    for column, cell in enumerate(table.lines[0]):
        name = _cell_text(cell) or f"Unnamed: {column}"
        unique, again = name, 0
        while unique in used:
            again += 1
            unique = f"{name}.{again}"
        used[unique] = None
        names.append(unique)
    return json.dumps(
        [
            dict(zip(names, (_cell_text(cell) or None for cell in line), strict=True))
            for line in table.lines[1:]
        ],
        ensure_ascii=False,
    )


STRUCTURED: dict[str, Callable[[Table], str]] = {
    "html": _to_html,
    "csv": _to_csv,
    "markdown": _to_markdown,
    "json": _to_json,
}
"""The formats that represent header lines, merged cells, captions and notes."""


def flattened(table: Table) -> Table:
    """Return a flat table of the same values, for formats with one header line.

    A column's name is its header path, joined by ` > `. A merged cell's text is repeated in each
    position it covers. A row's label begins with the names of its section and of its parent rows.
    Sections, blank rows, captions and notes are left out.
    """
    if not table.is_structured:
        return table
    first = len(table.captions) + len(table.header_rows) + 1
    lines, paths = expanded(table), Paths(table)
    sections = set(table.sections)
    rows = []
    for row in range(len(table.rows)):
        line = lines[first + row]
        if row in sections or not any(map(_cell_text, line)):
            continue
        labels = [column for column in range(table.row_headers) if _cell_text(line[column])]
        if labels and (above := paths.above[row]):
            line[labels[0]] = " > ".join([*above, _cell_text(line[labels[0]])])
        rows.append(line)
    header = [*map(" > ".join, paths.columns)]
    return table.replace(header=header, rows=rows)
