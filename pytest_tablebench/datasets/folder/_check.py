"""Checks of datasets in folders for mistakes that would distort their scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets._source import Problem
from pytest_tablebench.datasets.answers import columns_with, percent_note
from pytest_tablebench.datasets.described import DescribedDataset
from pytest_tablebench.datasets.folder._check_tables import (
    ambiguous_date,
    column_of,
    is_number,
    of_table,
)
from pytest_tablebench.datasets.folder._dataset import FolderDataset
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.metrics import METRICS
from pytest_tablebench.metrics.typed_answer import KINDS, answer_kind
from pytest_tablebench.metrics.typed_columns import column_format
from pytest_tablebench.metrics.typed_dates import read_moment
from pytest_tablebench.metrics.typed_numbers import read_quantity
from pytest_tablebench.tables.hierarchy.paths import plain
from pytest_tablebench.tables.perturbations import PERTURBATIONS
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import SameTable
from pytest_tablebench.util.names import shortened, unknown_name

_MOST_NOTES = 10
_ORDINAL = (
    r"(?:first|second|third|fourth|fifth|last|next|previous|top|bottom|\d{1,6}(?:st|nd|rd|th))"
)
_PLACES = {
    "shuffle_rows": re.compile(
        rf"\b{_ORDINAL} (?:\w+ )?(?:row|line|entry|record)\b|\b(?:row|line) \d"
        r"|\b(?:first|last) \d+ (?:rows|lines|entries|records)\b|\brow (?:above|below)\b"
        r"|\b(?:ersten?|letzten?|\d+\.) (?:Zeile|Reihe)|\b(?:première|dernière) ligne"
        r"|第.{1,3}行|[上下前后最]一?行|最后.{0,2}行",
        re.IGNORECASE,
    ),
    "shuffle_cols": re.compile(
        rf"\b{_ORDINAL} (?:\w+ )?column\b|\bcolumn \d|\b(?:ersten?|letzten?) Spalte"
        r"|\b(?:première|dernière) colonne|第.{1,3}列",
        re.IGNORECASE,
    ),
}
"""Patterns of positions named in questions, by the perturbation that moves the position."""
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
    prefix = "" if dataset.folder == "." else f"{dataset.folder}/"
    file = shortened(f"{prefix}{dataset.question_file}", 120)
    all_problems = list(source.problems)
    settings = shortened(f"{prefix}tablebench.toml", 120)
    all_problems += [
        Problem(settings, None, *problem) for problem in _of_settings(dataset, names or {})
    ]
    tables = {name: table for q in questions for name, table in zip(q.files, q.tables, strict=True)}
    for name, table in tables.items():
        label = shortened(f"{prefix}{name}", 120)
        all_problems += [Problem(label, *problem) for problem in of_table(table)]
    first_rows: dict[tuple[object, ...], int] = {}
    for question in questions:
        key = (plain(question.text), question.files)
        first = first_rows.setdefault(key, question.number)
        problems = [
            *_of_question(question, names or {}),
            *_of_wording(question, dataset.perturbations),
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


def _of_settings(
    dataset: Dataset, names: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for each unknown name in the settings."""
    for field, kind, declared in (
        ("serializers", "serializer", dataset.serializers),
        ("perturbations", "perturbation", dataset.perturbations),
        ("strategy", "strategy", dataset.strategy),
    ):
        for name in (declared,) if isinstance(declared, str) else declared:
            if field in names and name.partition("[")[0] not in names[field]:
                yield field, unknown_name(kind, name, sorted(names[field]))


def check_described(
    dataset: DescribedDataset, folder: Path, names: Mapping[str, Collection[str]]
) -> FolderCheck:
    """Check a description, and the rows that are read with it.

    `names` has the valid names of each axis, of metrics (`metric`) and of post-processors
    (`chain`).
    """
    file = dataset.file_name()
    problems = [Problem(file, None, *problem) for problem in _of_settings(dataset, names)]
    scoring = dataset.description.scoring
    named = [("metric", "metric", scoring.metric)]
    named += [("chain", "post-processor", name) for name in scoring.chain]
    for field, kind, name in named:
        if name not in names[field]:
            problems.append(Problem(file, None, field, unknown_name(kind, name, names[field])))
    try:
        source = dataset.open(folder)
        count = len(source.example_ids(None))
    except TableBenchError as error:
        problems.append(Problem(file, None, "files", shortened(str(error), 300)))
        return FolderCheck(tuple(problems), {}, ())
    problems += source.problems
    if not count and not problems:
        problems.append(Problem(file, None, "rows", "no row is used"))
    return FolderCheck(tuple(problems), {scoring.metric: count}, source.facts.notes)


def _of_question(
    question: FolderQuestion, names: Mapping[str, Collection[str]]
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
        yield from _absent(question)
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


@lru_cache(maxsize=64)
def _plain_cells(key: SameTable) -> frozenset[str]:
    rows = (key.table.header, *key.table.rows)
    return frozenset(plain(cell) for row in rows for cell in row)


def _absent(question: FolderQuestion) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for each answer that is a text but equals no cell."""
    cells = frozenset().union(*(_plain_cells(SameTable(table)) for table in question.tables))
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
                if (column := column_of(table, index)) and all(map(is_number, column))
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
    for index in range(len(table.header)):
        values = {plain(cell) for cell in column_of(table, index)}
        mentioned = {value for value in values if len(value) > 1 and _says(text, value)}
        if mentioned:
            named[index] = mentioned
    rows = [
        number
        for number, row in enumerate(table.rows)
        if named and all(plain(row[index]) in values for index, values in named.items())
    ]
    answer = plain(question.answers[0])
    for index in range(len(table.header)):
        candidates = {plain(table.rows[number][index]) for number in rows}
        if index not in named and answer in candidates and len(candidates) > 1:
            hits = shortened(" and ".join(sorted(set().union(*named.values()))), 60)
            places = " and ".join(str(number + 2) for number in rows[:3])
            yield (
                "question",
                f"fits several rows: {hits!r} is in rows {places} of {question.files[0]}, with "
                f"different {shortened(str(table.header[index]), 40)!r}; say which row is meant",
            )
            return


def _of_wording(
    question: FolderQuestion, perturbations: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for positions named in a question and for answers without a verdict.

    `perturbations` are the dataset's; empty for the defaults.
    """
    allowed = question.perturbations or tuple(perturbations)
    for perturbation, pattern in _PLACES.items():
        match = pattern.search(question.text) if question.tables else None
        if match and (not allowed or perturbation in allowed):
            yield (
                "perturbations",
                f"asks for {shortened(match[0], 40)!r}, which {perturbation} moves; write none, or "
                f"the perturbations that keep the answer right",
            )
    if question.context["kind"] in {"number", "list", "ordered_list"} and question.decimal is None:
        yield from _open_columns(question)
    if question.context["kind"] == "free_text":
        yield (
            "answer",
            "is free text, and is compared by its words, which cannot tell a negation from a true "
            "paraphrase: it has a score and no verdict. Name facts in the columns must and "
            "must_not, or have a judge score it: metric realhit_judged with --bench-judge=NAME",
        )
    if (
        question.context["kind"] in {"text", "number", "date"}
        and question.context["day_first"] is None
    ):
        for answer in question.answers:
            if ambiguous_date([answer]) is not None:
                yield (
                    "answer",
                    f"{shortened(answer, 40)!r} can be read in two ways; write it as 2024-05-03",
                )


def _open_columns(question: FolderQuestion) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for the first column of numbers that can be read in two ways.

    The column contains the answer, or the question names it.
    """
    text = question.text.casefold()
    answered = {str(name) for name, _ in columns_with(question.tables, question.answers)}
    for table in question.tables:
        columns = [
            [row[index] for row in table.rows if index < len(row)]
            for index in range(len(table.header))
        ]
        for name, cells in zip(map(str, table.header), columns, strict=True):
            is_meant = name in answered or (name and not answered and name.casefold() in text)
            if not is_meant or not column_format([cells], columns).is_open:
                continue
            cell = next(str(cell) for cell in cells if column_format([[cell]]).is_open)
            yield (
                "decimal",
                f"{shortened(cell, 40)!r} in {shortened(name, 40)!r} can be read in two ways, as "
                f"no cell shows the decimal sign; give it in a column decimal: a point, or a comma",
            )
            return
