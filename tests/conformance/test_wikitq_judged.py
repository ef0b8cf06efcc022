"""Replies to WikiTableQuestions, with the verdict of the dataset's own evaluator, by class."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from pytest_tablebench import score_answer

from . import vectors

FILE = "wikitq_judged.json"

MORE_LENIENT = {
    "Answer: in front",
    "date day first",
    "date without comma",
    "day first, no year",
    "markdown bold",
    "number with thousands comma",  # where the target has none
    "sentence around it",
    "single quotes",
}
"""Classes whose replies `fixed` takes for right, and the dataset's own evaluator does not."""

STRICTER = {"cell copied: other", "list, item twice"}
"""The reverse: an item is repeated, or the unit is missing in a record without its question."""


@pytest.mark.parametrize(
    "record",
    vectors.params(
        FILE,
        lambda record: f"{record['case']}-{record['example_id']}",
        keep=lambda record: record["expected_fixed"] is not None,
    ),
)
def test_fixed_says_what_is_expected(record: dict[str, Any]) -> None:
    result = score_answer("wikitq", record["reply"], record["references"])
    assert (result.value == 1.0) is record["expected_fixed"], dict(result.parts)
    assert result.parts["unsorted_list_exact_match"] == record["expected_fixed"]


def test_fixed_and_the_official_evaluator_differ_in_named_classes_only() -> None:
    found: dict[bool, set[str]] = defaultdict(set)
    for record in vectors.load(FILE):
        right = score_answer("wikitq", record["reply"], record["references"]).value == 1.0
        if right != record["official"]:
            found[right].add(record["case"])
    assert found == {True: MORE_LENIENT, False: STRICTER}


def test_no_record_is_left_out() -> None:
    records = vectors.load(FILE)
    assert len(records) == 177
    assert sum(record["expected_fixed"] is not None for record in records) == 128
