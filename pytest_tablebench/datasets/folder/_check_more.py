"""Checks of settings, cells and the wording of questions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets.answers import columns_with
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.metrics.typed_columns import column_format
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened, unknown_name

ERRORS = frozenset(
    ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!")
)
"""The values that spreadsheet programs show for failed formulas."""

_MOST_CHARACTERS = 32_767
"""The most characters in a cell of an Excel workbook; a longer cell is probably a mistake."""

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

_SLASHES = re.compile(r"\s*(\d{1,2})[/-](\d{1,2})[/-]\d{4}\b.{0,20}")


def of_settings(
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


def of_cells(table: Table) -> Iterator[tuple[int | None, str, str]]:
    """Yield (row, field, message) for cells that are probably misread or ambiguous."""
    if len(table.header) == 1 and "|" in str(table.header[0]):
        yield 1, "separator", "looks separated by |; write the file with commas"
    for number, row in enumerate(table.rows, start=2):
        for index, cell in enumerate(row):
            if isinstance(cell, str) and len(cell) > _MOST_CHARACTERS:
                name = str(table.header[index]) if index < len(table.header) else ""
                yield (
                    number,
                    shortened(name, 40) or f"column {index + 1}",
                    f"has a cell of {len(cell):,} characters; was a quote left open?",
                )
    for index, name in enumerate(table.header):
        column = [row[index] for row in table.rows if index < len(row)]
        example = _ambiguous_date(column)
        if example is not None:
            yield (
                None,
                shortened(str(name), 40) or f"column {index + 1}",
                f"dates such as {example!r} can be read in two ways; write them as 2024-05-03",
            )


def _ambiguous_date(column: Sequence[Any]) -> str | None:
    """Return the first date of a column whose day and month could be swapped.

    Return None if there is none, or if another date of the column shows which part is the day.
    """
    example = None
    for cell in column:
        match = _SLASHES.fullmatch(cell) if isinstance(cell, str) and len(cell) < 40 else None
        if match is None:
            continue
        first, second = int(match[1]), int(match[2])
        if first > 12 or second > 12:
            return None
        if first != second and example is None:
            example = cell.strip()
    return example


def of_wording(
    question: FolderQuestion, perturbations: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for positions named in a question and for answers without a verdict.

    `perturbations` are the dataset's; empty for the defaults.
    """
    allowed = question.perturbations or tuple(perturbations)
    for perturbation, place in _PLACES.items():
        match = place.search(question.text) if question.tables else None
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
            if _ambiguous_date([answer]) is not None:
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
