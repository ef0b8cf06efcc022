"""The source of a dataset: its examples, its pool of demonstrations, its unusable rows."""

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


@dataclass(frozen=True)
class ExamplePool:
    """A pool of examples in memory."""

    examples: Sequence[Example] = ()

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.examples)

    def key(self, index: int) -> Hashable:
        """Return `text_key` of an example."""
        return text_key(self.examples[index])

    def __getitem__(self, index: int) -> Example:
        """Return one example."""
        return self.examples[index]


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
