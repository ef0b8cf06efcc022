"""The digest of an example's content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_tablebench.datasets import Example, row_digest
from pytest_tablebench.tables.table import Table

EXAMPLE = Example(
    id="1",
    inputs={"table": Table(header=["Name", "Age"], rows=[["Sophia", 26]]), "question": "How old?"},
    question="How old?",
    references=("26",),
    target="26",
)


@pytest.mark.parametrize(
    "changes",
    [
        {"question": "How old is she?"},
        {"references": ("27",)},
        {"references": ("26", "26 years")},
        {"inputs": {"table": Table(header=["Name", "Age"], rows=[["Sophia", "26"]])}},
        {"inputs": {"table": Table(header=["Name", "Years"], rows=[["Sophia", 26]])}},
    ],
)
def test_a_changed_row_has_another_digest(changes: dict[str, Any]) -> None:
    assert row_digest(replace(EXAMPLE, **changes)) != row_digest(EXAMPLE)


def test_names_of_examples_do_not_count() -> None:
    renamed = replace(EXAMPLE, id="2", tags={"type": "lookup"})
    assert row_digest(renamed) == row_digest(EXAMPLE)
    assert len(row_digest(EXAMPLE)) == 20
