"""What examples have in common: samples spread over their tags and tables, and parts by table.

The first examples of a file are no sample: files are grouped by table.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from pytest_tablebench.datasets._base import Example, Source
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

LONGEST, DIGITS = 80, 20
"""Characters of a cluster's name, and digits of the digest of one without a short name."""


class Stratum(NamedTuple):
    """What an example has in common with others: its tags, and the table it asks about."""

    tags: Hashable
    table: Hashable


def stratum_of(example: Example) -> Stratum:
    """Return the stratum of an example that is at hand; its id stands for a table it has not."""
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    if not tables:
        return Stratum(tuple(sorted(example.tags.items())), example.id)
    content = repr([(table.header, table.rows) for table in tables])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
    return Stratum(tuple(sorted(example.tags.items())), digest)


def cluster_of(example: Example) -> str:
    """Return the name of an example's cluster, at most `LONGEST` characters.

    Without one of its own it is a digest of its tables, or its id without a table.
    """
    return cluster_name(example.cluster or stratum_of(example).table)


def cluster_name(shared: Hashable) -> str:
    """Return a short name of what examples share; a long one becomes a digest."""
    if isinstance(shared, bytes):
        return shared.hex()[:DIGITS]
    name = str(shared)
    if 0 < len(name) <= LONGEST:
        return name
    return hashlib.sha256(_name(name)).hexdigest()[:DIGITS]


def draw(strata: Sequence[Stratum], count: int, *, name: str, seed: int = 0) -> list[int]:
    """Return the places of `count` examples, in their order.

    Tags take turns, so that each has as many as any other as long as it lasts; within one the
    table that has been drawn least is next. Which tag begins, and who comes first among equals, is
    drawn by `name` and `seed`. A smaller sample is part of every larger one of the same seed.

    Arguments:
        strata: of all examples, in file order.
        count: how many; all of them where there are no more.
        name: of the dataset.
        seed: of the draw.
    """
    shuffled = list(range(len(strata)))
    seeded_random(f"sample/{name}", seed=42 + seed).shuffle(shuffled)
    members: dict[Hashable, dict[Hashable, list[int]]] = {}
    for place in shuffled:
        stratum = strata[place]
        members.setdefault(stratum.tags, {}).setdefault(stratum.table, []).append(place)
    used: Counter[Hashable] = Counter()
    # For each tag its tables: (times drawn when it was put there, seeded order, table).
    waiting = [
        (tables, [(0, order, table) for order, table in enumerate(tables)])
        for tables in members.values()
    ]
    chosen: list[int] = []
    while waiting and len(chosen) < count:
        for tables, heap in waiting:
            if len(chosen) == count:
                break
            table = _least_used(heap, used)
            chosen.append(tables[table].pop(0))
            used[table] += 1
            if not tables[table]:
                heapq.heappop(heap)
        waiting = [(tables, heap) for tables, heap in waiting if heap]
    return sorted(chosen)


def _least_used(heap: list[tuple[int, int, Hashable]], used: Counter[Hashable]) -> Hashable:
    """Bring the table that was drawn least to the top, and return it: other tags draw it too."""
    while True:
        times, order, table = heap[0]
        if used[table] == times:
            return table
        heapq.heapreplace(heap, (used[table], order, table))


def strata_of(source: Source, example_ids: Sequence[str]) -> list[Stratum]:
    """Return the strata of examples.

    A source that has a method `stratum(example_id)` is asked for each; of another's examples each
    is loaded. One that cannot be loaded has nothing in common with any other.
    """
    stratum = getattr(source, "stratum", None)
    strata = []
    for example_id in example_ids:
        try:
            placed = stratum(example_id) if stratum else stratum_of(source.example(example_id))
        except DataError:
            placed = Stratum((), example_id)
        strata.append(placed)
    return strata


def sampled_ids(source: Source, count: int, *, name: str, seed: int = 0) -> list[str]:
    """Return the ids of a sample of a dataset's usable examples, in file order."""
    ids = source.example_ids(None)
    return [ids[place] for place in draw(strata_of(source, ids), count, name=name, seed=seed)]


def shard_numbers(source: Source, example_ids: Sequence[str], count: int) -> list[int]:
    """Return the number, from 1 to `count`, of the part of a run that each example belongs to.

    It depends on nothing but the table that the example asks about, on every machine: its place or
    its content, as the source tells them, or the example's id where there is no table. So the
    questions of several datasets over the same file stay together too.
    """
    return [
        1 + int.from_bytes(hashlib.sha256(_name(stratum.table)).digest()[:8], "big") % count
        for stratum in strata_of(source, example_ids)
    ]


def _name(table: Hashable) -> bytes:
    if isinstance(table, bytes):
        return table
    return str(table).encode("utf-8", "surrogatepass")
