"""What examples share: tags, tables and clusters."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import NamedTuple

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.tables.table import Table

LONGEST, DIGITS = 80, 20
"""The most characters of a cluster's name; the digits of the digest that replaces a longer one."""


class Stratum(NamedTuple):
    """The tags of an example and the table it asks about."""

    tags: Hashable
    table: Hashable


def stratum_of(example: Example) -> Stratum:
    """Return an example's stratum, with its id in place of the table if it has none."""
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    if not tables:
        return Stratum(tuple(sorted(example.tags.items())), example.id)
    content = repr([(table.header, table.rows) for table in tables])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
    return Stratum(tuple(sorted(example.tags.items())), digest)


def cluster_of(example: Example) -> str:
    """Return the name of an example's cluster, at most `LONGEST` characters.

    If the example does not name one, it is a digest of its tables, or its id without a table.
    """
    return cluster_name(example.cluster or stratum_of(example).table)


def cluster_name(shared: Hashable) -> str:
    """Return the cluster's name for a value that its examples share; a long one is a digest."""
    if isinstance(shared, bytes):
        return shared.hex()[:DIGITS]
    name = str(shared)
    if 0 < len(name) <= LONGEST:
        return name
    return hashlib.sha256(table_key(name)).hexdigest()[:DIGITS]


def table_key(table: Hashable) -> bytes:
    """Return bytes that identify the table of a stratum, the same on every machine."""
    if isinstance(table, bytes):
        return table
    return str(table).encode("utf-8", "surrogatepass")
