"""Samples spread over tags and tables, and parts of a run that keep tables together.

The first examples of a file are no sample: files are grouped by table.
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
    """Return the strata of examples; one that cannot be loaded shares nothing with any other."""
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
    """Return the number, from 1 to `count`, of the part of a run that each example belongs to.

    It depends on nothing but the table that the example asks about, on every machine: its place or
    its content, as the source tells them, or the example's id where there is no table. So the
    questions of several datasets over the same file stay together too.
    """
    return [
        1 + int.from_bytes(hashlib.sha256(table_key(stratum.table)).digest()[:8], "big") % count
        for stratum in strata_of(source, example_ids)
    ]
