"""Every golden table of the perturbations; where the reference draws globally, what must hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pytest_tablebench.perturbations import perturb
from pytest_tablebench.table import Table

from . import vectors


def _table(record: dict[str, Any]) -> Table:
    return Table(record["table"]["header"], record["table"]["rows"], name=record["table_id"])


def _result(record: dict[str, Any]) -> Table:
    arguments = {"times": record["times"]} if "times" in record else {}
    return perturb(_table(record), record["perturbation"], **arguments)


def _name(record: dict[str, Any]) -> str:
    return str(record["perturbation"]).partition("[")[0]


def _only(name: str) -> list[Any]:
    return vectors.params("perturbations.json", _label, keep=lambda record: _name(record) == name)


def _label(record: dict[str, Any]) -> str:
    return f"{record['table_id']}/{record['perturbation']}"


def _columns(table: Table) -> Counter[str]:
    return Counter(
        repr((name, [row[position] for row in table.rows]))
        for position, name in enumerate(table.header)
    )


@pytest.mark.parametrize(
    "record",
    vectors.params("perturbations.json", _label, keep=lambda record: record["deterministic"]),
)
def test_deterministic_result_is_the_published_one(record):
    before = _table(record)
    result = perturb(before, record["perturbation"])
    assert repr(result.as_mapping()) == repr(record["expected"])
    properties = dict(record.get("properties", {}))
    if "row_order" in record:
        assert result.rows == tuple(before.rows[index] for index in record["row_order"])
    # The properties say in words what the table shows; a new one must be looked at here.
    facts = {
        "rows": len(result.rows),
        "row_count": len(result.rows),
        "columns": len(result.header),
        "corner": result.header[0],
        "header_unchanged": result.header == before.header,
        "row_multiset_preserved": Counter(map(repr, result.rows))
        == Counter(map(repr, before.rows)),
        "column_multiset_preserved_with_header": _columns(result) == _columns(before),
    }
    if properties.pop("column_names", None) is not None:
        assert result.header[1:] == tuple(str(number) for number in range(len(before.rows)))
    assert {key: facts[key] for key in properties} == properties


@pytest.mark.parametrize("record", _only("insert_empty_rows"))
def test_inserted_rows_have_the_published_properties(record):
    # Not the published positions: the reference draws them from the process-wide generator.
    before, result, properties = _table(record), _result(record), record["properties"]
    empty = tuple(properties["empty_row"])
    assert len(result.rows) == properties["rows"] == len(before.rows) + record["times"]
    assert properties["header_unchanged"]
    assert result.header == before.header
    assert properties["other_rows_in_order"]
    # Taking the inserted rows out again, wherever they are, must give the table back. A row
    # that was empty before cannot be told from an inserted one, so all empty rows go.
    assert [row for row in result.rows if row != empty] == [
        row for row in before.rows if row != empty
    ]
    positions = [index for index, row in enumerate(result.rows) if row == empty]
    assert len(positions) == len(properties["all_empty_row_positions"])
    assert perturb(before, "insert_empty_rows", times=record["times"]) == result


@pytest.mark.parametrize("record", _only("shuffle_cols_names"))
def test_shuffled_names_are_the_same_names(record):
    before, result = _table(record), _result(record)
    assert Counter(result.header) == Counter(record["expected"]["header"])
    assert list(map(list, result.rows)) == record["expected"]["rows"] == record["table"]["rows"]
    assert perturb(before, record["perturbation"]) == result


@pytest.mark.parametrize("record", _only("truncate_rows"))
def test_kept_rows_are_as_many_and_in_order(record):
    before, result = _table(record), _result(record)
    assert result.header == before.header
    assert len(result.rows) == len(record["expected"]["rows"]) <= len(before.rows)
    remaining = iter(map(repr, before.rows))
    assert all(repr(row) in remaining for row in result.rows), "not a subsequence"
    assert perturb(before, record["perturbation"]) == result


def test_every_record_is_covered():
    records = vectors.load("perturbations.json")
    drawn = {_name(record) for record in records if not record["deterministic"]}
    assert drawn == {"insert_empty_rows", "shuffle_cols_names", "truncate_rows"}
    assert len(records) >= 120
