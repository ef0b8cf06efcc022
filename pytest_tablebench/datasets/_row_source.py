"""Rows as a dataset's source: read as far as asked for, made into examples one at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._source import Problem, Source, SourceFacts
from pytest_tablebench.datasets._strata import Stratum, cluster_name, stratum_of
from pytest_tablebench.errors import DataError

if TYPE_CHECKING:
    from pytest_tablebench.serializers.content import Content
    from pytest_tablebench.tables.table import Table


class Identified(Protocol):
    """A row, as far as a source looks at it."""

    @property
    def id(self) -> str:
        """The id of the example it becomes, unique in its part."""
        ...


R = TypeVar("R", bound=Identified)


@dataclass(frozen=True)
class RowPool(Generic[R]):
    """Candidates for demonstrations; an example is made when it is shown."""

    rows: Sequence[R]
    make: Callable[[R], Example]
    key_of: Callable[[R], Hashable]

    def __len__(self) -> int:
        """Number of candidates."""
        return len(self.rows)

    def key(self, index: int) -> Hashable:
        """Return `text_key` of a candidate."""
        return self.key_of(self.rows[index])

    def __getitem__(self, index: int) -> Example:
        """Make one candidate's example."""
        return self.make(self.rows[index])


class RowSource(Source, Generic[R]):
    """A dataset's opened rows.

    Arguments:
        test: yields the usable rows to be asked, in order; read no further than is asked for.
        pool: returns the usable rows of demonstrations; called once, when they are needed, also
            where it fails.
        make: makes the example of a row.
        key: `text_key` of a row's example, without its tables.
        stratum: what a sample is spread over, without the row's table; where it gives None, or
            there is none, it is read off the example.
        does_not_apply: why a row is not asked in a format and under a perturbation; None: it is.
        facts: of the files; called once.
        problems: what `test` and `pool` append unusable rows to.
        place: where the questions stand, for messages.
        as_given: see `Source.as_given`.
        metrics: those that rows name, each with the place where.
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

    def _read_on(self) -> bool:
        """Read one more row; False where there is none."""
        row = next(self._test, None)
        if row is not None:
            self._read[row.id] = row
        return row is not None

    @property
    def facts(self) -> SourceFacts:
        """Return file digests and notes."""
        if self._facts is None:
            self._facts = self._load_facts()
        return self._facts

    @property
    def problems(self) -> Sequence[Problem]:
        """Return the rows found unusable so far."""
        return self._problems

    @property
    def pool(self) -> RowPool[R]:
        """Return the demonstrations. Raises `DataError` where their file cannot be read."""
        if self._pool is None:
            try:
                self._pool = RowPool(self._load_pool(), self._make, self._key)
            except DataError as error:
                self._pool = error
        if isinstance(self._pool, DataError):
            # Every case asks; the frames of those before would pile up on the one error.
            raise self._pool.with_traceback(None)
        return self._pool

    def rows(self) -> Sequence[R]:
        """Return all usable rows of the questions."""
        while self._read_on():
            pass
        return list(self._read.values())

    def example_ids(self, limit: int | None) -> Sequence[str]:
        """Return the first `limit` usable examples' ids in file order (None: all of them)."""
        while (limit is None or len(self._read) < limit) and self._read_on():
            pass
        return list(self._read)[:limit]

    def example(self, example_id: str) -> Example:
        """Make one example. Raises `DataError` for an id that no usable row has."""
        while example_id not in self._read:
            if not self._read_on():
                raise DataError(f"{self._place}: no usable question has the id {example_id!r:.80}")
        row = self._read[example_id]
        example, stratum = self._make(row), self._stratum(row)
        if example.cluster is not None or stratum is None:
            return example
        return replace(example, cluster=cluster_name(stratum.table))

    def stratum(self, example_id: str) -> Stratum:
        """Return what an example that was read has in common with others."""
        row = self._read[example_id]
        return self._stratum(row) or stratum_of(self._make(row))

    def does_not_apply(self, example_id: str, serializer: str, perturbation: str) -> str | None:
        """Return why an example that was read is not asked so; None: it is."""
        return self._does_not_apply(self._read[example_id], serializer, perturbation)

    def as_given(self, table: Table, serializer: str) -> Content | None:
        """Return what the dataset's own files show of an unperturbed table; None: nothing."""
        return self._as_given(table, serializer)
