"""A source over rows: reads only as many rows as needed and makes examples one at a time."""

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
