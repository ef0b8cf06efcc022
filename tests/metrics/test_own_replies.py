"""Replies to questions over user tables, each with a verdict by a person."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import Table, score
from pytest_tablebench.datasets.answers import answer_context

FILE = Path(__file__).with_name("own_replies.csv")


def replies() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def judged(row: dict[str, str]) -> tuple[str, float]:
    """Return kind and score of a reply, with the context of a folder dataset."""
    table = Table([row["column"]], [[cell] for cell in row["cells"].split(" | ")])
    answers = row["answer"].split(" | ")
    settings = dict(part.split("=") for part in row["settings"].split(";") if part)
    aliases = {answers[0]: settings.pop("aliases").split(",")} if "aliases" in settings else {}
    named = {name: settings.get(name) for name in ("metric", "tolerance", "unit")}
    context: dict[str, Any] = answer_context([table], answers, **named)
    context |= {"aliases": aliases, "question": row["question"], "table 1": table}
    reply = row["reply"].replace("⏎", "\n")
    return context["kind"], score("typed_answer", reply, answers, **context).value


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"line-{line}") for line, row in enumerate(replies(), 2)]
)
def test_a_reply_has_the_verdict_of_a_person(row: dict[str, str]) -> None:
    assert judged(row) == (row["kind"], float(row["verdict"] == "right")), row["why"]


def test_the_set_is_large_and_strict() -> None:
    rows = replies()
    verdicts = Counter(row["verdict"] for row in rows)
    assert len(rows) >= 300
    assert set(verdicts) == {"right", "wrong"}
    assert verdicts["wrong"] >= 0.4 * len(rows)
    assert {row["language"] for row in rows} >= {"en", "de", "fr", "zh"}
    assert len({tuple(row.values())[:8] for row in rows}) == len(rows)
