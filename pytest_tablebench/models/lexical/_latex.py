r"""Read a LaTeX `tabular` as text cells: merged cells stand in their first place alone."""

from __future__ import annotations

import re
from typing import NamedTuple

# Arguments are short, so that hostile text costs no more than its length.
_COLUMNS = r"\{[^{}\n]{0,200}(?:\{[^{}\n]{0,200}\}[^{}\n]{0,200}){0,20}\}"
_PIECE = re.compile(
    rf"""\\begin\{{tabular\}}(?:\[[^\]\n]{{0,9}}\])?(?:{_COLUMNS})?(?P<begin>)
    |\\end\{{tabular\}}(?P<end>)
    |\\multicolumn\{{(?P<columns>\d{{1,3}})\}}(?:{_COLUMNS})
    |\\multirow\{{[^{{}}\n]{{0,9}}\}}\{{[^{{}}\n]{{0,99}}\}}
    |\\(?:cell|row)color(?:\[[^\]\n]{{0,9}}\])?\{{[^{{}}\n]{{0,99}}\}}
    |\\\\(?P<row>)
    |\\(?P<escaped>[&%$\#_{{}}])
    |\\(?:[A-Za-z]+\*?|.)(?:\[[^\]\n]{{0,99}}\])?
    |(?P<cell>&)
    |(?<!\\)%[^\n]*\n?
    |[{{}}]
    """,
    re.VERBOSE | re.DOTALL,
)
_FIRST = re.compile(r"(?:[ \t]*%[^\n]*\n|\s)*\\begin\{(?:table|tabular)\}")


class Parsed(NamedTuple):
    """What a reader found. `end` is the number of characters that belong to the table."""

    header: list[str]
    rows: list[list[str]]
    end: int


def read_tabular(text: str) -> Parsed | None:
    """Read the first `tabular`; None where there is none.

    What stands in braces stays, commands go; a `tabular` in a cell is one text.
    """
    if _FIRST.match(text) is None:
        return None
    lines: list[list[str]] = []
    line: list[str] = []
    cell: list[str] = []
    depth = blank = place = 0
    for piece in _PIECE.finditer(text):
        if depth:
            cell.append(text[place : piece.start()])
        place = piece.end()
        if piece["begin"] is not None:
            depth += 1
        elif piece["end"] is not None:
            depth -= 1
            if depth <= 0:
                break
        elif piece["escaped"]:
            cell.append(piece["escaped"])
        elif piece["columns"]:
            blank = int(piece["columns"]) - 1
        elif depth > 1:
            cell.append(" ")
        elif piece["cell"] or piece["row"] is not None:
            line += [" ".join("".join(cell).split()), *[""] * blank]
            cell, blank = [], 0
            if piece["row"] is not None:
                lines.append(line)
                line = []
    line += [" ".join("".join(cell).split()), *[""] * blank]
    lines += [line] if any(line) else []
    return Parsed(lines[0], lines[1:], place) if lines else None
