"""The perturbations of ToRR's grid."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.perturbations import GRID, PERTURBATIONS, parse_perturbation, perturb
from pytest_tablebench.tables.table import Table
from tests.support.matrix import draws

CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just("")
)
NAMES = st.one_of(st.sampled_from(["a", "b", "", " "]), st.text(max_size=4))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw rectangular tables with repeated names and cells of every type."""
    width = draw(st.integers(1, 5))
    header = draw(st.lists(NAMES, min_size=width, max_size=width))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6))
    return Table(header, rows)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "duplicate_rows": {"row_indices": [], "times": 2},
    "duplicate_columns": {"column_indices": [0], "times": 2},
    "truncate_rows": {"rows_to_keep": 2},
}


def run(name: str, table: Table, seed: int = 0) -> Table:
    return perturb(table, name, seed=seed, **ARGUMENTS.get(name, {}))


def row_facts(table: Table) -> list[Any]:
    """Return per row the multiset of (column name, value), independent of the column order.

    repr keeps 1, 1.0, True and "1" apart and makes NaN equal to itself.
    """
    return [
        frozenset(Counter(zip(map(repr, table.header), map(repr, row), strict=True)).items())
        for row in table.rows
    ]


def numbered_facts(table: Table) -> Counter[tuple[int, str, str]]:
    """Return the multiset of (row number, column name, value)."""
    return Counter(
        (number, repr(name), repr(value))
        for number, row in enumerate(table.rows)
        for name, value in zip(table.header, row, strict=True)
    )


@given(tables(), st.integers(0, 5))
def test_none_keeps_the_table(table, seed):
    assert run("none", table, seed) == table


@given(tables(), st.integers(0, 5))
def test_shuffled_rows_are_the_same_rows(table, seed):
    # A row is identified by its content: whole rows move, and the column order is kept.
    result = run("shuffle_rows", table, seed)
    assert result.header == table.header
    assert Counter(map(repr, result.rows)) == Counter(map(repr, table.rows))


@given(tables(), st.integers(0, 5))
def test_shuffled_columns_keep_the_facts_of_each_row(table, seed):
    # Rows keep their numbers, so the facts are equal by row number.
    result = run("shuffle_cols", table, seed)
    assert row_facts(result) == row_facts(table)
    assert numbered_facts(result) == numbered_facts(table)
    columns = Counter(repr(column) for column in zip(table.header, *table.rows, strict=True))
    assert columns == Counter(repr(c) for c in zip(result.header, *result.rows, strict=True))


@given(tables(), st.integers(0, 5))
def test_transposing_keeps_the_facts_with_rows_and_columns_swapped(table, seed):
    # A transposed row starts with the column name, and the header has the row numbers.
    result = run("transpose", table, seed)
    assert result.header == (" ", *(str(number) for number in range(len(table.rows))))
    facts = Counter(
        (int(number), repr(line[0]), repr(value))
        for line in result.rows
        for number, value in zip(result.header[1:], line[1:], strict=True)
    )
    assert facts == numbered_facts(table)
    assert [line[0] for line in result.rows] == list(table.header)


@given(tables(), st.integers(0, 5), st.integers(0, 4))
def test_inserted_rows_add_only_empty_text(table, seed, times):
    # The old rows keep their order, with `times` empty rows between them. So the old facts are
    # kept, with a row identified by its rank among the old rows.
    result = perturb(table, "insert_empty_rows", seed=seed, times=times)
    assert result.header == table.header
    assert len(result.rows) == len(table.rows) + times
    old, inserted = list(map(repr, table.rows)), 0
    for row in result.rows:
        if old and repr(row) == old[0]:
            old.pop(0)
        else:
            assert row == ("",) * len(table.header)
            inserted += 1
    assert (old, inserted) == ([], times)


def test_empty_rows_reach_every_position():
    table = Table(["a"], [["x"], ["y"]])
    found = {
        tuple(
            index
            for index, row in enumerate(perturb(table, "insert_empty_rows", seed=seed).rows)
            if row == ("",)
        )
        for seed in range(200)
    }
    assert found == {(i, j) for i in range(4) for j in range(i + 1, 4)}


@pytest.mark.parametrize("name", ["shuffle_rows", "shuffle_cols", "shuffle_cols_names"])
def test_every_order_is_drawn(name):
    table = Table(["a", "b", "c"], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert len({run(name, table, seed) for seed in range(200)}) == 6


@given(tables(), st.integers(0, 3))
def test_duplicated_rows_and_columns_are_next_to_their_originals(table, times):
    columns = perturb(table, "duplicate_columns", column_indices=[0], times=times)
    assert columns.header == (table.header[0],) * times + table.header[1:]
    assert repr(columns.rows) == repr(tuple((row[0],) * times + row[1:] for row in table.rows))
    if table.rows:
        last = len(table.rows) - 1
        rows = perturb(table, "duplicate_rows", row_indices=[last], times=times)
        assert rows.header == table.header
        assert repr(rows.rows) == repr(table.rows[:last] + (table.rows[last],) * times)


@given(tables(), st.integers(0, 8), st.integers(0, 5))
def test_truncated_rows_are_a_subsequence(table, keep, seed):
    result = perturb(table, "truncate_rows", seed=seed, rows_to_keep=keep)
    assert result.header == table.header
    assert len(result.rows) == min(keep, len(table.rows))
    remaining = iter(map(repr, table.rows))
    assert all(repr(row) in remaining for row in result.rows)


@given(tables())
def test_masked_and_shuffled_names_keep_the_cells(table):
    masked = run("mask_cols_names", table)
    assert masked.header == tuple(f"Col{n}" for n in range(1, len(table.header) + 1))
    shuffled = run("shuffle_cols_names", table)
    assert Counter(shuffled.header) == Counter(table.header)
    assert repr(masked.rows) == repr(shuffled.rows) == repr(table.rows)


@pytest.mark.parametrize("name", sorted({*PERTURBATIONS} - {"counterfactual"}))
@settings(max_examples=draws(40))
@given(table=tables(), seed=st.integers(0, 3))
def test_the_input_is_never_changed(name, table, seed):
    header, rows = table.header, table.rows
    before = repr(table)
    run(name, table, seed)
    assert table.header is header
    assert table.rows is rows
    assert repr(table) == before


@pytest.mark.parametrize("name", sorted({*PERTURBATIONS} - {"counterfactual"}))
def test_global_random_state_is_neither_read_nor_changed(name):
    table = Table(list("abcd"), [[f"{row}{column}" for column in range(4)] for row in range(9)])
    saved = random.getstate()
    try:
        results = []
        for number in (1, 2):
            random.seed(number)
            before = random.getstate()
            results.append(run(name, table, seed=7))
            assert random.getstate() == before
        assert results[0] == results[1]
    finally:
        random.setstate(saved)


@pytest.mark.parametrize("name", sorted({*PERTURBATIONS} - {"counterfactual"}))
def test_title_and_name_are_kept(name):
    result = run(name, Table(["a", "b"], [[1, 2], [3, 4], [5, 6]], "title", name="t.csv"))
    assert (result.title, result.name) == ("title", "t.csv")


@pytest.mark.parametrize("name", ["shuffle_cols", "transpose", "duplicate_columns"])
def test_a_short_row_is_refused_if_columns_move(name):
    with pytest.raises(TableError, match=rf"table 't': row 2 has 1 cell.*'{name}'"):
        run(name, Table(["a", "b"], [[1, 2], [3]], name="t"))


@pytest.mark.parametrize("name", ["none", "shuffle_rows", "insert_empty_rows", "truncate_rows"])
def test_ragged_rows_move_as_a_whole(name):
    table = Table(["a", "b"], [[1, 2], [3], [4, 5, 6]])
    kept = [row for row in run(name, table).rows if row != ("", "")]
    assert set(kept) <= set(table.rows)
    assert len(kept) == (2 if name == "truncate_rows" else 3)


def test_the_grid_equals_the_published_one():
    assert GRID == ("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows")
    assert set(GRID) <= set(PERTURBATIONS)


def test_arguments_in_the_name_reach_the_perturbation():
    table = Table(["a"], [[1], [2], [3]])
    assert perturb(table, " duplicate_rows[ row_indices=[0, 2], times=2 ] ").rows == (
        ((1,), (1,), (2,), (3,), (3,))
    )
    assert len(perturb(table, "insert_empty_rows[times=5]").rows) == 8
    assert perturb(table, "shuffle_rows[]") == perturb(table, "shuffle_rows")


@pytest.mark.parametrize(
    "text",
    [
        "x[a=__import__('os')]",
        "x[a=__import__('os').system('echo hit')]",
        "x[a=().__class__.__bases__]",
        "x[a=[b for b in (1,)]]",
        "x[a=(lambda: 1)()]",
        "x[a=f'{1}']",
        "x[a=(b:=1)]",
        "x[a=1)(b=2]",
        "x[a=1) or f(b=2]",
        "x[**{'a': 1}]",
        "x[*[1]]",
        "x[1]",
        "x[a]",
        "x[a=1,a=2]",
        "x[a={[]: 1}]",
        "x[a=1]]",
        "x[a=1]; import os",
        "x[a=1#]",
        "x[a=1is 1]",
        "x[\x00]",
        "x[a='\ud800']",
        "x[a=" + "[" * 200 + "]" * 200 + "]",
        "x[a=" + "(" * 50_000 + ")" * 50_000 + "]",
        "x[a=" + "-" * 900 + "1]",
        "x[a=" + "1+" * 400 + "1]",
        "x[a=" + "9" * 900_000 + "]",
        "x[a='" + "y" * 1_000_000 + "']",
        "y" * 1_000_000,
        "x\x1b[31m",
        "-",
        "",
    ],
    ids=lambda text: ascii(text)[1:30],
)
def test_hostile_text_is_refused_and_escaped(text):
    with pytest.raises(SettingsError) as caught:
        parse_perturbation(text)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 400


def test_arguments_are_never_evaluated(tmp_path):
    target = tmp_path / "hit"
    with pytest.raises(SettingsError):
        perturb(Table(["a"], [[1]]), f"truncate_rows[rows_to_keep=open({str(target)!r}, 'w')]")
    assert not target.exists()


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused(text):
    try:
        name, arguments = parse_perturbation(f"x[{text}]")
    except SettingsError:
        return
    assert name == "x"
    assert all(isinstance(key, str) for key in arguments)


def test_unknown_names_and_arguments_are_settings_errors():
    table = Table(["a"], [[1]])
    with pytest.raises(SettingsError, match="did you mean 'transpose'"):
        perturb(table, "transpoze")
    with pytest.raises(SettingsError, match="unknown argument 'tims'; did you mean 'times'"):
        perturb(table, "insert_empty_rows[tims=3]")
    with pytest.raises(SettingsError, match="'seed'"):
        perturb(table, "shuffle_rows[seed=3]")


@pytest.mark.parametrize(
    "text",
    [
        "insert_empty_rows[times='a']",
        "insert_empty_rows[times=-1]",
        "insert_empty_rows[times=True]",
        "duplicate_rows[row_indices=[0],times=1.5]",
        "duplicate_columns[column_indices=[0],times=None]",
        "duplicate_rows[row_indices=5]",
        "truncate_rows[rows_to_keep=-1]",
        "truncate_rows[rows_to_keep='a']",
    ],
)
def test_arguments_of_the_wrong_kind_are_settings_errors(text):
    with pytest.raises(SettingsError, match="must be a"):
        perturb(Table(["a"], [[1]]), text)


@pytest.mark.parametrize("index", [1, -1, "0"])
def test_a_missing_row_or_column_is_named(index):
    table = Table(["a"], [[1]], name="t")
    with pytest.raises(TableError, match=rf"table 't': row_indices contains {index!r}"):
        perturb(table, "duplicate_rows", row_indices=[index])
    with pytest.raises(TableError, match=rf"table 't': column_indices contains {index!r}"):
        perturb(table, "duplicate_columns", column_indices=[index])
