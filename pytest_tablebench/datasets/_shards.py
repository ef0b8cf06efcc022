"""Parts of a run by table: what asks about one table belongs to one part, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence

from pytest_tablebench.datasets._base import Source
from pytest_tablebench.datasets._strata import strata_of


def shard_numbers(source: Source, example_ids: Sequence[str], count: int) -> list[int]:
    """Return the number, from 1 to `count`, of the part that each example belongs to.

    It depends on nothing but the table that the example asks about: its place or its content, as
    the source tells them, or the example's id where there is no table. So the questions of
    several datasets over the same file stay together too.
    """
    return [
        1 + int.from_bytes(hashlib.sha256(_name(stratum.table)).digest()[:8], "big") % count
        for stratum in strata_of(source, example_ids)
    ]


def _name(table: Hashable) -> bytes:
    if isinstance(table, bytes):
        return table
    return str(table).encode("utf-8", "surrogatepass")
