"""The header tree of a table: which names are under which (spec: realhitbench.md section 6).

A tree consists of tuples T(kind and level, start, end, text): row headers (R) and column headers
(C), with the range of rows or columns, counted from 1, that each covers. The ranges determine the
parents, so that a model's tree can be compared with the true one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from pytest_tablebench.tables.hierarchy.paths import Paths, plain
from pytest_tablebench.tables.table import Table

ROOT = "ROOT"

TREE_PROMPT = """\
You are an expert in reading the structure of tables. Describe the headers of the table below as a \
tree, in these steps.
1. Say how many levels the column headers and the row headers have. Merged cells, indentation and \
lines that only name what follows tell the levels. Cells such as totals and means sum up others: \
they are headers of rows or columns like the others, and no level above them.
2. Go through the table and write each header cell as a tuple T(t1, t2, t3, t4): t1 is its kind, C \
for columns or R for rows, with its level from 0 (outermost); t2 and t3 are the first and the last \
column (for C, counted from 1 at the left) or row (for R, counted from 1 below the column headers) \
that it reaches over; t4 is its text. An example: (R0, 1, 2, City). Collect all of them in a list L.
3. Check L against the table: no header is missing, no range is too long or too short.
4. Build the tree H of L, level by level, with a ROOT (level -1) for rows and one for columns. The \
parent of a tuple is the nearest tuple of the same kind at a higher level whose range holds its \
own; without one it is ROOT. A tuple below which there is none is a leaf.
Write L with one tuple a line, and then H."""
"""The prompt for a tree that `read_tree` parses."""

MOST = 5000
"""The most tuples that are read from a reply, more than any table has headers."""

_BEGIN = re.compile(
    r"\(\s*([RC])\s?(\d{1,2})\s*,\s*(\d{1,6})\s*,\s*(\d{1,6})\s*,\s{0,9}", re.IGNORECASE
)
_END = re.compile(r"\)(?=\s*(?:[,;.\]}\n:|]|$|T?\(|[-=]>))")
_CLOSING = {quote: re.compile(rf"{quote}\s{{0,9}}\)") for quote in "\"'`"}
"""The end of a text that begins with a quote."""
_LONGEST = 400  # characters of a header


class Header(NamedTuple):
    """One header: its kind (`R` or `C`), level from 0, first and last position, text."""

    kind: str
    level: int
    start: int
    end: int
    text: str

    def __str__(self) -> str:
        return f"({self.kind}{self.level}, {self.start}, {self.end}, {self.text})"


@dataclass(frozen=True)
class HeaderTree:
    """Headers; the parent of each is the nearest higher one of its kind that covers its range."""

    headers: tuple[Header, ...]

    @cached_property
    def parents(self) -> tuple[int | None, ...]:
        """The position of each header's parent in `headers`; None for headers under the root."""
        by_level: dict[tuple[str, int], list[int]] = {}
        for index, header in enumerate(self.headers):
            by_level.setdefault((header.kind, header.level), []).append(index)
        levels = sorted({level for _, level in by_level}, reverse=True)
        return tuple(
            next(
                (
                    index
                    for level in levels
                    if level < header.level
                    for index in by_level.get((header.kind, level), ())
                    if self.headers[index].start <= header.start
                    and header.end <= self.headers[index].end
                ),
                None,
            )
            for header in self.headers
        )

    def edges(self) -> Counter[tuple[str, str, str]]:
        """Return (kind, parent's text, child's text) of each edge, with its count."""
        parents = [ROOT if index is None else self.headers[index].text for index in self.parents]
        return Counter(
            (header.kind, plain(parent), plain(header.text))
            for header, parent in zip(self.headers, parents, strict=True)
        )

    def f1(self, true: HeaderTree) -> float:
        """Return the F1 of this tree's edges against the true tree's edges, from 0 to 1."""
        edges, true_edges = self.edges(), true.edges()
        total = edges.total() + true_edges.total()
        return 2 * (edges & true_edges).total() / total if total else 1.0

    def lines(self) -> Iterator[str]:
        """Yield the tree as lines of text, each header with its range."""
        children: dict[int | None, list[int]] = {}
        for index, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(index)
        for kind, name in (("C", "columns"), ("R", "rows")):
            tops = [index for index in children.get(None, ()) if self.headers[index].kind == kind]
            if not tops:
                continue
            yield f"{ROOT} ({name})"
            waiting = [(index, 1) for index in reversed(tops)]
            while waiting:
                index, depth = waiting.pop()
                header = self.headers[index]
                reach = (
                    str(header.start)
                    if header.start == header.end
                    else f"{header.start}-{header.end}"
                )
                yield f"{'  ' * depth}{header.text}  [{header.kind}{header.level} {reach}]"
                waiting += [(below, depth + 1) for below in reversed(children.get(index, ()))]


def read_tree(text: str) -> HeaderTree:
    """Return the tree in a model's reply; repeated tuples count once."""
    headers: dict[Header, None] = {}
    position = 0
    while len(headers) < MOST and (begin := _BEGIN.search(text, position)):
        closing = _CLOSING.get(text[begin.end() : begin.end() + 1], _END)
        end = closing.search(text, begin.end() + 1, begin.end() + _LONGEST)
        position = begin.end()
        if end is None:
            continue
        position = end.end()
        written = " ".join(text[begin.end() : end.start()].split()).strip("\"'“”‘’`")
        level, start, last = (int(number) for number in begin.groups()[1:])
        headers.setdefault(Header(begin[1].upper(), level, start, last, written))
    return HeaderTree(tuple(headers))


def true_tree(table: Table) -> HeaderTree:
    """Return the tree of a table's headers; a flat table has only column headers.

    Columns are counted from 1 at the left edge, rows from 1 below the header.
    """
    paths = Paths(table)
    top, first = len(table.captions), len(table.captions) + len(table.header_rows) + 1

    def begins_column(column: int) -> bool:
        named = [line for line in range(top, first) if paths.text(line, column)]
        return not named or paths.anchor(named[-1], column)[1] == column

    def begins_row(row: int) -> bool:
        line = first + row
        named = [at for at in range(table.row_headers) if paths.text(line, at)]
        return not named or paths.anchor(line, named[-1])[0] == line

    headers = _headers(
        "C", paths.columns, [begins_column(column) for column in range(len(table.header))]
    )
    if table.row_headers and table.header:
        count = range(len(table.rows))
        headers += _headers("R", paths.rows, [begins_row(row) for row in count])
    return HeaderTree(tuple(headers))


def _headers(kind: str, paths: Sequence[tuple[str, ...]], begins: Sequence[bool]) -> list[Header]:
    """Return the headers in the paths of positions; neighbours share equal leading names.

    The last name of a path is shared only within a merged cell.
    """
    headers: list[Header] = []
    opened: list[int] = []  # headers of the last position as indexes, outermost first
    previous: tuple[str, ...] = ()
    for position, (path, begins_here) in enumerate(zip(paths, begins, strict=True), start=1):
        if not path:
            continue
        limit = len(path) - 1 if begins_here else len(path)
        shared = 0
        while shared < min(limit, len(previous)) and path[shared] == previous[shared]:
            shared += 1
        del opened[shared:]
        for opened_header in opened:
            headers[opened_header] = headers[opened_header]._replace(end=position)
        for level in range(shared, len(path)):
            opened.append(len(headers))
            headers.append(Header(kind, level, position, position, path[level]))
        previous = path
    return headers


_MOST_WORDS = 8


@dataclass(frozen=True)
class AlignedPart:
    """Some rows and columns of a table, with their positions in the whole table, from 0."""

    table: Table
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def recall(self, whole: Table, answers: Iterable[str]) -> float | None:
        """Return the share of cells with an answer that this part has; None without such cells."""
        answer_texts = {
            plain(piece) for answer in answers for piece in (answer, *answer.split(", "))
        }
        places = [
            (row, column)
            for row, cells in enumerate(whole.rows)
            for column, cell in enumerate(cells)
            if plain(cell) in answer_texts
        ]
        rows, columns = set(self.rows), set(self.columns)
        inside = sum(row in rows and column in columns for row, column in places)
        return inside / len(places) if places else None


def aligned(table: Table, question: str, threshold: float, *, labels: int = 1) -> AlignedPart:
    """Return the rows and columns of a flat table that a question names.

    A name matches if consecutive words of the question, as many as the name has, share enough
    three-letter pieces with it: a Dice coefficient of at least `threshold` (0 to 1). Names of
    groups are joined by ` > `, and one matching name is enough. If no row matches, all rows are
    kept; likewise for columns. The `labels` leading columns name the rows and are kept.
    """
    question_words = _words(question)[:400]

    @cache
    def windows(count: int) -> list[frozenset[str]]:
        last = max(1, len(question_words) - count + 1) if question_words else 0
        return [_pieces(question_words[start : start + count]) for start in range(last)]

    def likeness(name: str) -> float:
        words = _words(name)[:_MOST_WORDS]
        pieces = _pieces(words)
        similar = windows(len(words)) if words else ()
        return max((_dice(pieces, window) for window in similar), default=0.0)

    def matches(name: str) -> bool:
        return any(likeness(part) >= threshold for part in name.split(" > "))

    return _part(table, matches, labels)


def aligned_with(table: Table, headers: Iterable[str], *, labels: int = 1) -> AlignedPart | None:
    """Return the rows and columns of a flat table under headers; None if it has none of them.

    A header is a name, or a path of names joined by ` > `, which a row or column must contain in
    that order. Case and white space do not matter. Without a header of a row all rows are kept;
    likewise for columns. The `labels` leading columns name the rows and are kept.
    """
    paths = [path for header in headers if (path := _plain_path(header))]
    is_selected = False

    def selects(name: str) -> bool:
        nonlocal is_selected
        names = _plain_path(name)
        selected = any(_is_within(path, names) for path in paths)
        is_selected |= selected
        return selected

    part = _part(table, selects, labels)
    return part if is_selected else None


def _part(table: Table, selects: Callable[[str], bool], labels: int) -> AlignedPart:
    names = range(labels, len(table.header))
    columns = [column for column in names if selects(str(table.header[column]))] or [*names]
    columns = [*range(min(labels, len(table.header))), *columns]
    rows = [
        row
        for row, cells in enumerate(table.rows)
        if any(selects(str(cell)) for cell in cells[:labels] if cell not in {"", None})
    ] or [*range(len(table.rows))]
    part = table.replace(
        header=[table.header[column] for column in columns],
        rows=[[table.rows[row][column] for column in columns] for row in rows],
    )
    return AlignedPart(part, tuple(rows), tuple(columns))


def _plain_path(name: str) -> tuple[str, ...]:
    return tuple(text for part in name.split(" > ") if (text := plain(part)))


def _is_within(path: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a path's names are a subsequence of other names."""
    rest = iter(names)
    return all(name in rest for name in path)


def _words(text: str) -> list[str]:
    """Return the words; in scripts without blanks each character is a word."""
    return re.findall(
        r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+", text.casefold()
    )


def _pieces(words: Sequence[str]) -> frozenset[str]:
    return frozenset(f" {word} "[i : i + 3] for word in words for i in range(max(1, len(word))))


def _dice(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))
