"""Every golden text of the seven serializers, to the letter."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers import serialize
from pytest_tablebench.table import Table

from . import vectors


def _table(record: dict[str, Any]) -> Table:
    return Table(record["table"]["header"], record["table"]["rows"], name=record["id"])


def _fails(record: dict[str, Any]) -> bool:
    return not isinstance(record["expected"], str)


def _label(record: dict[str, Any]) -> str:
    return str(record["id"])


@pytest.mark.parametrize(
    "record", vectors.params("serializers.json", _label, keep=lambda record: not _fails(record))
)
def test_text_is_the_published_one(record):
    # `expected` is what pandas 2 gives, as in the published runs, whatever is installed here.
    assert serialize(_table(record), record["serializer"]) == record["expected"]


@pytest.mark.parametrize("record", vectors.params("serializers.json", _label, keep=_fails))
def test_a_table_the_format_cannot_hold_is_refused_by_name(record):
    with pytest.raises(TableError) as caught:
        serialize(_table(record), record["serializer"])
    message = str(caught.value)
    assert repr(record["id"]) in message
    assert repr(record["serializer"]) in message
    header, rows = record["table"]["header"], record["table"]["rows"]
    if record["expected"]["error"] in {"IndexError", "ValueError"}:
        row = next(number for number, row in enumerate(rows, 1) if len(row) > len(header))
        assert f"row {row}, column {len(header) + 1}" in message
    elif record["expected"]["error"] == "TypeError":
        column = next(number for number, name in enumerate(header, 1) if type(name) is not str)
        assert f"header, column {column}" in message
    else:
        assert record["expected"]["error"] == "AssertionError"
        assert ("no rows" in message) if header else ("no columns" in message)


def test_df_needs_no_pandas():
    records = [
        record
        for record in vectors.load("serializers.json")
        if record["serializer"] == "df" and "expected_pandas3" in record
    ]
    assert records, "no record on which pandas 2 and 3 differ"
    program = (
        "import json, sys\n"
        "from pytest_tablebench.serializers import serialize\n"
        "from pytest_tablebench.table import Table\n"
        "for record in json.load(sys.stdin):\n"
        "    table = Table(record['table']['header'], record['table']['rows'])\n"
        "    assert serialize(table, 'df') == record['expected'], record['id']\n"
        "assert not {'pandas', 'numpy'} & set(sys.modules), 'pandas or numpy was imported'\n"
        "print('same text without pandas')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(records),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "same text without pandas"), done.stderr
