"""The digest of an example's content, by which corrections recognize the row they were made for."""

from __future__ import annotations

import json
from hashlib import blake2b

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.tables.table import Table

_BYTES = 10


def row_digest(example: Example) -> str:
    """Return 20 hexadecimal digits of the question, the references and the tables.

    Pass the example before any perturbation. Other inputs and the context do not count.
    """
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    content = [
        example.question,
        list(example.references),
        [[table.title, list(table.header), [list(row) for row in table.rows]] for table in tables],
    ]
    text = json.dumps(content, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()
