"""Replays of further benchmarks' records: TAT-QA's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_tablebench.metrics._tatqa import ScaledAnswer, em_and_f1

from .replay import Record, differences, replays


@replays("tatqa.answer")
def answer(record: Record) -> Iterator[str]:
    """Exact match and F1 of one question."""
    gold = record["gold"]
    reply = ScaledAnswer(texts(record["prediction"]), record["scale"])
    em, f1 = em_and_f1(texts(gold["answer"]), gold["scale"], gold["answer_type"], reply)
    yield from differences({"em": em, "f1": f1}, record["expected"])


def texts(value: Any) -> list[str]:
    """The texts of an answer, which is a list, a text or a number."""
    return [str(item) for item in (value if isinstance(value, list) else [value])]
