"""A dataset whose files, prompt and scoring a description defines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example, Stratum
from pytest_tablebench.datasets._file_dataset import FileDataset, Opened, R
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.described._description import (
    SETTINGS_FILE,
    DatasetDescription,
    RowsSection,
    TextSection,
    UpstreamSection,
    read_description,
)
from pytest_tablebench.datasets.described._rows import (
    DescribedTables,
    Row,
    files_at,
    name_of,
    rows_of,
    stored_files,
    value_of,
)
from pytest_tablebench.datasets.files import BadRowError, require_files
from pytest_tablebench.datasets.pull._upstream import File, Licence, Upstream
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.tables.table import Table


_LIKENESS = ("rouge", "bleu")
"""Metrics that even a good answer hardly ever scores 1 with."""


@dataclass(frozen=True)
class DescribedRow:
    """The example of a usable row, and the name of its table, None if it names none."""

    made: Example
    table_name: str | None

    @property
    def id(self) -> str:
        """The id of its example."""
        return self.made.id


class TomlDataset(FileDataset[R]):
    """A dataset in a folder, with the settings of its `tablebench.toml`.

    Arguments:
        description: the content of `tablebench.toml`.
        name: its name in options and reports.
        folder: its folder inside the data folder.
        mistakes: the reasons why nothing in the folder can be used, each with its file ("" for the
            folder). With any, the dataset opens without questions and reports them as problems.
        is_own: whether it is in the user's data folder.
    """

    metric = "typed_answer"
    parts: tuple[str, ...] | None = (
        "partial",
    )  # the other parts only repeat the score, by kind of answer
    fixed_chain: tuple[str, ...] = ("to_string_stripped",)

    def __init__(
        self,
        description: DatasetDescription,
        name: str,
        folder: str,
        mistakes: Iterable[tuple[str, str]] = (),
        *,
        is_own: bool = False,
    ) -> None:
        self.description, self.mistakes = description, tuple(mistakes)
        self.name, self.folder, self.is_own = name, folder, is_own
        vars(self).update(description.settings)

    def opened(self, folder: Path, compat: Compat, options: Mapping[str, Any]) -> Opened:
        """Return the folder with its mistakes as problems."""
        opened = Opened(folder, compat, self.name, options=options)
        for file, message in self.mistakes:
            label = self.file_name(file) if file else shortened(self.folder, 120)
            opened.bad(label, None, "", message)
        return opened

    def file_name(self, name: str = SETTINGS_FILE) -> str:
        """Return a file's path in messages, by default the description's."""
        return shortened(name if self.folder == "." else f"{self.folder}/{name}", 120)


class DescribedDataset(TomlDataset[DescribedRow]):
    """A dataset of the files that a description names."""

    def __init__(self, description: DatasetDescription, *arguments: Any, **more: Any) -> None:
        super().__init__(description, *arguments, **more)
        scoring = description.scoring
        if description.upstream is not None and not self.mistakes:
            self.upstream = _upstream(self.folder, description, description.upstream)
        self.tables = description.table is not None
        self.metric, self.part, self.fixed_chain = scoring.metric, scoring.part, scoring.chain
        if scoring.parts is not None or self.metric != "typed_answer":
            self.parts = scoring.parts
        self.instruction, self.source = description.instruction, description.source
        self.target_prefix = description.prompt.prefix

    @classmethod
    def built_in(cls, path: Path) -> DescribedDataset:
        """Return the dataset of a description in the package. Raises `DataError`."""
        description, mistakes = read_description(path.parent, path.name)
        if mistakes:
            raise DataError(f"{path}: {mistakes[0].text}")
        return cls(description, description.name, description.name)

    def open(
        self, folder: Path, *, compat: Compat = "fixed", **options: Any
    ) -> RowSource[DescribedRow]:
        """Open the files under `folder`. Raises `DataMissing` or `DataError`."""
        opened = self.opened(folder, compat, options)
        description, files = self.description, self.description.files
        if self.mistakes or files is None or description.rows is None:
            return self.opened_source(opened, (), tuple, files=(), notes=(), place=self.name)
        self._require(folder, [*_names(files.test), *self._stored_in()])
        tests = files_at(folder, _names(files.test))
        section = description.table
        tables = None if section is None else DescribedTables(section, folder, description)

        def demonstrations() -> Sequence[DescribedRow]:
            if not files.demonstrations:
                return source.rows()
            patterns = _names(files.demonstrations)
            self._require(folder, patterns)
            return list(self._usable_rows(opened, files_at(folder, patterns), tables))

        origin = {"licence": description.licence, "to be cited as": description.citation}
        notes = tables.notes if tables else []
        notes += [f"{name}: {text}" for name, text in origin.items() if text]
        source = self.opened_source(
            opened,
            self._usable_rows(opened, tests, tables),
            demonstrations,
            files=stored_files([*tests, *self._stored_in()]),
            notes=notes,
            place=str(folder / tests[0]),
        )
        source.example_ids(1)  # read the first row now, to raise errors in its file here
        return source

    def _usable_rows(
        self, opened: Opened, files: Sequence[str], tables: DescribedTables | None
    ) -> Iterator[DescribedRow]:
        """Yield the usable rows, file by file."""
        rows, seen = self.description.rows, set[str]()
        if rows is None:
            return
        for file in files:
            prefix = f"{Path(file).stem}-" if len(files) > 1 else ""
            for row in rows_of(opened.folder, file, rows.at):
                make = partial(self._row, rows, row, prefix, tables, opened.compat)
                usable = opened.checked(shortened(file, 120), row.number, make, seen)
                if usable is not None:
                    yield usable

    def _row(
        self,
        rows: RowsSection,
        row: Row,
        prefix: str,
        tables: DescribedTables | None,
        compat: Compat,
    ) -> DescribedRow | None:
        """Return a usable row; None if `where` excludes it. Raises `BadRowError`."""
        if isinstance(row.content, BadRowError):
            raise row.content
        if any(_tag(value_of(row, path)) != value for path, value in rows.where.items()):
            return None
        answers = _answers(value_of(row, rows.answers), rows.answers)
        table = None if tables is None else tables.table(row)
        context = self._context([] if table is None else [table], answers, compat)
        cluster = _tag(value_of(row, rows.cluster)) if rows.cluster else ""
        question = value_of(row, rows.question)
        if not isinstance(question, str) or not question.strip():
            raise BadRowError(rows.question, "is missing" if question is None else "must be a text")
        inputs: dict[str, Any] = {
            name: _text(row, text) for name, text in self.description.texts.items()
        }
        inputs["question"] = question
        if table is not None:
            inputs["table"] = table
            if "{title}" in self.source + self.instruction:
                inputs["title"] = table.title or ""
        context |= {name: value_of(row, path) for name, path in rows.context.items()}
        by_likeness = self.metric in _LIKENESS or context.get("kind") == "free_text"
        example = Example(
            id=prefix + (name_of(value_of(row, rows.id), rows.id) if rows.id else str(row.number)),
            inputs=inputs,
            question=question,
            references=answers,
            target=", ".join(answers),
            context={"question": question, **context},
            tags={name: _tag(value_of(row, path)) for name, path in rows.tags.items()},
            cluster=self._shared(cluster),
            has_verdict=not by_likeness or self.description.defaults.threshold is not None,
        )
        return DescribedRow(example, None if tables is None else self._shared(tables.name(row)))

    def _context(
        self, tables: Sequence[Table], answers: tuple[str, ...], compat: Compat
    ) -> dict[str, Any]:
        """Return the part of the metric's context that is not in the row's own fields."""
        context: dict[str, Any] = {}
        scoring = self.description.scoring
        if scoring.metric == "typed_answer":
            from pytest_tablebench.datasets.answers import answer_context

            context = answer_context(tables, answers, metric=None, tolerance=None, unit=None)
        context |= scoring.arguments
        if compat == "reference":
            context |= scoring.reference_arguments
        return context

    def _shared(self, name: str | None) -> str | None:
        """Return a cluster's name with the dataset's, because names are unique only within it."""
        return f"{self.name}/{name}" if name else None

    def example(self, row: DescribedRow) -> Example:
        """Return the example of a row."""
        return row.made

    def stratum(self, row: DescribedRow) -> Stratum | None:
        """Return the tags, and the name of the table or of the cluster; None without a name."""
        shared = row.table_name or row.made.cluster
        return None if shared is None else Stratum(tuple(sorted(row.made.tags.items())), shared)

    def _require(self, folder: Path, names: Sequence[str]) -> None:
        """Raise `DataMissing` or `DataError` for files that are not in the folder."""
        files = [name for name in stored_files(names) if "*" not in name]
        require_files(folder, files, fetch=self.fetch)

    def _stored_in(self) -> tuple[str, ...]:
        section = self.description.table
        return () if section is None or not section.stored_in else (section.stored_in,)


def _names(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _upstream(folder: str, description: DatasetDescription, section: UpstreamSection) -> Upstream:
    host: Any = section.host
    return Upstream(
        folder,
        host,
        section.repository,
        section.revision,
        pinned=section.pinned,
        licence=Licence(description.licence or "not stated", section.licence_address),
        files=tuple(File(path, sha256=section.sha256.get(path)) for path in section.files),
    )


def _tag(value: Any) -> str:
    """Return a field as text: "" for null, a list or an object; `true` and `false` as in JSON."""
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answers(value: Any, path: str) -> tuple[str, ...]:
    """Return the answers of a row as texts. Raises `BadRowError` if there are none."""
    answers = value if isinstance(value, list) else [value]
    if not answers or any(answer is None or isinstance(answer, dict | list) for answer in answers):
        raise BadRowError(
            path, "is missing" if value is None else "must be a text, a number or a list of them"
        )
    return tuple(map(_tag, answers))


def _text(row: Row, section: TextSection) -> str:
    """Return a text of the prompt; several texts are joined in order."""
    value = value_of(row, section.items)
    if not isinstance(value, list):
        return _tag(value)
    items = [Row(number, item, (*row.around,)) for number, item in enumerate(value, start=1)]
    if section.order:
        items.sort(key=lambda item: _order(value_of(item, section.order), section.order))
    texts = [value_of(item, section.text) if section.text else item.content for item in items]
    return section.separator.join(map(_tag, texts))


def _order(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRowError(path, "must be a number to sort by")
    return value
