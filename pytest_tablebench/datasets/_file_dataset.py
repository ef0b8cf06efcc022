"""The base of datasets that lie in files: where, which rows can be used, how they are asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._prompts import PromptParts, Render, render_field
from pytest_tablebench.datasets._row_source import Identified, RowSource
from pytest_tablebench.datasets._source import Problem, SourceFacts
from pytest_tablebench.datasets._strata import Stratum
from pytest_tablebench.datasets.files import file_digest, how_to_get, read_json, require_files
from pytest_tablebench.datasets.rows import BadRowError, QuestionRow
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.serializers.content import Content
    from pytest_tablebench.tables.table import Table

R = TypeVar("R", bound=Identified)
Item = TypeVar("Item")
Made = TypeVar("Made", bound=Identified)


@dataclass(frozen=True)
class PoolFiles:
    """Files that demonstrations may come from; `note` is recorded where they do."""

    files: tuple[str, ...]
    note: str | None = None


@dataclass
class Opened:
    """A dataset's folder while its rows are read; `title` is what people call the dataset."""

    folder: Path
    compat: Compat
    title: str
    problems: list[Problem] = field(default_factory=list)
    options: Mapping[str, Any] = field(default_factory=dict)
    """The settings that the dataset asks for."""

    def bad(self, file: str, row: int | None, name: str, message: str) -> None:
        """Count a row as unusable, because of one of its fields."""
        self.problems.append(Problem(file, row, name, message))

    def json(self, file: str, kind: type, content_name: str) -> Any:
        """Read a JSON file that must hold a `kind`. Raises `DataError`, naming the file."""
        content = read_json(self.folder / file)
        if not isinstance(content, kind):
            raise DataError(
                f"{self.folder / file}: must hold {content_name}, not a {type(content).__name__}; "
                f"is this {self.title}?"
            )
        return content

    def usable(
        self,
        file: str,
        items: Iterable[Item],
        build: Callable[[Item], R | None],
        *,
        first: int = 1,
        most: int | None = None,
    ) -> Iterator[R]:
        """Yield the rows of the first `most` items; None leaves one out without a word.

        Items that cannot be used (`build` raises `BadRowError`), or whose id another row has,
        become problems. `first` is the number of the first item.
        """
        seen: set[str] = set()
        for number, item in enumerate(islice(items, most), start=first):
            row = self.checked(file, number, partial(build, item), seen)
            if row is not None:
                yield row

    def checked(
        self, file: str, number: int, make: Callable[[], Made | None], seen: set[str]
    ) -> Made | None:
        """Return the row that is made; None for what cannot be used, and becomes a problem.

        `seen` has the ids of the rows before, and is given that of this one.
        """
        try:
            row = make()
            if row is not None and row.id in seen:
                raise BadRowError("id", f"{printable(row.id, 80)!r} occurs a second time")
        except BadRowError as error:
            self.bad(file, number, error.field, str(error))
            return None
        if row is not None:
            seen.add(row.id)
        return row


class FileDataset(Dataset, Generic[R]):
    """A dataset of upstream files. Its subclass gives these, `rows`, `example` and `key`.

    Attributes:
        test: files of the questions; they have to be there.
        pools: where demonstrations come from: the first whose files are all there; by default
            there are none.
        others, folders: further files and folders that have to be there.
        notes: what every run has to record.
        instruction, source, target_prefix: the pieces of the prompt, with the names of inputs
            in braces; `reference_instruction` takes the first one's place in that mode.
        fixed_chain: the post-processors; `reference_chain` where that mode has others.
    """

    test: tuple[str, ...]
    pools: tuple[PoolFiles, ...] = (PoolFiles(()),)
    others: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    instruction: str
    source: str
    target_prefix = ""
    reference_instruction: str | None = None
    fixed_chain: tuple[str, ...]
    reference_chain: tuple[str, ...] | None = None

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterable[R]:
        """Read the usable rows of `test` or of a pool; `opened` takes note of the others."""
        raise NotImplementedError

    def example(self, row: R) -> Example:
        """Make the example of a row."""
        raise NotImplementedError

    def key(self, row: R) -> Hashable:
        """Return `text_key` of a row's example, without its tables."""
        raise NotImplementedError

    def stratum(self, row: R) -> Stratum | None:  # noqa: ARG002 - there is nothing to look at
        """Return what a sample is spread over; None: it is read off the example."""
        return None

    def tags(self) -> Mapping[str, str]:
        """Return the tags that all examples have."""
        return {}

    def context(self, options: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what the metric needs of the options in every example."""
        return {}

    def option_notes(self, options: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG002
        """Return what a run with these options has to record."""
        return ()

    def does_not_apply(self, row: R, serializer: str, perturbation: str) -> str | None:  # noqa: ARG002
        """Return why a row is not asked in a format and under a perturbation; None: it is."""
        return None

    def as_given(self, opened: Opened) -> Callable[[Table, str], Content | None]:  # noqa: ARG002
        """Return what gives the dataset's own form of a table (see `Source.as_given`)."""
        return lambda *_: None

    def notes_of(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - mostly the same
        """Return what every run in a mode has to record."""
        return self.notes

    def open(self, folder: Path, *, compat: Compat = "fixed", **options: Any) -> RowSource[R]:
        """Open the upstream files at `folder`. Raises `DataMissing` or `DataError`."""
        pool = self._pool(folder)
        opened = Opened(folder, compat, type(self).__name__, options=options)

        def demonstrations() -> Sequence[R]:
            if pool.files == self.test:
                return source.rows()
            return list(self.rows(opened, pool.files)) if pool.files else ()

        source = self.opened_source(
            opened,
            self.rows(opened, self.test),
            demonstrations,
            files=(*self.test, *pool.files, *self.others),
            notes=(
                *self.notes_of(compat),
                *self.option_notes(options),
                *([pool.note] if pool.note else []),
            ),
            place=str(folder / self.test[0]),
            as_given=self.as_given(opened),
        )
        source.example_ids(1)  # a file that is not what it should be says so at once
        return source

    def opened_source(
        self,
        opened: Opened,
        test: Iterable[R],
        pool: Callable[[], Sequence[R]],
        *,
        files: Sequence[str],
        notes: tuple[str, ...],
        place: str,
        as_given: Callable[[Table, str], Content | None] = lambda *_: None,
    ) -> RowSource[R]:
        """Return rows as a source; `files` are recorded by their digests."""
        return RowSource(
            test,
            pool,
            make=partial(self._completed, opened.options),
            key=self.key,
            stratum=self.stratum,
            does_not_apply=self.does_not_apply,
            facts=lambda: SourceFacts(
                {name: file_digest(opened.folder / name) for name in files}, notes
            ),
            problems=opened.problems,
            place=place,
            as_given=as_given,
        )

    def _completed(self, options: Mapping[str, Any], row: R) -> Example:
        """Return the example of a row with the tags and the context of the dataset."""
        example, tags, context = self.example(row), self.tags(), self.context(options)
        if not (tags or context):
            return example
        tags, context = {**tags, **example.tags}, {**context, **example.context}
        return replace(example, tags=tags, context=context)

    def _pool(self, folder: Path) -> PoolFiles:
        """See that the files are there, and return where demonstrations come from."""
        pool_files = self.pools[0].files if len(self.pools) == 1 else ()
        require_files(folder, [*self.test, *self.others, *pool_files], fetch=self.fetch)
        for pool in self.pools:
            if all((folder / file).is_file() for file in pool.files):
                break
        else:  # the first is the largest: the next one will do
            pool = self.pools[1]
            require_files(folder, pool.files, fetch=self.fetch)
        for name in self.folders:
            if not (folder / name).is_dir():
                remedy = how_to_get(self.fetch, folder)
                raise DataError(f"{folder} lacks the folder {name}; {remedy}")
        return pool

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors applied, in order, to replies and references."""
        others = self.reference_chain if compat == "reference" else None
        return self.fixed_chain if others is None else others

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces, with the example's inputs as text in their places."""
        shown = {name: render_field(value, render) for name, value in example.inputs.items()}
        return PromptParts(
            self.instruction.format_map(shown),
            self.source.format_map(shown),
            self.target_prefix,
            self.reference_instruction,
        )


class RowDataset(FileDataset[QuestionRow]):
    """A dataset whose rows ask about one table each; `text_name` is the input's name."""

    text_name = "question"

    def example(self, row: QuestionRow) -> Example:
        """Make the example of a row."""
        return Example(
            id=row.id,
            inputs={"table": row.table(), self.text_name: row.text},
            question=row.text,
            references=(row.answer,),
            target=row.answer,
        )

    def key(self, row: QuestionRow) -> Hashable:
        """Return the text."""
        return (row.text,)

    def stratum(self, row: QuestionRow) -> Stratum | None:
        """Return the table's place, where it has one."""
        return None if row.place is None else Stratum((), row.place)
