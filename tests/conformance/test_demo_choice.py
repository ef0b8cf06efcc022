"""Which demonstrations are drawn for an example, and in which order."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_tablebench.datasets import Example, text_key
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.perturbations import transpose
from pytest_tablebench.strategies import DemonstrationPool
from pytest_tablebench.table import Table

from . import vectors


def example(question: str, table: dict[str, Any], *, question_first: bool = True) -> Example:
    shown = Table(table["header"], table["rows"])
    inputs: dict[str, Any] = {"question": question, "table": shown}
    if not question_first:
        inputs = {"table": shown, "question": question}
    return Example("x", inputs, question, ("1",), "1")


@dataclass
class Items:
    examples: list[Example]

    def __len__(self) -> int:
        return len(self.examples)

    def key(self, index: int) -> Hashable:
        return text_key(self.examples[index])

    def __getitem__(self, index: int) -> Example:
        return self.examples[index]


def keep(table: Table) -> Table:
    return table


@pytest.mark.parametrize(
    "record",
    vectors.params(
        "sampling.json",
        lambda record: f"{record['instance_input_fields']['question']}-k{record['num_demos']}",
        keep=lambda record: record["kind"] == "demo_choice",
    ),
)
def test_the_published_demonstrations_are_drawn(record: dict[str, Any]) -> None:
    template = record["pool_question_format"].replace("{j}", "{}")
    pool = Items(
        [example(template.format(j), record["pool_table"]) for j in range(record["pool_size"])]
    )
    fields = record["instance_input_fields"]
    asked = example(
        fields["question"], fields["table"], question_first=next(iter(fields)) == "question"
    )
    drawn = DemonstrationPool(pool, keep).draw(asked, record["num_demos"])
    assert drawn == record["expected"]
    # An item with the example's own inputs is never shown as its demonstration.
    same = [j for j, item in enumerate(pool.examples) if item.inputs == asked.inputs]
    assert record["pool_after_removing_identical"] == record["pool_size"] - len(same)
    assert not set(same) & set(drawn)


TABLE = {"header": ["Team"], "rows": [["Reds"], ["Blues"]]}


def test_later_duplicates_leave_the_pool() -> None:
    pool = Items([example(question, TABLE) for question in ("a", "b", "a", "c", "b")])
    demonstrations = DemonstrationPool(pool, keep)
    assert sorted(demonstrations.draw(example("new", TABLE), 3)) == [0, 1, 3]


def test_the_same_question_over_another_table_is_no_duplicate() -> None:
    other = {"header": ["Team"], "rows": [["Greens"]]}
    pool = Items([example("a", TABLE), example("a", other)])
    assert sorted(DemonstrationPool(pool, keep).draw(example("b", TABLE), 2)) == [0, 1]


def test_identity_is_judged_on_perturbed_tables() -> None:
    # After the change both tables are equal, so the later item is a duplicate.
    other = {"header": ["Team"], "rows": [["Blues"], ["Reds"]]}
    pool = Items([example("a", TABLE), example("a", other)])

    def change(table: Table) -> Table:
        return table.replace(rows=sorted(table.rows))

    with pytest.raises(DataError, match=r"2 demonstrations asked for, but only 1 .*--bench-shots"):
        DemonstrationPool(pool, change).draw(example("b", TABLE), 2)


RAGGED = {"header": ["Team", "Won"], "rows": [["Reds"], ["Blues", "2"]]}


def test_a_table_that_cannot_be_perturbed_fails_who_draws_it_and_nobody_else() -> None:
    pool = Items([example("a", TABLE), example("a", RAGGED), example("b", TABLE)])
    demonstrations = DemonstrationPool(pool, transpose)
    # It equals no item and no example, so it can be drawn like any other.
    assert sorted(demonstrations.draw(example("new", TABLE), 3)) == [0, 1, 2]
    asked = pool[0].with_tables(transpose)
    assert sorted(demonstrations.draw(asked, 2)) == [1, 2]
    assert demonstrations[0] == asked
    with pytest.raises(TableError):
        demonstrations[1]


def test_a_single_item_of_the_examples_words_may_have_such_a_table() -> None:
    pool = Items([example("a", RAGGED), example("b", TABLE)])
    asked = example("a", TABLE)
    assert sorted(DemonstrationPool(pool, transpose).draw(asked, 2)) == [0, 1]


def test_the_draw_depends_on_the_table_and_on_the_seed() -> None:
    pool = DemonstrationPool(Items([example(f"q{j}", TABLE) for j in range(40)]), keep)
    asked = example("new", TABLE)
    turned = example("new", {"header": ["Team"], "rows": [["Blues"], ["Reds"]]})
    draws = {
        tuple(pool.draw(asked, 5)),
        tuple(pool.draw(turned, 5)),
        tuple(pool.draw(asked, 5, seed=1)),
    }
    assert len(draws) == 3
    assert pool.draw(asked, 5) == pool.draw(asked, 5)
