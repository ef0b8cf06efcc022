"""The kind of an answer, the formats of the columns that contain it, and corrected answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pytest_tablebench.datasets._dataset import AskedDataset
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets.files import BadRowError
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.metrics.typed_answer import KINDS, answer_kind
from pytest_tablebench.metrics.typed_columns import column_format, column_texts
from pytest_tablebench.metrics.typed_numbers import Quantity, read_quantity
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import SameTable

_LOOKED_AT = 1_000
"""The number of cells per column that are read to detect percents and units."""

_UNIT = re.compile(r".*[(\[（【]\s*([^()\[\]（）【】]{1,20}?)\s*[)\]）】]\s*")
_TOLERANCE = re.compile(r"\d+(?:\.\d+)?\s*%?")


def answer_context(
    tables: Sequence[Table],
    answers: Sequence[str],
    *,
    metric: str | None,
    tolerance: str | None,
    unit: str | None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Return the context of the metric `typed_answer` for a question. Raises `BadRowError`.

    Arguments:
        tables: the question's tables.
        answers: the items of its answer.
        metric: the row's `metric`: a kind of answer or another metric; None to detect the kind.
        tolerance: the row's tolerance for a number; None for none.
        unit: the row's unit of a number; None for the unit in the column's header.
        decimal: the row's decimal sign; None to detect the column's.
    """
    if tolerance is not None and not _TOLERANCE.fullmatch(tolerance):
        raise BadRowError("tolerance", "must be a number, 0.5, or a share of the answer, 2%")
    if decimal not in {None, ".", ","}:
        raise BadRowError("decimal", "must be a point or a comma: . or ,")
    same = list(columns_with(tables, answers)) or list(_columns_with_numbers(tables, answers))
    columns = [cells for _, cells in same or _columns(tables)]
    form = column_format(columns, [cells for _, cells in _columns(tables)])
    context: dict[str, Any] = {"decimal": decimal or form.decimal, "day_first": form.day_first}
    header = next((_UNIT.fullmatch(str(name)) for name, _ in same), None)
    context["unit"] = unit or (header[1] if header else "")
    if percent := _percent(answers, columns, context["decimal"], is_cell=bool(same)):
        context["percent"] = percent
    kind = (metric or "").casefold().replace("/", "_").replace(" ", "_") or answer_kind(
        answers, decimal=context["decimal"], day_first=context["day_first"], unit=unit or ""
    )
    if metric is not None and kind not in KINDS:  # a registered metric with its own rules
        table = {"table": tables[0]} if len(tables) == 1 else {}
        return {**context, **table, "kind": metric, "tolerance": tolerance or ""}
    if len(answers) > 1 and kind not in {"list", "ordered_list"}:
        raise BadRowError("metric", f"{kind} takes one answer, the row has {len(answers)}")
    return {**context, "kind": kind, "tolerance": (tolerance or "").replace(" ", "")}


def columns_with(
    tables: Sequence[Table], answers: Sequence[str]
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield (name, cells) of each column that contains an answer, ignoring case."""
    folded = {answer.strip().casefold() for answer in answers}
    for table in tables:
        for name, cells, texts in _texts_of(SameTable(table)):
            if not folded.isdisjoint(texts):
                yield name, cells


@lru_cache(maxsize=8)  # a folder has many questions about few tables
def _texts_of(key: SameTable) -> list[tuple[Any, list[Any], frozenset[str]]]:
    return [
        (name, cells, frozenset(str(cell).strip().casefold() for cell in cells))
        for name, cells in _columns([key.table], 100_000)
    ]


def percent_note(answer: str, context: Mapping[str, Any]) -> str | None:
    """Return a note on how a number from a column in percent is read if it has no percent sign.

    Return None for any other answer.
    """
    percent = context.get("percent")
    number = read_quantity(answer, context.get("decimal", ".")) if percent else None
    if number is None or number.unit:
        return None
    value = number.value * (100 if percent == "share" else 1)
    return f"{answer} is read as {float(value):g}%, as the column is in percent"


def _percent(
    answers: Sequence[str], columns: Sequence[Sequence[Any]], decimal: str, *, is_cell: bool
) -> str:
    """Return the meaning of answers without a percent sign: "points", "share", or "".

    It is "" unless all numbers of the columns are in percent. `0.375` is a share if a cell is
    `37.5%`, and points if a cell is `0.375%`.
    """
    expected = [read_quantity(answer, decimal) for answer in answers]
    if any(number is None or number.unit or number.scale != 1 for number in expected):
        return ""
    numbers = list(_numbers(columns, decimal))
    if not numbers or any(number.unit != "%" for number in numbers):
        return ""
    values = {number.value for number in numbers}
    sizes = [number.value for number in expected if number is not None]
    if is_cell and all(size * 100 in values and size not in values for size in sizes):
        return "share"
    return "points"


def _numbers(columns: Sequence[Sequence[Any]], decimal: str) -> Iterator[Quantity]:
    for text in column_texts(columns):
        if (number := read_quantity(text, decimal)) is not None:
            yield number


def _columns_with_numbers(
    tables: Sequence[Table], answers: Sequence[str]
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield (name, cells) of each column that contains an answer's number in another notation.

    `-1200` equals the cell `(1,200)`; `37.5` and `0.375` equal the cell `37.5%`.
    """
    expected = [number for answer in answers for d in ",." if (number := read_quantity(answer, d))]
    if not expected:
        return
    columns = list(_columns(tables))
    of_tables = column_format([cells for _, cells in columns])
    for name, cells in columns:
        form = column_format([cells])
        decimal = of_tables.decimal if form.is_open else form.decimal
        for number in _numbers([cells], decimal):
            values = {number.value, number.value / 100} if number.unit == "%" else {number.value}
            if any(other.value in values for other in expected):
                yield name, cells
                break


def _columns(tables: Sequence[Table], most: int = _LOOKED_AT) -> Iterator[tuple[Any, list[Any]]]:
    for table in tables:
        for index, name in enumerate(table.header):
            yield name, [row[index] for row in table.rows[:most] if index < len(row)]


class NotCorrectableError(TableBenchError):
    """The metric of an example cannot score other answers; the message is the reason."""


_STRUCTURED: Mapping[str, str] = {
    "facts": "its gold is a list of facts",
    "fin_qa": "its gold is a program",
    "realhit_chart": "its gold is a chart",
    "tablebench_chart": "its gold is a chart",
    "treb_instruction": "its gold is a rule",
}
"""The metrics whose gold is not a plain answer, and the reason to leave their examples out."""

_ONE_TEXT = ("tab_fact", "turl")
"""The metrics that compare with the first reference only, which contains all items."""


def with_answers(form: AskedDataset, example: Example, answers: Sequence[str]) -> Example:
    """Return an example with other expected answers, before any perturbation.

    As for references, the metric decides whether several answers are items of one answer or
    alternatives. Values in the context that were derived from the published answer are derived
    again; those that the dataset states stay.

    Arguments:
        form: the dataset in the form that decides the metric.
        example: the example with the published gold.
        answers: at least one.

    Raises `NotCorrectableError` if the metric needs more than plain answers.
    """
    metric = form.for_example(example).metric
    reason = _STRUCTURED.get(str(metric))
    if reason is not None:
        raise NotCorrectableError(reason)
    references = tuple(answers)
    if metric in _ONE_TEXT and len(references) > 1:
        references = (", ".join(references),)
    return replace(
        example,
        references=references,
        target=", ".join(answers),
        context=_context(metric, example, references),
    )


def _context(metric: str | None, example: Example, answers: Sequence[str]) -> dict[str, Any]:
    context = dict(example.context)
    aliases = context.get("aliases")
    if isinstance(aliases, Mapping):
        context["aliases"] = {text: aliases[text] for text in answers if text in aliases}
    if metric == "fin_qa_value":
        context |= {"answer": answers[0], "exe_ans": _value(answers[0])}
    if metric == "typed_answer" and "kind" in context:
        context = _typed(context, example, answers)
    return context


def _value(text: str) -> float | str:
    """Return an answer of FinQA as its programs compute it: `12.5%` is 0.125."""
    plain = text.strip().lower()
    if plain in {"yes", "no"}:
        return plain
    try:
        value = float(plain.removesuffix("%").replace(",", "").replace("$", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise NotCorrectableError("the corrected answer is no number")
    return round(value / 100 if plain.endswith("%") else value, 5)


def _typed(context: dict[str, Any], example: Example, answers: Sequence[str]) -> dict[str, Any]:
    """Return the context of `typed_answer` with the kind of the new answers.

    Only entries that equal those derived from the published answer are replaced.
    """
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    tolerance = context.get("tolerance") or None
    facts: dict[str, Any] = {"metric": None, "tolerance": tolerance, "unit": None}
    try:
        before = answer_context(tables, example.references, **facts)
        after = answer_context(tables, answers, **facts)
    except BadRowError as error:
        raise NotCorrectableError(f"the corrected answer has no kind: {error}") from None
    derived = {name for name in {*before, *after} if context.get(name) == before.get(name)}
    kept = {name: value for name, value in context.items() if name not in derived}
    context = {**kept, **{name: value for name, value in after.items() if name in derived}}
    if len(answers) > 1 and context["kind"] not in {"list", "ordered_list"}:
        context["kind"] = "list"
    return context
