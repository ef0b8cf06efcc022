"""Questions about a table with structure and about its twin.

In a twin whole parts are exchanged (`tables.hierarchy.rearranged`), and every answer stays the
same. A model that answers only one of the two correctly reads positions, not the structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import cycle

from pytest_tablebench.generate.pair import Other, Pair, RejectedError
from pytest_tablebench.generate.probes import ProbeGenerator
from pytest_tablebench.generate.question_maker import TableQuestions
from pytest_tablebench.tables.hierarchy.complexity import complexity
from pytest_tablebench.tables.hierarchy.rearranged import EXCHANGES, is_kept, twin
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random


class TwinGenerator(ProbeGenerator):
    """Makes probes of tables with structure, each for the table and for a twin.

    A table has a twin for each kind of parts that can be exchanged; the twins alternate. Each probe
    is asked twice.
    """

    together = 2

    def make(self, table: Table, most: int | None) -> TableQuestions:
        """Return a digest of the table and its questions. Raises `RejectedError`."""
        if not table.is_structured:
            raise RejectedError("without merged cells")
        digest, pairs = super().make(table, most)
        if not is_kept(table, table):
            raise RejectedError("read differently than written")
        twins = twins_of(table, digest, self._seed)
        if not twins:
            raise RejectedError("no parts to exchange")
        return digest, self._question_pairs(pairs, twins, complexity(table).band)

    def _question_pairs(
        self, pairs: Iterator[Pair], twins: Mapping[str, Table], band: str
    ) -> Iterator[Pair]:
        used = set[str]()
        for pair, (name, table) in zip(pairs, cycle(twins.items()), strict=False):
            if name not in used:
                used.add(name)
                self.tally.exchanged[name] += 1
            yield from question_pair(pair, name, table, {"complexity": band})


def twins_of(table: Table, digest: str, seed: int = 0) -> dict[str, Table]:
    """Return the twins that are read as they were made, by the kind of exchanged parts.

    `digest` is the table's digest; a table without structure has no twins.
    """
    twins: dict[str, Table] = {}
    if not table.is_structured:
        return twins
    for name in EXCHANGES:
        made = twin(table, name, seeded_random(f"twins/{name}/{digest}", seed=seed))
        if made is not None and is_kept(table, made):
            twins[name] = made
    return twins


def question_pair(pair: Pair, exchange: str, table: Table, tags: Mapping[str, str]) -> list[Pair]:
    """Return a question about its table, and the same question about a twin."""
    tags = {**pair.tags, "structure": exchange, **tags}
    again = replace(
        pair,
        id=f"{pair.id}-twin",
        tags={**tags, "shown": "twin", "twin_of": pair.id},
        other=Other(exchange.replace("_", "-"), table),
    )
    return [replace(pair, tags={**tags, "shown": "original"}), again]
