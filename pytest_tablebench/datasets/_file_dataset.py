"""Base classes of datasets that read upstream files."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import Dataset, PromptParts, Render, render_field
from pytest_tablebench.datasets._example import Example, Stratum, text_key
from pytest_tablebench.datasets._source import Identified, Problem, RowSource, SourceFacts
from pytest_tablebench.datasets.files import (
    BadRowError,
    file_digest,
    how_to_get,
    read_json,
    require_files,
)
from pytest_tablebench.datasets.pull._upstream import upstream_of
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.serializers.content import Content
    from pytest_tablebench.tables.table import Table

R = TypeVar("R", bound=Identified)
Item = TypeVar("Item")
Made = TypeVar("Made", bound=Identified)


@dataclass(frozen=True)
class PoolFiles:
    """Files with demonstrations; `note` is recorded if they are used."""

    files: tuple[str, ...]
    note: str | None = None


@dataclass
class Opened:
    """A dataset's folder while its rows are read; `title` is the dataset's name in messages."""

    folder: Path
    compat: Compat
    title: str
    problems: list[Problem] = field(default_factory=list)
    options: Mapping[str, Any] = field(default_factory=dict)
    """The settings that `Dataset.options` names."""

    def bad(self, file: str, row: int | None, name: str, message: str) -> None:
        """Record a row as unusable because of the field `name`."""
        self.problems.append(Problem(file, row, name, message))

    def json(self, file: str, kind: type, content_name: str) -> Any:
        """Read a JSON file whose content must be a `kind`. Raises `DataError`, naming the file."""
        content = read_json(self.folder / file)
        if not isinstance(content, kind):
            raise DataError(
                f"{self.folder / file}: must contain {content_name}, not a "
                f"{type(content).__name__}; is this {self.title}?"
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
        """Yield the usable rows of the first `most` items.

        `build` returns None to leave an item out. If it raises `BadRowError`, or an id occurs a
        second time, the item becomes a problem. `first` is the number of the first item.
        """
        seen: set[str] = set()
        for number, item in enumerate(islice(items, most), start=first):
            row = self.checked(file, number, partial(build, item), seen)
            if row is not None:
                yield row

    def checked(
        self, file: str, number: int, make: Callable[[], Made | None], seen: set[str]
    ) -> Made | None:
        """Make a row and return it, or record a problem and return None.

        The row's id is added to `seen`, the ids of earlier rows.
        """
        try:
            row = make()
            if row is not None and row.id in seen:
                raise BadRowError("id", f"{shortened(row.id, 80)!r} occurs a second time")
        except BadRowError as error:
            self.bad(file, number, error.field, str(error))
            return None
        if row is not None:
            seen.add(row.id)
        return row


@cache
def sections(package: str) -> Mapping[str, Any]:
    """Return the content of `datasets.toml` in a package."""
    return tomllib.loads((files(package) / "datasets.toml").read_text(encoding="utf-8"))


def _settings(package: str, section: str) -> dict[str, Any]:
    fields = {"name": section, "folder": section, **sections(package)[section]}
    pools = [PoolFiles(tuple(pool["files"]), pool.get("note")) for pool in fields.get("pools", ())]
    fields |= {"pools": pools} if pools else {}
    if "upstream" in fields:
        fields["upstream"] = upstream_of(fields["folder"], fields["upstream"])
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }


class FileDataset(Dataset, Generic[R]):
    """A dataset of upstream files.

    A subclass sets these attributes and defines `rows`; if its rows are not examples, also
    `example` and `key`. The keyword `section` of a class names a section of `datasets.toml` in its
    package, which sets attributes too.

    Attributes:
        test: required files, with the questions.
        pools: sources of demonstrations; the first one whose files all exist is used. By default
            there are no demonstrations.
        others, folders: further required files and folders.
        notes: notes that every run records.
        instruction, source, target_prefix: the pieces of the prompt, with names of inputs in
            braces; in `reference` mode, `reference_instruction` replaces the instruction.
        fixed_chain: the post-processors; `reference_chain` replaces them in `reference` mode.
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

    def __init_subclass__(cls, *, section: str = "") -> None:
        super().__init_subclass__()
        if section:
            for name, value in _settings(cls.__module__.rpartition(".")[0], section).items():
                setattr(cls, name, value)

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterable[R]:
        """Read the usable rows of `test` or of a pool; record the others in `opened`."""
        raise NotImplementedError

    def example(self, row: R) -> Example:
        """Make the example of a row; by default, the row is its example."""
        if not isinstance(row, Example):
            raise NotImplementedError
        return row

    def key(self, row: R) -> Hashable:
        """Return `text_key` of a row's example; override it to avoid making the tables."""
        return text_key(self.example(row))

    def stratum(self, row: R) -> Stratum | None:  # noqa: ARG002 - for subclasses
        """Return what a sample is spread over, or None to derive it from the example."""
        return None

    def tags(self) -> Mapping[str, str]:
        """Return the tags that all examples have."""
        return {}

    def context(self, options: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the context that the metric needs in every example because of the options."""
        return {}

    def option_notes(self, options: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the notes that a run with these options records."""
        return ()

    def does_not_apply(self, row: R, serializer: str, perturbation: str) -> str | None:  # noqa: ARG002
        """Return why a row is left out for a serializer and a perturbation, or None."""
        return None

    def as_given(self, opened: Opened) -> Callable[[Table, str], Content | None]:  # noqa: ARG002
        """Return the function for `Source.as_given`."""
        return lambda *_: None

    def notes_of(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - for subclasses
        """Return the notes that every run in a mode records."""
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
        source.example_ids(1)  # raise for a wrong file now, not at the first test
        return source

    def opened_source(
        self,
        opened: Opened,
        test: Iterable[R],
        pool: Callable[[], Sequence[R]],
        *,
        files: Sequence[str],
        notes: Sequence[str],
        place: str,
        as_given: Callable[[Table, str], Content | None] = lambda *_: None,
    ) -> RowSource[R]:
        """Return rows as a source; `files` are recorded by their digests.

        Reading rows may still add `notes`.
        """
        return RowSource(
            test,
            pool,
            make=partial(self._completed, opened.options),
            key=self.key,
            stratum=self.stratum,
            does_not_apply=self.does_not_apply,
            facts=lambda: SourceFacts(
                {name: file_digest(opened.folder / name) for name in files}, tuple(notes)
            ),
            problems=opened.problems,
            place=place,
            as_given=as_given,
        )

    def _completed(self, options: Mapping[str, Any], row: R) -> Example:
        """Return a row's example with the dataset's tags and context added."""
        example, tags, context = self.example(row), self.tags(), self.context(options)
        if not (tags or context):
            return example
        tags, context = {**tags, **example.tags}, {**context, **example.context}
        return replace(example, tags=tags, context=context)

    def _pool(self, folder: Path) -> PoolFiles:
        """Return the source of demonstrations. Raises if a required file or folder is missing."""
        pool_files = self.pools[0].files if len(self.pools) == 1 else ()
        require_files(folder, [*self.test, *self.others, *pool_files], fetch=self.fetch)
        for pool in self.pools:
            if all((folder / file).is_file() for file in pool.files):
                break
        else:  # ask for the second pool, which is smaller than the first
            pool = self.pools[1]
            require_files(folder, pool.files, fetch=self.fetch)
        for name in self.folders:
            if not (folder / name).is_dir():
                remedy = how_to_get(self.fetch, folder)
                raise DataError(f"{folder} lacks the folder {name}; {remedy}")
        return pool

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors applied, in order, to replies and references."""
        if compat == "reference" and self.reference_chain is not None:
            return self.reference_chain
        return self.fixed_chain

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces with the example's inputs filled in."""
        texts = {name: render_field(value, render) for name, value in example.inputs.items()}
        return PromptParts(
            self.instruction.format_map(texts),
            self.source.format_map(texts),
            self.target_prefix,
            self.reference_instruction,
        )
