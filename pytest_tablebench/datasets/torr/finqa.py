"""FinQA as ToRR reads and asks it (spec: torr.md section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_tablebench.datasets._dataset import AnswerForm, PromptParts, Render
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, json_items, text_field
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT, ToRR
from pytest_tablebench.tables.table import Table

_INDENT = "\n" + " " * 16
"""The published prompt contains the indentation of its source code in every line but the first."""


def _example(entry: Any, *, whole: bool) -> Example | None:
    """Return a row's example, or None if its table has only a header. Raises `BadRowError`.

    With `whole` it has all of the report's text, otherwise the first piece before the table and the
    first piece after it.
    """
    text = _all_of if whole else _first
    example_id = text_field(entry, "id")
    lines = _table_lines(entry.get("table"))
    if len(lines) <= 1:
        return None
    qa = entry.get("qa")
    if not isinstance(qa, dict):
        raise BadRowError("qa", "is missing" if qa is None else "must be an object")
    table = Table(tuple(lines[0]), tuple(map(tuple, lines[1:])), name=example_id)
    before, after = text(entry, "pre_text"), text(entry, "post_text")
    question, program = text_field(qa, "question"), text_field(qa, "program")
    answer = text_field(qa, "answer", may_be_empty=True)
    return Example(
        id=example_id,
        inputs={"pre_text": before, "table": table, "post_text": after, "question": question},
        question=question,
        references=(program,),
        target=program,
        # Programs run on the report's table, even if the prompt shows a rearranged one.
        context={"table": table, "answer": answer, "exe_ans": _result(qa.get("exe_ans"))},
        # A page of a report. An id consists of the page and the number of the question.
        cluster=entry.get("filename") or example_id.rpartition("-")[0] or example_id,
    )


def _first(entry: dict[str, Any], name: str) -> str:
    """Return the first piece of a text; the published prompt shows no more of it."""
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
                raise BadRowError("table", f"row {number} contains {type(cell).__name__}, not text")
    return value


def _result(value: Any) -> float | str:
    if value in ("yes", "no"):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRowError("exe_ans", "must be a number, yes or no")
    if not math.isfinite(value):
        raise BadRowError("exe_ans", f"is {value}, not a finite number")
    return value


class FinQA(ToRR[Example], section="finqa"):
    """FinQA: a program that computes the answer from a report; five demonstrations.

    The published recipe shows the first piece of text before and after the table. With `whole` the
    prompt shows all text, as FinQA's authors do. That is a separate dataset and benchmark
    (`finqa_text`), because its scores are not ToRR's.
    """

    value_instruction: str
    """The instruction for prompts that ask for the value, not for a program in FinQA's language."""

    def __init__(self, *, whole: bool = False) -> None:
        self.name = "finqa_text" if whole else "finqa"
        self.benchmark = "finqa_text" if whole else "torr"
        self._whole = whole
        self.instruction = _INDENT.join(self.instruction.split("\n"))
        self.source = _INDENT.join(self.source.split("\n"))
        # Only `reference` asks for names like `table-max`.
        self.reference_instruction = self.instruction.replace("table_", "table-")
        value = AnswerForm(
            "the value alone, which is a number without a unit, or yes or no",
            chain=self.fixed_chain,
            metric="fin_qa_value",
            prompt=self._value_prompt,
            note="where a program of Python gives the answer, its value is judged, and no program "
            "in FinQA's own language is compared: such scores are execution accuracies",
        )
        self.answer_forms = {"printed": value, "box": value}

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterator[Example]:
        """Yield the rows whose table has more than a header; read the large file only as needed."""
        items, build = json_items(opened.folder / files[0]), partial(_example, whole=self._whole)
        return opened.usable(files[0], items, build, most=SOURCE_LIMIT)

    def _value_prompt(self, example: Example, render: Render) -> PromptParts:
        parts = self.prompt(example, render)
        instruction = self.value_instruction + CLOSING
        return replace(parts, instruction=instruction, reference_instruction=None)


DATASETS = (FinQA(), FinQA(whole=True))
