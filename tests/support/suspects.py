"""Suspects and judged cases for tests of audit pages and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.audit.suspects import AnswerGroup, Evidence, Suspect
from pytest_tablebench.results.labelled_cases import LabelCase

HEADER = ["Year", "Team", "Points", "Goals"]


def table(rows: int = 5, columns: int = 4, title: str | None = "Results") -> dict[str, Any]:
    """Return a table whose cells contain their row and column."""
    header = [HEADER[n] if n < len(HEADER) else f"Column {n}" for n in range(columns)]
    lines = [[str(1990 + row), *(f"r{row}c{n}" for n in range(1, columns))] for row in range(rows)]
    return {"title": title, "header": header, "rows": lines}


def suspect(number: int = 0, **changes: Any) -> Suspect:
    """Return a suspect of which two models say 42 and one the gold."""
    values: dict[str, Any] = {
        "dataset": "wikitq",
        "example_id": f"nu-{number}",
        "digest": f"{number:020x}",
        "question": f"How many points had team {number} in 1992?",
        "tables": (table(),),
        "gold": ("17",),
        "suspicion": 0.9,
        "evidence": (
            Evidence("agreement", "Three of four models agree on 42.", "42", 2.2),
            Evidence("program", "A program over the table gives 42.", "42", 1.1),
            Evidence("unit", "No factor between the answers.", None, -0.4),
        ),
        "groups": (
            AnswerGroup("42", 3, ("model-a", "model-b (pot)", "model-c"), is_gold=False),
            AnswerGroup("17", 1, ("model-d",), is_gold=True),
        ),
        "cells": ((0, 2, 2),),
    }
    return Suspect(**(values | changes))


def label_case(number: int = 0, **changes: Any) -> LabelCase:
    """Return a judged case with the mark 0.7."""
    values: dict[str, Any] = {
        "case_id": f"realhit_da/{number}/html/none",
        "dataset": "realhit_da",
        "question": f"What does table {number} show?",
        "tables": (table(),),
        "references": ("The points rise.",),
        "reply": f"Reply {number}: the points rise from r0c2 to r4c2.",
        "judge_mark": 0.7,
    }
    return LabelCase(**(values | changes))


def many(count: int, rows: int = 30, columns: int = 8) -> Sequence[Suspect]:
    """Return suspects of three datasets, each with a table of its own."""
    return [
        suspect(
            number,
            dataset=("wikitq", "finqa", "tablebench_nr")[number % 3],
            tables=(table(rows, columns, f"Table {number}"),),
            suspicion=1 - number / count,
        )
        for number in range(count)
    ]
