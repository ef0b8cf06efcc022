"""The part of a table whose headers a question names (spec: realhitbench.md section 6, θ).

`aligned` selects it by rule, `aligned_with` by headers that a model named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_tablebench.tables.hierarchy.paths import plain
from pytest_tablebench.tables.table import Table

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
    question_words = _QuestionWords(question)

    def matches(name: str) -> bool:
        return any(question_words.likeness(part) >= threshold for part in name.split(" > "))

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


class _QuestionWords:
    """The consecutive words of a question, in windows of the length of a name."""

    def __init__(self, text: str) -> None:
        self._words = _words(text)[:400]
        self._windows: dict[int, list[frozenset[str]]] = {}

    def likeness(self, name: str) -> float:
        """Return the similarity of a name to the most similar words of the question, 0 to 1."""
        words = _words(name)[:_MOST_WORDS]
        if not words:
            return 0.0
        pieces = _pieces(words)
        return max((_dice(pieces, window) for window in self._windows_of(len(words))), default=0.0)

    def _windows_of(self, count: int) -> list[frozenset[str]]:
        if count not in self._windows:
            last = max(1, len(self._words) - count + 1)
            self._windows[count] = [
                _pieces(self._words[start : start + count])
                for start in range(last if self._words else 0)
            ]
        return self._windows[count]


def _words(text: str) -> list[str]:
    """Return the words; in scripts without blanks each character is a word."""
    return re.findall(
        r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+", text.casefold()
    )


def _pieces(words: Sequence[str]) -> frozenset[str]:
    return frozenset(f" {word} "[i : i + 3] for word in words for i in range(max(1, len(word))))


def _dice(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))
