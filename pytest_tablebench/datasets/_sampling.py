"""Samples spread over tags and tables, and shards that keep a table's examples together.

The first examples of a file are not a sample, because files are grouped by table.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Hashable, Sequence

from pytest_tablebench.datasets._source import Source
from pytest_tablebench.datasets._strata import Stratum, table_key
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.seeds import seeded_random


def draw(strata: Sequence[Stratum], count: int, *, name: str, seed: int = 0) -> list[int]:
    """Return the positions of up to `count` examples, sorted.

    Tags take turns, so each gets equally many until it runs out. Within a tag, the table drawn
    least is next. `name` (the dataset's) and `seed` decide the order of tags and of equal tables. A
    smaller sample is part of every larger one with the same seed.
    """
    shuffled = list(range(len(strata)))
    seeded_random(f"sample/{name}", seed=42 + seed).shuffle(shuffled)
    members: dict[Hashable, dict[Hashable, list[int]]] = {}
    for place in shuffled:
        stratum = strata[place]
        members.setdefault(stratum.tags, {}).setdefault(stratum.table, []).append(place)
    used: Counter[Hashable] = Counter()
    # For each tag a heap of its tables: (times drawn when pushed, seeded order, table).
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
    """Return the table drawn least; first update the heap for tables that other tags drew."""
    while True:
        times, order, table = heap[0]
        if used[table] == times:
            return table
        heapq.heapreplace(heap, (used[table], order, table))


def strata_of(source: Source, example_ids: Sequence[str]) -> list[Stratum]:
    """Return the strata of examples; an unusable example has a stratum to itself."""
    strata = []
    for example_id in example_ids:
        try:
            stratum = source.stratum(example_id)
        except DataError:
            stratum = Stratum((), example_id)
        strata.append(stratum)
    return strata


def sampled_ids(source: Source, count: int, *, name: str, seed: int = 0) -> list[str]:
    """Return the ids of a sample of a dataset's usable examples, in file order."""
    ids = source.example_ids(None)
    return [ids[place] for place in draw(strata_of(source, ids), count, name=name, seed=seed)]


def shard_numbers(source: Source, example_ids: Sequence[str], count: int) -> list[int]:
    """Return the number of each example's shard, from 1 to `count`.

    The number depends only on the table in the example's stratum, or without a table on the
    example's id. It is the same on every machine, and for all datasets that read the same file.
    """
    return [
        1 + int.from_bytes(hashlib.sha256(table_key(stratum.table)).digest()[:8], "big") % count
        for stratum in strata_of(source, example_ids)
    ]
