"""What `tablebench.toml` may say of a dataset, section by section."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_tablebench.config.parameters import RESERVED
from pytest_tablebench.datasets._questions import INSTRUCTION
from pytest_tablebench.datasets.described._fields import path_problem
from pytest_tablebench.datasets.described._sections import Mistake, SectionReader, toml_of
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import known_names, printable

SETTINGS_FILE = "tablebench.toml"

FORMS = ("cells", "records", "text", "file")
"""Keys that say where a table is, of which a description has one."""

_HEADERS = ("header", "column_paths", "row_paths")

READERS = ("html", "csv", "tsv")
"""What reads a table from text."""

HOSTS = ("github", "github_archive", "hub", "modelscope")


@dataclass(frozen=True)
class DefaultsSection:
    """How a dataset is run where no option says otherwise (see `datasets.Dataset`)."""

    shots: int = 0
    limit: int | None = None
    threshold: float | None = None
    instruction: str | None = None
    strategy: str | tuple[str, ...] = ()
    modality: str | tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    serializers: tuple[str, ...] = ()
    perturbations: tuple[str, ...] = ()


@dataclass(frozen=True)
class UpstreamSection:
    """Where `tablebench pull` gets the files: see `pull.Upstream`.

    `sha256` has the hexadecimal digest of a file by its path.
    """

    host: str
    repository: str
    files: tuple[str, ...]
    revision: str = "main"
    pinned: bool = False
    licence_address: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FilesSection:
    """Files below the dataset's folder: names or patterns, in an archive `archive.zip/name`."""

    test: str | tuple[str, ...]
    demonstrations: str | tuple[str, ...] = ()


@dataclass(frozen=True)
class RowsSection:
    """Where the rows are in a file, and the paths of their fields (see `_fields.py`).

    Arguments:
        at: of the rows, from the top of the file: `data.*.questions.*`.
        id: an id that is unique in the file; "": the number of the row.
        question: what is asked.
        answers: a text, a number or a list of them.
        cluster: what the row shares with others; rows where it is empty are their own. "": the
            content of the table.
        where: what fields have to be for a row to be used.
        tags, context: fields that become tags, and that the metric is given.
    """

    question: str
    answers: str
    at: str = "*"
    id: str = ""
    cluster: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableSection:
    """Where a row's table is. Exactly one of `cells`, `records`, `text` and `file` is named.

    Arguments:
        cells: a list of rows; the first is the header where neither `header` nor `column_paths`
            is named.
        header: a list of column names.
        column_paths, row_paths: for each column or row the list of its headers, outermost first.
        records: a list of objects, whose keys are the header.
        text, reader: a text, and what reads it: one of `READERS`.
        file: the path of a table file below `folder`.
        title: with fields in braces: `{page}: {section}`.
        stored_in, key, named_by: the tables are rows of another file; `key` is the field of their
            ids, `named_by` the field of the question's row that has one. All other paths are of
            the table's row then.
    """

    cells: str = ""
    header: str = ""
    column_paths: str = ""
    row_paths: str = ""
    records: str = ""
    text: str = ""
    reader: str = ""
    file: str = ""
    folder: str = ""
    title: str = ""
    stored_in: str = ""
    key: str = ""
    named_by: str = ""

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the key and the path of each field that the section names."""
        for name in (*FORMS, *_HEADERS, "key", "named_by"):
            path: str = vars(self)[name]
            if path:
                yield name, path

    def parts(self) -> list[str]:
        """Return the paths of what a table is made of."""
        return [path for name, path in self.paths() if name in (*FORMS, *_HEADERS)]


@dataclass(frozen=True)
class TextSection:
    """Texts next to the table: `text` of each of the objects at `items`, by their `order`."""

    items: str
    text: str = ""
    order: str = ""
    separator: str = "\n"


@dataclass(frozen=True)
class PromptSection:
    """The prompt, with `{table}`, `{title}`, `{question}` and the names of texts in braces.

    Without `source` it has all texts, the title where tables have one, the table and the question.
    """

    instruction: str = ""
    source: str = ""
    prefix: str = "Answer: "


@dataclass(frozen=True)
class ScoringSection:
    """How replies are scored.

    `arguments` are passed to the metric with its context, in `reference` mode with
    `reference_arguments` over them.
    """

    metric: str = "typed_answer"
    chain: tuple[str, ...] = ("to_string_stripped",)
    part: str | None = None
    parts: tuple[str, ...] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reference_arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetDescription:
    """What the file says; without `files` the folder has a file of questions and table files."""

    name: str = ""
    benchmark: str = "own"
    licence: str = ""
    citation: str = ""
    include_hidden: bool = False
    defaults: DefaultsSection = field(default_factory=DefaultsSection)
    upstream: UpstreamSection | None = None
    files: FilesSection | None = None
    rows: RowsSection | None = None
    table: TableSection | None = None
    texts: Mapping[str, TextSection] = field(default_factory=dict)
    prompt: PromptSection = field(default_factory=PromptSection)
    scoring: ScoringSection = field(default_factory=ScoringSection)

    @property
    def instruction(self) -> str:
        """The first lines of the prompt."""
        return self.prompt.instruction or self.defaults.instruction or INSTRUCTION

    @property
    def source(self) -> str:
        """The prompt behind the instruction."""
        parts = [f"{{{name}}}\n\n" for name in self.texts]
        if self.table is not None:
            title = "Title: {title}\n" if self.table.title else ""
            parts.append(f"{title}Table:\n{{table}}\n\n")
        return self.prompt.source or "".join([*parts, "Question: {question}\n"])


def read_description(
    folder: Path, name: str = SETTINGS_FILE
) -> tuple[DatasetDescription, tuple[Mistake, ...]]:
    """Return what the file of a folder says, and all that is wrong with it."""
    if not (folder / name).is_file():
        return DatasetDescription(), ()
    try:
        content, text = toml_of(folder, name)
    except DataError as error:
        message = str(error).removeprefix(f"{name}: ")
        return DatasetDescription(), (Mistake(None, message),)
    reader = SectionReader(text)
    description = reader.section(DatasetDescription, content)
    for place, message in _problems(description):
        reader.add(place, message)
    return description, tuple(sorted(reader.mistakes, key=lambda mistake: mistake.line or 0))


def _problems(description: DatasetDescription) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the place and what is wrong there, of sections that do not fit each other."""
    defaults = description.defaults
    if defaults.limit == 0:
        yield ("defaults", "limit"), "limit must be a whole number from 1"
    for name in sorted(RESERVED & defaults.params.keys()):
        yield ("defaults", "params"), f"params cannot set {name}, which has an option"
    upstream = description.upstream
    if upstream is not None and upstream.host not in ("", *HOSTS):
        hint = known_names(upstream.host, HOSTS)
        yield ("upstream", "host"), f"unknown host {printable(upstream.host, 40)!r}; {hint}"
    needed = (("files", description.files), ("rows", description.rows))
    if all(section is None for _, section in needed):
        return
    for name, section in needed:
        if section is None:
            yield (), f"the section [{name}] is missing"
    yield from _row_problems(description)
    if description.table is not None:
        yield from _table_problems(description.table)
    yield from _prompt_problems(description)


def _row_problems(description: DatasetDescription) -> Iterator[tuple[tuple[str, ...], str]]:
    rows = description.rows
    if rows is None:
        return
    named = {"at": rows.at, "id": rows.id, "question": rows.question, "answers": rows.answers}
    named["cluster"] = rows.cluster
    paths: dict[tuple[str, ...], str] = {("rows", key): path for key, path in named.items()}
    for section, fields in (("tags", rows.tags), ("context", rows.context)):
        paths |= {("rows", section, key): path for key, path in fields.items()}
    paths |= {("rows", "where", key): key for key in rows.where}
    for name, text in description.texts.items():
        fields_of_text = {"items": text.items, "text": text.text, "order": text.order}
        paths |= {("texts", name, key): path for key, path in fields_of_text.items()}
    for place, path in paths.items():
        problem = path_problem(path)
        if problem is not None:
            yield place, f"{place[-1]}: {problem}"


def _table_problems(table: TableSection) -> Iterator[tuple[tuple[str, ...], str]]:
    named = dict(table.paths())
    forms = [name for name in FORMS if name in named]
    if len(forms) != 1:
        named_forms = f"it names {' and '.join(forms)}" if forms else "it names none"
        yield ("table",), f"[table] needs one of cells, records, text and file; {named_forms}"
    for name, path in named.items():
        problem = path_problem(path)
        if problem is not None:
            yield ("table", name), f"{name}: {problem}"
        if name in _HEADERS and "cells" not in named:
            yield ("table", name), f"{name} goes with cells"
    if table.header and table.column_paths:
        yield ("table", "header"), "header and column_paths: name one of them"
    if bool(table.text) != bool(table.reader) or table.reader not in ("", *READERS):
        hint = known_names(table.reader, READERS)
        yield ("table", "reader"), f"text needs a reader; {hint}"
    joined = [name for name in ("stored_in", "key", "named_by") if vars(table)[name]]
    if joined and len(joined) < 3:
        yield ("table", joined[0]), "stored_in, key and named_by are named together"


def _prompt_problems(description: DatasetDescription) -> Iterator[tuple[tuple[str, ...], str]]:
    names = ["question", *description.texts]
    if description.table is not None:
        names += ["table", "title"]
    prompt = description.prompt
    for key, template in (("instruction", prompt.instruction), ("source", description.source)):
        try:
            parts = list(string.Formatter().parse(template))
        except ValueError as error:
            yield ("prompt", key), f"{key}: {error}; write a brace of the text twice"
            continue
        for _, name, form, conversion in parts:
            if name is not None and (name not in names or form or conversion):
                shown = printable(name, 40)
                yield ("prompt", key), f"{key}: unknown {{{shown}}}; {known_names(name, names)}"
