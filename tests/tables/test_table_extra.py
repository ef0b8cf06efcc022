"""Extra entries of a table in its mapping, its seeds and its equality."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import Table, TableError, perturb, serialize
from pytest_tablebench.serializers import SERIALIZERS
from pytest_tablebench.tables.perturbations import GRID, PERTURBATIONS
from pytest_tablebench.util.seeds import seeded_random

HEADER, ROWS = ["a", "b"], [[n, str(n)] for n in range(8)]
UPSTREAM = {"title": "T", "header": HEADER, "rows": ROWS, "table_id": "x-1"}


def table(extra: Any = UPSTREAM) -> Table:
    return Table(HEADER, ROWS, extra=extra)


@pytest.mark.parametrize(
    "order",
    [
        ["title", "header", "rows", "table_id"],
        ["header", "rows", "title", "table_id"],
        ["table_id", "title", "rows", "header"],
        ["rows", "header"],
        ["header", "rows"],
    ],
)
def test_the_mapping_keeps_its_order(order: list[str]) -> None:
    upstream = {key: UPSTREAM[key] for key in order}
    for extra in (upstream, tuple(upstream.items())):
        mapping = table(extra).as_mapping()
        assert mapping == upstream
        assert list(mapping) == order


def test_without_marks_header_and_rows_are_first() -> None:
    assert list(table({"title": "T"}).as_mapping()) == ["header", "rows", "title"]
    assert table({"title": "T"}).as_mapping()["header"] == HEADER


def test_the_mapping_has_the_table_in_place_of_the_marks() -> None:
    changed = table().replace(header=["c", "d"], rows=[[1, 2]])
    assert changed.as_mapping() == {
        "title": "T", "header": ["c", "d"], "rows": [[1, 2]], "table_id": "x-1",
    }  # fmt: skip


def test_equality_compares_keys_values_and_order() -> None:
    assert table() == table(dict(UPSTREAM))
    assert table() != Table(HEADER, ROWS)
    assert table() != table({**UPSTREAM, "title": "U"})
    assert table() != table(dict(reversed(UPSTREAM.items())))
    assert table({"header": HEADER, "rows": ROWS}) == Table(HEADER, ROWS)


def test_extra_entries_must_be_a_mapping() -> None:
    for bad in (5, ["abc"], "title"):
        with pytest.raises(TableError, match="extra must be a mapping or pairs"):
            table(bad)


def test_no_format_shows_the_extra_entries() -> None:
    for serializer in SERIALIZERS:
        assert serialize(table(), serializer) == serialize(Table(HEADER, ROWS), serializer)


def test_shuffles_are_seeded_by_the_whole_mapping_in_its_order() -> None:
    # torr.md section 6.2: sub-seed {"table": the whole mapping, "seed": 0}, key order included.
    for extra in (UPSTREAM, dict(reversed(UPSTREAM.items())), {"title": "other"}):
        shuffled = table(extra)
        expected = [list(row) for row in shuffled.rows]
        seeded_random({"table": shuffled.as_mapping(), "seed": 0}).shuffle(expected)
        result = perturb(shuffled, "shuffle_rows")
        assert [list(row) for row in result.rows] == expected
        assert result.extra == shuffled.extra
    orders = {
        perturb(table({"title": title}), "shuffle_rows").rows for title in ("T", "U", "V", "W")
    }
    assert len(orders) > 1


def test_transpose_and_empty_rows_drop_extra_entries_and_others_keep_them() -> None:
    # torr.md section 6.2
    dropped = {"transpose", "insert_empty_rows"}
    for name in {*PERTURBATIONS} - {"counterfactual"}:  # that one needs an answer
        result = perturb(table(), name)
        assert (result.extra == ()) == (name in dropped), name
    assert dropped < set(GRID)
    assert list(perturb(table(), "transpose").as_mapping()) == ["header", "rows"]
