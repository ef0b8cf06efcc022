"""The `df` format without the library that it is named after."""

from __future__ import annotations

import json
import subprocess
import sys

from . import vectors


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
        "from pytest_tablebench.tables.table import Table\n"
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
