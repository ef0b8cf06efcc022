"""Which demonstrations are drawn for an example, and in which order."""

from __future__ import annotations

import pytest

from pytest_tablebench.errors import TableError
from pytest_tablebench.strategies import DemonstrationPool
from pytest_tablebench.tables.perturbations._arrangements import transpose
from pytest_tablebench.tables.table import Table

from .torr import Items, item


def keep(table: Table) -> Table:
    return table


TABLE = {"header": ["Team"], "rows": [["Reds"], ["Blues"]]}


def test_later_duplicates_leave_the_pool() -> None:
    pool = Items([item(question, TABLE) for question in ("a", "b", "a", "c", "b")])
    demonstrations = DemonstrationPool(pool, keep)
    assert sorted(demonstrations.draw(item("new", TABLE), 3)) == [0, 1, 3]


def test_the_same_question_over_another_table_is_no_duplicate() -> None:
    other = {"header": ["Team"], "rows": [["Greens"]]}
    pool = Items([item("a", TABLE), item("a", other)])
    assert sorted(DemonstrationPool(pool, keep).draw(item("b", TABLE), 2)) == [0, 1]


def test_identity_is_judged_on_perturbed_tables() -> None:
    # After the change both tables are equal, so the later item is a duplicate.
    other = {"header": ["Team"], "rows": [["Blues"], ["Reds"]]}
    pool = Items([item("a", TABLE), item("a", other)])

    def change(table: Table) -> Table:
        return table.replace(rows=sorted(table.rows))

    assert len(DemonstrationPool(pool, change).draw(item("b", TABLE), 2)) == 1
    assert len(DemonstrationPool(pool, keep).draw(item("b", TABLE), 2)) == 2


RAGGED = {"header": ["Team", "Won"], "rows": [["Reds"], ["Blues", "2"]]}


def test_a_table_that_cannot_be_perturbed_fails_who_draws_it_and_nobody_else() -> None:
    pool = Items([item("a", TABLE), item("a", RAGGED), item("b", TABLE)])
    demonstrations = DemonstrationPool(pool, transpose)
    # It equals no item and no example, so it can be drawn like any other.
    assert sorted(demonstrations.draw(item("new", TABLE), 3)) == [0, 1, 2]
    asked = pool[0].with_tables(transpose)
    assert sorted(demonstrations.draw(asked, 2)) == [1, 2]
    assert demonstrations[0] == asked
    with pytest.raises(TableError):
        demonstrations[1]


def test_a_single_item_of_the_examples_words_may_have_such_a_table() -> None:
    pool = Items([item("a", RAGGED), item("b", TABLE)])
    asked = item("a", TABLE)
    assert sorted(DemonstrationPool(pool, transpose).draw(asked, 2)) == [0, 1]


def test_the_draw_depends_on_the_table_and_on_the_seed() -> None:
    pool = DemonstrationPool(Items([item(f"q{j}", TABLE) for j in range(40)]), keep)
    asked = item("new", TABLE)
    turned = item("new", {"header": ["Team"], "rows": [["Blues"], ["Reds"]]})
    draws = {
        tuple(pool.draw(asked, 5)),
        tuple(pool.draw(turned, 5)),
        tuple(pool.draw(asked, 5, seed=1)),
    }
    assert len(draws) == 3
    assert pool.draw(asked, 5) == pool.draw(asked, 5)
