"""The sections of `tablebench.toml`, and the checks on them."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_tablebench.config.parameters import RESERVED
from pytest_tablebench.datasets._questions import INSTRUCTION
from pytest_tablebench.datasets.described._sections import Mistake, SectionReader, toml_of
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table_part import TablePart, area_of
from pytest_tablebench.tables.text_files import is_encoding
from pytest_tablebench.util.names import known_names, shortened

SETTINGS_FILE = "tablebench.toml"

FORMS = ("cells", "records", "text", "file")
"""Keys of `[table]` that locate the table; a description has exactly one."""

_HEADERS = ("header", "column_paths", "row_paths")

READERS = ("html", "csv", "tsv")
"""Formats of a table in a text."""

_MOST_PARTS = 20
"""The most parts of a path."""

HOSTS = ("github", "github_archive", "hub", "modelscope")


@dataclass(frozen=True)
class DefaultsSection:
    """The dataset's defaults for options that are not set (see `datasets.Dataset`)."""

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
    """The source from which `tablebench pull` downloads the files (see `pull.Upstream`).

    `sha256` maps a file's path to its hexadecimal digest.
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
    """Names or patterns of files in the dataset's folder; `archive.zip/name` is in an archive."""

    test: str | tuple[str, ...]
    demonstrations: str | tuple[str, ...] = ()


@dataclass(frozen=True)
class RowsSection:
    """The paths of the rows in a file and of their fields (see `_rows.py`).

    Arguments:
        at: the path of the rows from the top of the file, as `data.*.questions.*`.
        id: the field of an id that is unique in the file; "": the row's number.
        question: the field of the question.
        answers: the field of the answer: a text, a number or a list of them.
        cluster: the field of the name that dependent rows share; a row with an empty field is its
            own cluster. "": rows with the same table are a cluster.
        where: the required values of fields, by path; other rows are not used.
        tags: the paths of tags, by the tag's name.
        context: the paths of fields that the metric receives, by their names in its context.
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
    """The paths of a row's table. Exactly one of `cells`, `records`, `text` and `file` is set.

    Arguments:
        cells: the field with a list of rows. The first row is the header unless `header` or
            `column_paths` is set.
        header: the field with the list of column names.
        column_paths, row_paths: the fields with a list of headers, outermost first, for each column
            or row.
        records: the field with a list of objects, whose keys are the header.
        text, reader: the field with the table as a text, and its format, one of `READERS`.
        file: the field with the path of a table file in `folder`.
        folder: the folder of table files, inside the dataset's folder.
        title: a template with fields in braces, as `{page}: {section}`.
        stored_in: the file whose rows are the tables, if questions and tables are in different
            files. The paths above then start at the table's row.
        key: the field of the table's id, in the table's row.
        named_by: the field of the table's id, in the question's row.
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
        """Yield (key, path) of each field that the section sets."""
        for name in (*FORMS, *_HEADERS, "key", "named_by"):
            path: str = vars(self)[name]
            if path:
                yield name, path

    def parts(self) -> list[str]:
        """Return the paths of the table's content: cells, header, header paths."""
        return [path for name, path in self.paths() if name in (*FORMS, *_HEADERS)]


@dataclass(frozen=True)
class TextSection:
    """A text of the prompt, joined from several objects.

    Arguments:
        items: the path of the text, or of a list.
        text: the field of the text in each object of the list; "": the items are texts.
        order: the field that the objects are sorted by; "": their order in the file.
        separator: the text between two of them.
    """

    items: str
    text: str = ""
    order: str = ""
    separator: str = "\n"


@dataclass(frozen=True)
class PromptSection:
    """The prompt's templates, with `{table}`, `{title}`, `{question}` and the names of texts.

    The default `source` has all texts, the title if the table section sets one, the table and the
    question.
    """

    instruction: str = ""
    source: str = ""
    prefix: str = "Answer: "


@dataclass(frozen=True)
class ScoringSection:
    """The scoring of replies.

    The metric receives `arguments` with its context. In `reference` mode `reference_arguments`
    override them.
    """

    metric: str = "typed_answer"
    chain: tuple[str, ...] = ("to_string_stripped",)
    part: str | None = None
    parts: tuple[str, ...] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reference_arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetDescription:
    """The content of `tablebench.toml`.

    Without `files` and `rows` it describes a folder of the user's own questions and tables.
    """

    name: str = ""
    benchmark: str = "own"
    licence: str = ""
    citation: str = ""
    include_hidden: bool = False
    allow_unusable: bool = False
    encoding: str = ""
    corrections: str = ""
    tables: Mapping[str, TablePart] = field(default_factory=dict)
    defaults: DefaultsSection = field(default_factory=DefaultsSection)
    upstream: UpstreamSection | None = None
    files: FilesSection | None = None
    rows: RowsSection | None = None
    table: TableSection | None = None
    texts: Mapping[str, TextSection] = field(default_factory=dict)
    prompt: PromptSection = field(default_factory=PromptSection)
    scoring: ScoringSection = field(default_factory=ScoringSection)

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of `Dataset` that it sets, by name."""
        names = ("benchmark", "licence", "citation", "corrections")
        values = {name: getattr(self, name) for name in names} | vars(self.defaults)
        del values["instruction"]
        return {name: value for name, value in values.items() if value not in (None, (), "")}

    @property
    def instruction(self) -> str:
        """The start of the prompt."""
        return self.prompt.instruction or self.defaults.instruction or INSTRUCTION

    @property
    def source(self) -> str:
        """The template of the prompt after the instruction."""
        parts = [f"{{{name}}}\n\n" for name in self.texts]
        if self.table is not None:
            title = "Title: {title}\n" if self.table.title else ""
            parts.append(f"{title}Table:\n{{table}}\n\n")
        return self.prompt.source or "".join([*parts, "Question: {question}\n"])


def read_description(
    folder: Path, name: str = SETTINGS_FILE
) -> tuple[DatasetDescription, tuple[Mistake, ...]]:
    """Return the description in a folder, and all mistakes in it; the defaults without a file."""
    if not (folder / name).is_file():
        return DatasetDescription(), ()
    try:
        content, text = toml_of(folder, name)
    except DataError as error:
        message = str(error).removeprefix(f"{name}: ")
        return DatasetDescription(), (Mistake(None, message),)
    reader = SectionReader(text)
    description = reader.section(DatasetDescription, content)
    for keys, message in _problems(description):
        reader.add(keys, message)
    return description, tuple(sorted(reader.mistakes, key=lambda mistake: mistake.line or 0))


def _problems(description: DatasetDescription) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (keys, message) for each mistake that needs more than a value's type to find."""
    defaults = description.defaults
    if defaults.limit == 0:
        yield ("defaults", "limit"), "limit must be a whole number from 1"
    for name in sorted(RESERVED & defaults.params.keys()):
        yield ("defaults", "params"), f"params cannot set {name}, which has an option"
    for name, part in description.tables.items():
        label = f"tables.{shortened(name, 60)!r}"
        if part.range and area_of(part.range) is None:
            yield ("tables", name), f"{label}: range must be two corners, as B4:F20"
        if part.range and (part.table or part.header_row):
            yield ("tables", name), f"{label}: range excludes table and header_row"
    if description.encoding and not is_encoding(description.encoding):
        yield ("encoding",), f"unknown encoding {shortened(description.encoding, 40)!r}"
    upstream = description.upstream
    if upstream is not None and upstream.host not in ("", *HOSTS):
        hint = known_names(upstream.host, HOSTS)
        yield ("upstream", "host"), f"unknown host {shortened(upstream.host, 40)!r}; {hint}"
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
    for keys, path in paths.items():
        problem = _path_problem(path)
        if problem is not None:
            yield keys, f"{keys[-1]}: {problem}"


def _table_problems(table: TableSection) -> Iterator[tuple[tuple[str, ...], str]]:
    named = dict(table.paths())
    forms = [name for name in FORMS if name in named]
    if len(forms) != 1:
        named_forms = f"it has {' and '.join(forms)}" if forms else "it has none of them"
        yield ("table",), f"[table] needs exactly one of cells, records, text, file; {named_forms}"
    for name, path in named.items():
        problem = _path_problem(path)
        if problem is not None:
            yield ("table", name), f"{name}: {problem}"
        if name in _HEADERS and "cells" not in named:
            yield ("table", name), f"{name} needs cells"
    if table.header and table.column_paths:
        yield ("table", "header"), "header and column_paths exclude each other: remove one of them"
    if bool(table.text) != bool(table.reader) or table.reader not in ("", *READERS):
        hint = known_names(table.reader, READERS)
        yield ("table", "reader"), f"text needs a reader; {hint}"
    joined = [name for name in ("stored_in", "key", "named_by") if vars(table)[name]]
    if joined and len(joined) < 3:
        yield (
            ("table", joined[0]),
            "stored_in, key and named_by need each other: set all three or none",
        )


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
                label = shortened(name, 40)
                yield ("prompt", key), f"{key}: unknown {{{label}}}; {known_names(name, names)}"


def _path_problem(path: str) -> str | None:
    """Return what is wrong with the syntax of a path; None if it is valid."""
    names = path.lstrip("^").split(".")
    if len(names) > _MOST_PARTS:
        return f"{shortened(path, 60)!r} has more than {_MOST_PARTS} parts"
    if path and not path.lstrip("^"):
        return f"{shortened(path, 60)!r} names no field after ^"
    if path and not all(names):
        return f"{shortened(path, 60)!r} has an empty part; write names with one dot between"
    return None
