"""The source of a dataset: its examples, its pool of demonstrations, samples and shards of them."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pytest_tablebench.datasets._example import (
    Example,
    Stratum,
    cluster_name,
    stratum_of,
    table_key,
    text_key,
)
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.seeds import seeded_random

if TYPE_CHECKING:
    from pytest_tablebench.serializers.content import Content
    from pytest_tablebench.tables.table import Table


@dataclass(frozen=True)
class Problem:
    """An unusable row, and the reason.

    `row` is its number, or None for a problem of the whole file. `field` is "" if no field is at
    fault.
    """

    file: str
    row: int | None
    field: str
    message: str

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        field = f", field {self.field!r}" if self.field else ""
        return f"{self.file}{row}{field}: {self.message}"


@dataclass(frozen=True)
class SourceFacts:
    """The facts about its data that a run records: the digest of each file, and notes."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Pool(Protocol):
    """The candidates for demonstrations, in file order, loaded one at a time."""

    def __len__(self) -> int:
        """Return the number of candidates."""
        ...

    def key(self, index: int) -> Hashable:
        """Return `text_key` of a candidate without loading its tables."""
        ...

    def __getitem__(self, index: int) -> Example:
        """Load one candidate."""
        ...


class Source:
    """A dataset's opened files. A subclass defines at least `example_ids` and `example`."""

    metrics: Mapping[str, str] = MappingProxyType({})
    """The metrics that examples name, each with the file and row that name it."""

    @property
    def facts(self) -> SourceFacts:
        """Return the digests of the files, and notes."""
        return SourceFacts({})

    @property
    def problems(self) -> Sequence[Problem]:
        """Return the rows found unusable so far."""
        return ()

    @property
    def pool(self) -> Pool:
        """Return the pool of demonstrations."""
        return ExamplePool()

    def example_ids(self, limit: int | None) -> Sequence[str]:
        """Return the ids of the first `limit` usable examples in file order (None: all).

        Load only the ids, and what the dataset's filter reads.
        """
        raise NotImplementedError

    def example(self, example_id: str) -> Example:
        """Load one example. Raises `DataError` if it is unusable."""
        raise NotImplementedError

    def stratum(self, example_id: str) -> Stratum:
        """Return what an example shares with others, if possible without loading it."""
        return stratum_of(self.example(example_id))

    def does_not_apply(self, example_id: str, serializer: str, perturbation: str) -> str | None:  # noqa: ARG002
        """Return why a case makes no sense, or None if it does. Its ids alone decide.

        For example, shuffled rows make no sense for a question about the first row. Such cases are
        not collected, and the run counts them by reason. If the decision needs the table, the case
        is collected and gets no answer.
        """
        return None

    def as_given(self, table: Table, serializer: str) -> Content | None:  # noqa: ARG002
        """Return the dataset's own rendering of an unperturbed table, such as a picture of it.

        Return None to let the serializer render the table. That includes every table that this
        source did not make.
        """
        return None


class Identified(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """The id of its example, unique in its split."""
        ...


R = TypeVar("R", bound=Identified)


@dataclass(frozen=True)
class RowPool(Generic[R]):
    """Rows as candidates for demonstrations."""

    rows: Sequence[R]
    make: Callable[[R], Example]
    key_of: Callable[[R], Hashable]

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.rows)

    def key(self, index: int) -> Hashable:
        """Return `text_key` of a candidate."""
        return self.key_of(self.rows[index])

    def __getitem__(self, index: int) -> Example:
        """Return the example of a candidate."""
        return self.make(self.rows[index])


class ExamplePool(RowPool[Example]):
    """A pool of examples in memory."""

    def __init__(self, examples: Sequence[Example] = ()) -> None:
        super().__init__(examples, lambda example: example, text_key)


class RowSource(Source, Generic[R]):
    """A dataset's opened rows.

    Arguments:
        test: the usable rows of questions, in order; read only as far as needed.
        pool: returns the usable rows of demonstrations. Called at most once, even if it fails.
        make: makes the example of a row.
        key: returns `text_key` of a row's example without making its tables.
        stratum: returns what a sample is spread over, without making the row's table; None to
            derive it from the example.
        does_not_apply: returns why a row is left out for a serializer and a perturbation; None if
            it is not.
        facts: returns the facts about the files; called at most once.
        problems: the list to which `test` and `pool` append unusable rows.
        place: the file of the questions, for messages.
        as_given: see `Source.as_given`.
        metrics: the metrics that rows name, each with its place.
    """

    def __init__(
        self,
        test: Iterable[R],
        pool: Callable[[], Sequence[R]],
        *,
        make: Callable[[R], Example],
        key: Callable[[R], Hashable],
        stratum: Callable[[R], Stratum | None] = lambda _: None,
        does_not_apply: Callable[[R, str, str], str | None] = lambda *_: None,
        facts: Callable[[], SourceFacts],
        problems: Sequence[Problem] = (),
        place: str,
        as_given: Callable[[Table, str], Content | None] = lambda *_: None,
        metrics: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.metrics = metrics
        self._test = iter(test)
        self._read: dict[str, R] = {}
        self._load_pool = pool
        self._make = make
        self._key = key
        self._stratum = stratum
        self._does_not_apply = does_not_apply
        self._as_given = as_given
        self._load_facts = facts
        self._problems = problems
        self._place = place
        self._pool: RowPool[R] | DataError | None = None
        self._facts: SourceFacts | None = None

    def _read_row(self) -> bool:
        """Read one more row; return False at the end."""
        row = next(self._test, None)
        if row is not None:
            self._read[row.id] = row
        return row is not None

    @property
    def facts(self) -> SourceFacts:
        """Return the digests of the files, and notes."""
        if self._facts is None:
            self._facts = self._load_facts()
        return self._facts

    @property
    def problems(self) -> Sequence[Problem]:
        """Return the rows found unusable so far."""
        return self._problems

    @property
    def pool(self) -> RowPool[R]:
        """Return the demonstrations. Raises `DataError` if their file cannot be read."""
        if self._pool is None:
            try:
                self._pool = RowPool(self._load_pool(), self._make, self._key)
            except DataError as error:
                self._pool = error
        if isinstance(self._pool, DataError):
            # Every case raises this one error; without this its traceback would keep growing.
            raise self._pool.with_traceback(None)
        return self._pool

    def rows(self) -> Sequence[R]:
        """Return all usable rows of the questions."""
        while self._read_row():
            pass
        return list(self._read.values())

    def example_ids(self, limit: int | None) -> Sequence[str]:
        """Return the ids of the first `limit` usable examples in file order (None: all)."""
        while (limit is None or len(self._read) < limit) and self._read_row():
            pass
        return list(self._read)[:limit]

    def example(self, example_id: str) -> Example:
        """Make one example. Raises `DataError` if no usable row has the id."""
        while example_id not in self._read:
            if not self._read_row():
                raise DataError(f"{self._place}: no usable question has the id {example_id!r:.80}")
        row = self._read[example_id]
        example, stratum = self._make(row), self._stratum(row)
        if example.cluster is not None or stratum is None:
            return example
        return replace(example, cluster=cluster_name(stratum.table))

    def stratum(self, example_id: str) -> Stratum:
        """Return what an example that was read shares with others."""
        row = self._read[example_id]
        return self._stratum(row) or stratum_of(self._make(row))

    def does_not_apply(self, example_id: str, serializer: str, perturbation: str) -> str | None:
        """Return why a case of an example that was read is left out; None if it is not."""
        return self._does_not_apply(self._read[example_id], serializer, perturbation)

    def as_given(self, table: Table, serializer: str) -> Content | None:
        """Return the dataset's own rendering of an unperturbed table, or None."""
        return self._as_given(table, serializer)


def draw(strata: Sequence[Stratum], count: int, *, name: str, seed: int = 0) -> list[int]:
    """Return the positions of up to `count` examples, sorted.

    Tags take turns, so each gets equally many until it runs out. Within a tag, the table drawn
    least is next. `name` (the dataset's) and `seed` decide the order of tags and of equal tables. A
    smaller sample is part of every larger one with the same seed.
    """
    shuffled = list(range(len(strata)))
    seeded_random(f"sample/{name}", seed=42 + seed).shuffle(shuffled)
    members: dict[Hashable, dict[Hashable, list[int]]] = {}
    for position in shuffled:
        stratum = strata[position]
        members.setdefault(stratum.tags, {}).setdefault(stratum.table, []).append(position)
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
    return [ids[position] for position in draw(strata_of(source, ids), count, name=name, seed=seed)]


def shard_numbers(source: Source, example_ids: Sequence[str], count: int) -> list[int]:
    """Return the number of each example's shard, from 1 to `count`.

    The number depends only on the table in the example's stratum, or without a table on the
    example's id. It is the same on every machine, and for all datasets that read the same file.
    """
    return [
        1 + int.from_bytes(hashlib.sha256(table_key(stratum.table)).digest()[:8], "big") % count
        for stratum in strata_of(source, example_ids)
    ]
