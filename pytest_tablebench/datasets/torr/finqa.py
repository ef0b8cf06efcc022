"""FinQA as ToRR reads and asks it (spec: torr.md section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._base import (
    Example,
    Problem,
    PromptParts,
    Render,
    SourceFacts,
    render_field,
)
from pytest_tablebench.datasets._files import require_files
from pytest_tablebench.datasets._sources import RowSource, digests
from pytest_tablebench.datasets._streams import json_items
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT
from pytest_tablebench.datasets.torr._rows import BadRowError, text_field
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import printable

__all__ = ["DATASETS", "FinQA"]

TEST_FILE = "dataset/test.json"
TRAIN_FILE = "dataset/train.json"

_INDENT = "\n" + " " * 16
"""Every line of the published prompt but the first is indented as its source code is."""

_OPERATIONS = (
    ("add", "number1, number2", "number", "the sum of the two numbers"),
    ("subtract", "number1, number2", "number", "number1 less number2"),
    ("multiply", "number1, number2", "number", "the product of the two numbers"),
    ("divide", "number1, number2", "number", "number1 divided by number2"),
    ("exp", "number1, number2", "number", "number1 to the power of number2"),
    ("greater", "number1, number2", "yes or no", "whether number1 is greater than number2"),
    ("table_sum", "row name, none", "number", "the sum of a table row"),
    ("table_average", "row name, none", "number", "the mean of a table row"),
    ("table_max", "row name, none", "number", "the greatest number of a table row"),
    ("table_min", "row name, none", "number", "the smallest number of a table row"),
)


def _instruction(*, hyphens: bool) -> str:
    """Return the instruction, with table operations spelled `table-max` or `table_max`."""
    rows = [
        " | ".join((name.replace("_", "-") if hyphens else name, *rest))
        for name, *rest in _OPERATIONS
    ]
    table_names = ", ".join(row.split(" | ")[0] for row in rows[6:])
    lines = [
        "You are given a financial report, made up of text and a table, and a question about it. "
        "Write the reasoning program that computes the answer, in the small language described "
        "here.",
        "A program is one or several steps, separated by a comma and a space. Each step is an "
        "operation with two arguments in brackets: operation(argument1, argument2).",
        f"There are six arithmetic operations (add, subtract, multiply, divide, exp, greater) and "
        f"four table operations ({table_names}). A table operation takes the name of a table "
        f"row as its first argument and none as its second.",
        "The result of an earlier step is written #n, where n counts the steps from 0.",
        "For example, the growth from 80 to 92 as a share of 80 is "
        "subtract(92, 80), divide(#0, 80): the second step divides the result of the first, #0.",
        "The operations are defined as follows:",
        "Name | Arguments | Result | Meaning",
        *rows,
        "Output the program only, without its result or any explanation.",
        CLOSING,
    ]
    return _INDENT.join(lines)


INSTRUCTION = _instruction(hyphens=False)
REFERENCE_INSTRUCTION = _instruction(hyphens=True)


@dataclass(frozen=True)
class _Row:
    id: str
    before: str
    table: Table
    after: str
    question: str
    program: str
    answer: str
    exe_ans: float | str

    def example(self) -> Example:
        return Example(
            id=self.id,
            inputs={
                "pre_text": self.before,
                "table": self.table,
                "post_text": self.after,
                "question": self.question,
            },
            question=self.question,
            references=(self.program,),
            target=self.program,
            # Programs run on the table of the report, whatever arrangement the model was shown.
            context={"table": self.table, "answer": self.answer, "exe_ans": self.exe_ans},
        )


def _rows(folder: Path, file: str, problems: list[Problem], *, whole: bool) -> Iterator[_Row]:
    """Yield the usable rows of a file with more than a header; bad ones become problems.

    Reads only as far as asked: the file of demonstrations is large.
    """
    seen: set[str] = set()
    for number, entry in enumerate(islice(json_items(folder / file), SOURCE_LIMIT), start=1):
        try:
            row = _row(entry, whole=whole)
            if row is not None and row.id in seen:
                raise BadRowError("id", f"{printable(row.id, 80)!r} occurs a second time")
        except BadRowError as error:
            problems.append(Problem(file, number, error.field, error.message))
            continue
        if row is not None:
            seen.add(row.id)
            yield row


def _row(entry: Any, *, whole: bool) -> _Row | None:
    """Return a row, or None for one whose table is only a header. Raises `BadRowError`.

    `whole` says whether all of the report's text is kept, or the first piece of each part.
    """
    text = _all_of if whole else _first
    example_id = text_field(entry, "id")
    lines = _table_lines(entry.get("table"))
    if len(lines) <= 1:
        return None
    qa = entry.get("qa")
    if not isinstance(qa, dict):
        raise BadRowError("qa", "is missing" if qa is None else "must be an object")
    return _Row(
        id=example_id,
        before=text(entry, "pre_text"),
        table=Table(tuple(lines[0]), tuple(map(tuple, lines[1:])), name=example_id),
        after=text(entry, "post_text"),
        question=text_field(qa, "question"),
        program=text_field(qa, "program"),
        answer=text_field(qa, "answer", may_be_empty=True),
        exe_ans=_result(qa.get("exe_ans")),
    )


def _first(entry: dict[str, Any], name: str) -> str:
    """Return the first piece of a text: all that the published prompt shows of it."""
    pieces = entry.get(name)
    if not isinstance(pieces, list) or not pieces:
        raise BadRowError(name, "is an empty list" if pieces == [] else "must be a list of texts")
    if not isinstance(pieces[0], str):
        raise BadRowError(name, "must begin with a text")
    return pieces[0]


def _all_of(entry: dict[str, Any], name: str) -> str:
    """Return all pieces of a text, joined by blanks as FinQA's own code does."""
    pieces = entry.get(name)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise BadRowError(name, "must be a list of texts")
    return " ".join(pieces)


def _table_lines(value: Any) -> list[list[str]]:
    if not isinstance(value, list) or not all(isinstance(line, list) for line in value):
        raise BadRowError("table", "must be a list of rows")
    for number, line in enumerate(value, start=1):
        for cell in line:
            if not isinstance(cell, str):
                raise BadRowError("table", f"row {number} holds a {type(cell).__name__}, no text")
    return value


def _result(value: Any) -> float | str:
    if value in ("yes", "no"):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRowError("exe_ans", "must be a number, yes or no")
    if not math.isfinite(value):
        raise BadRowError("exe_ans", f"is {value}, no finite number")
    return value


class FinQA:
    """FinQA: a program that computes the answer from a report; five demonstrations.

    The published recipe shows the first piece of text before and behind the table. With `whole`
    all of it is shown, as FinQA's authors have it, under a name and benchmark of its own
    (`finqa_text`): its scores are none of ToRR's.
    """

    folder = "finqa"
    metric = "fin_qa"
    shots = 5
    limit: int | None = 100
    threshold = 1.0
    get = "tablebench pull finqa"

    def __init__(self, *, whole: bool = False) -> None:
        self.name = "finqa_text" if whole else "finqa"
        self.benchmark = "finqa_text" if whole else "torr"
        self._whole = whole

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - both modes read the same
    ) -> RowSource[_Row]:
        """Open the upstream checkout at `folder`."""
        require_files(folder, [TEST_FILE, TRAIN_FILE], get=self.get)
        problems: list[Problem] = []
        source = RowSource(
            _rows(folder, TEST_FILE, problems, whole=self._whole),
            lambda: list(_rows(folder, TRAIN_FILE, problems, whole=self._whole)),
            make=_Row.example,
            key=lambda row: (row.before, row.after, row.question),
            facts=lambda: SourceFacts(digests(folder, (TEST_FILE, TRAIN_FILE))),
            problems=problems,
            place=str(folder / TEST_FILE),
        )
        source.example_ids(1)  # a file that is no list of questions says so at once
        return source

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """First line; `fixed` takes the answer's marker off."""
        first = "take_first_non_empty_line"
        return (first,) if compat == "reference" else (first, "strip_answer_marker")

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction and source; only `reference` asks for names like `table-max`."""
        inputs = example.inputs
        source = _INDENT.join(
            (
                f"Pre-table text: {inputs['pre_text']}",
                f"Table: {render_field(inputs['table'], render)}",
                f"Post-table text: {inputs['post_text']}",
                f"Question: {inputs['question']}",
                "Program:",
                " " * 4,
            )
        )
        return PromptParts(INSTRUCTION, source, reference_instruction=REFERENCE_INSTRUCTION)


DATASETS = (FinQA(), FinQA(whole=True))
