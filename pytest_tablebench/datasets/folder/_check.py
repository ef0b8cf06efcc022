"""Check of a dataset folder for mistakes that would distort its scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets._source import Problem
from pytest_tablebench.datasets.answers import percent_note
from pytest_tablebench.datasets.folder._check_more import (
    ERRORS,
    of_cells,
    of_settings,
    of_wording,
)
from pytest_tablebench.datasets.folder._dataset import FolderDataset
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.metrics import METRICS
from pytest_tablebench.metrics.typed_answer import KINDS, answer_kind
from pytest_tablebench.metrics.typed_dates import read_moment
from pytest_tablebench.metrics.typed_numbers import read_quantity
from pytest_tablebench.tables.hierarchy.paths import plain
from pytest_tablebench.tables.perturbations import PERTURBATIONS
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, shortened, unknown_name

_MOST_NOTES = 10
_CONTEXT = 128_000
"""The context window of most models, in tokens."""
_TAGS, _PER_TOKEN = 9, 4
"""The approximate number of characters of the tags around an HTML cell, and of a token."""
_WHOLE = re.compile(
    r"\b(?:how many|how much more|count|total|sum|altogether|together|average|mean|median|most"
    r"|least|more|less|fewer|difference|between|all|both|each|every|first|last|next|\w+est|max\w*|min\w*)\b"
    r"|所有|全部|这些|各|每|最|总|共|平均|中位|数量|几|统计"
)
"""Words of questions that are about several rows on purpose."""


@dataclass(frozen=True)
class FolderCheck:
    """The result of a check.

    Arguments:
        problems: the mistakes.
        kinds: the number of questions by kind of answer.
        notes: how files and answers were read, where that may surprise the user.
    """

    problems: tuple[Problem, ...]
    kinds: Mapping[str, int]
    notes: tuple[str, ...]


def check_dataset(
    dataset: FolderDataset, folder: Path, names: Mapping[str, Collection[str]] | None = None
) -> FolderCheck:
    """Check a folder for mistakes, without any model call.

    `names` has the valid names of each axis in the settings; axes that it lacks are not checked.
    """
    source = dataset.open(folder)
    questions = source.rows()
    place = "" if dataset.folder == "." else f"{dataset.folder}/"
    file = shortened(f"{place}{dataset.question_file}", 120)
    all_problems = list(source.problems)
    settings = shortened(f"{place}tablebench.toml", 120)
    all_problems += [
        Problem(settings, None, *problem) for problem in of_settings(dataset, names or {})
    ]
    tables = {name: table for q in questions for name, table in zip(q.files, q.tables, strict=True)}
    for name, table in tables.items():
        label = shortened(f"{place}{name}", 120)
        problems_of_table = [*_of_table(table), *of_cells(table)]
        all_problems += [Problem(label, row, field, text) for row, field, text in problems_of_table]
    plain_cells: dict[int, set[str]] = {}

    def cells_of(table: Table) -> set[str]:
        if id(table) not in plain_cells:
            rows = (table.header, *table.rows)
            plain_cells[id(table)] = {plain(cell) for row in rows for cell in row}
        return plain_cells[id(table)]

    first_rows: dict[tuple[object, ...], int] = {}
    for question in questions:
        key = (plain(question.text), question.files)
        first = first_rows.setdefault(key, question.number)
        problems = [
            *_of_question(question, cells_of, names or {}),
            *of_wording(question, dataset.perturbations),
        ]
        if first != question.number:
            problems.append(("question", f"repeats row {first}; remove one of them"))
        all_problems += [Problem(file, question.number, field, text) for field, text in problems]
    kinds = Counter(question.context["kind"] for question in questions)
    notes = [
        f"row {question.number}: {note}"
        for question in questions
        for answer in question.answers
        if (note := percent_note(answer, question.context)) is not None
    ]
    return FolderCheck(tuple(all_problems), kinds, (*source.facts.notes, *notes[:_MOST_NOTES]))


def _is_number(value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return True
    if value in ERRORS:  # a number whose formula failed
        return True
    return isinstance(value, str) and any(
        answer_kind([value], decimal=decimal) == "number" for decimal in ".,"
    )


def _column(table: Table, place: int) -> list[Any]:
    cells = [row[place] for row in table.rows if place < len(row)]
    return [cell for cell in cells if plain(cell)]


def _of_table(table: Table) -> Iterator[tuple[int | None, str, str]]:
    """Yield (row, field, message) for each mistake in a table; the header is row 1."""
    if not table.rows:
        yield None, "table", "has a header and no row; was the header left out?"
        return
    if not table.is_structured:
        yield from _of_header(table)
    sizes = [len(str(cell)) + _TAGS for row in table.rows for cell in row]
    tokens = sum(sizes) // _PER_TOKEN
    if tokens > _CONTEXT:
        yield (
            None,
            "table",
            f"is about {counted(tokens, 'token')} long as HTML, and most models read at most "
            f"{_CONTEXT:,}; keep only the rows and columns that the questions are about, or ask "
            "with --bench-strategy=tools",
        )


def _of_header(table: Table) -> Iterator[tuple[int | None, str, str]]:
    """Yield (row, field, message) for each mistake in a table's only header line."""
    if _has_two_headers(table):
        yield 2, "row", "looks like a second header; keep one, with names like `Sales 2024`"
    names = Counter(plain(name) for name in table.header)
    for index, name in enumerate(table.header, start=1):
        if not plain(name):
            yield 1, f"column {index}", "has no name; a question cannot ask for it: give it one"
        elif names.pop(plain(name), 0) > 1:
            label = shortened(str(name), 40)
            yield 1, label, "is the name of several columns; give each its own"


def _has_two_headers(table: Table) -> bool:
    """Return whether the first row has no numbers, and a name above a column of numbers."""
    first = table.rows[0]
    if len(table.rows) < 2 or any(_is_number(cell) for cell in first):
        return False
    for index, cell in enumerate(first):
        below = [other for other in (row[index] for row in table.rows[1:]) if plain(other)]
        if re.search(r"[a-z]", plain(cell)) and below and all(map(_is_number, below)):
            return True
    return False


def _of_question(
    question: FolderQuestion,
    cells_of: Callable[[Table], set[str]],
    names: Mapping[str, Collection[str]],
) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for each mistake in a question."""
    metrics, perturbations = names.get("metric", METRICS), names.get("perturbations", PERTURBATIONS)
    kind, context = question.context["kind"], question.context
    text = plain(question.text)
    if question.metric is not None and kind not in metrics:
        yield "metric", unknown_name("metric", kind, (*KINDS, *metrics))
    for answer in question.answers:
        label = shortened(answer, 40)
        if kind == "number" and read_quantity(answer, context["decimal"]) is None:
            yield "answer", f"{label!r} is not a number; the metric needs one, in digits"
        elif kind == "date" and read_moment(answer, context["day_first"]) is None:
            yield "answer", f"{label!r} is not a date; the metric needs one, such as 2024-03-05"
        if kind != "yes_no" and len(answer) > 1 and " or " not in text and _says(text, answer):
            yield "question", f"contains its answer {label!r}; ask without it"
    for name in question.perturbations or ():
        if name.partition("[")[0] not in perturbations:
            yield "perturbations", unknown_name("perturbation", name, perturbations)
    if question.tables and question.in_table and kind in {"text", "list", "ordered_list"}:
        yield from _absent(question, cells_of)
    # A question that excludes shuffle_rows asks for a position, not for a name.
    by_place = "shuffle_rows" not in (question.perturbations or ("shuffle_rows",))
    is_lookup = len(question.answers) == 1 and kind != "yes_no" and not by_place
    # In a structured table, headers may distinguish rows that look alike.
    if len(question.tables) == 1 and is_lookup and not question.tables[0].is_structured:
        yield from _ambiguous(question)


def _says(text: str, words: str) -> bool:
    """Return whether a text contains words, not only as a part of longer words."""
    sought = plain(words)
    # The quick test comes first: most cells of long columns are not in the text.
    return sought in text and re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", text) is not None


def _absent(
    question: FolderQuestion, cells_of: Callable[[Table], set[str]]
) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for each answer that is a text but equals no cell."""
    cells: set[str] = set().union(*map(cells_of, question.tables))
    text = plain(question.text)
    for answer in question.answers:
        if plain(answer) in cells or answer_kind([answer]) in {"number", "date"}:
            continue
        if any(_is_header_path(answer, table) for table in question.tables):
            continue
        label = shortened(answer, 40)
        for table in question.tables:
            numeric = [
                str(name)
                for index, name in enumerate(table.header)
                if plain(name) and _says(text, str(name))
                if (column := _column(table, index)) and all(map(_is_number, column))
            ]
            if numeric:
                name = shortened(numeric[0], 40)
                yield (
                    "answer",
                    f"{label!r} is text, and the column {name!r} has numbers; write the answer "
                    f"like its cells",
                )
                break
        else:
            yield (
                "answer",
                f"{label!r} is in no cell; write it as in the table, name its metric "
                f"(free_text, yes_no), or write no in the column in_table",
            )


def _is_header_path(answer: str, table: Table) -> bool:
    """Return whether an answer combines the headers above one column: `H1 2023`."""
    words = set(plain(answer).split())
    return any(
        words == {word for name in table.path(0, index).column for word in plain(name).split()}
        for index in range(len(table.header) if table.rows else 0)
    )


def _ambiguous(question: FolderQuestion) -> Iterator[tuple[str, str]]:
    """Yield (field, message) if a look-up fits several rows with different possible answers."""
    table, text = question.tables[0], plain(question.text)
    if _WHOLE.search(text):
        return
    named: dict[int, set[str]] = {}
    for place in range(len(table.header)):
        values = {plain(cell) for cell in _column(table, place)}
        mentioned = {value for value in values if len(value) > 1 and _says(text, value)}
        if mentioned:
            named[place] = mentioned
    rows = [
        number
        for number, row in enumerate(table.rows)
        if named and all(plain(row[place]) in values for place, values in named.items())
    ]
    answer = plain(question.answers[0])
    for place in range(len(table.header)):
        candidates = {plain(table.rows[number][place]) for number in rows}
        if place not in named and answer in candidates and len(candidates) > 1:
            hits = shortened(" and ".join(sorted(set().union(*named.values()))), 60)
            places = " and ".join(str(number + 2) for number in rows[:3])
            yield (
                "question",
                f"fits several rows: {hits!r} is in rows {places} of {question.files[0]}, with "
                f"different {shortened(str(table.header[place]), 40)!r}; say which row is meant",
            )
            return
