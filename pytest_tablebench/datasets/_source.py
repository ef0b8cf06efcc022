"""A dataset's opened files: which examples there are, and what cannot be used."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from pytest_tablebench.datasets._example import Example, text_key
from pytest_tablebench.datasets._strata import Stratum, stratum_of

if TYPE_CHECKING:
    from pytest_tablebench.serializers.content import Content
    from pytest_tablebench.tables.table import Table


@dataclass(frozen=True)
class Problem:
    """A row that cannot be used, and why; the other rows still run.

    `field` is "" for a problem of a whole file.
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
    """What a run records about its data: files by digest, and notes people must know."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Pool(Protocol):
    """The candidates for demonstrations, in file order, loaded one at a time."""

    def __len__(self) -> int:
        """Number of items."""
        ...

    def key(self, index: int) -> Hashable:
        """Return `text_key` of the item without loading its tables."""
        ...

    def __getitem__(self, index: int) -> Example:
        """Load one item."""
        ...


@dataclass(frozen=True)
class ExamplePool:
    """Examples in memory as a pool."""

    examples: Sequence[Example] = ()

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.examples)

    def key(self, index: int) -> Hashable:
        """Return `text_key` of an example."""
        return text_key(self.examples[index])

    def __getitem__(self, index: int) -> Example:
        """Return one example."""
        return self.examples[index]


class Source:
    """A dataset's opened files. A subclass gives `example_ids` and `example`; the rest may stay."""

    metrics: Mapping[str, str] = MappingProxyType({})
    """The metrics that examples name, each with the file and row that names it."""

    @property
    def facts(self) -> SourceFacts:
        """Return file digests and notes."""
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
        """Return the first `limit` usable examples' ids in file order (None: all of them).

        Loads no more than it must: ids, and what the dataset's filter has to look at.
        """
        raise NotImplementedError

    def example(self, example_id: str) -> Example:
        """Load one example; raises `DataError` for one that cannot be used."""
        raise NotImplementedError

    def stratum(self, example_id: str) -> Stratum:
        """Return what an example has in common with others, if possible without loading it."""
        return stratum_of(self.example(example_id))

    def does_not_apply(self, example_id: str, serializer: str, perturbation: str) -> str | None:  # noqa: ARG002
        """Return why a case makes no sense, by ids alone; None: it does.

        An example: rows are shuffled, and the question is about the first row. Such cases are not
        collected, and the run counts them by reason. Where only the table can tell, the case
        stays, and has no answer.
        """
        return None

    def as_given(self, table: Table, serializer: str) -> Content | None:  # noqa: ARG002
        """Return what the dataset's own files show of an unperturbed table in a format.

        Pictures (`image`) too. None: what the serializer writes, and so for a table that the source
        did not make.
        """
        return None
