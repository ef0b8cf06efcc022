"""Write a dataset folder table by table, so that a killed run can be continued.

During a run the questions are in one file of JSON lines. A line after each table's questions
records the progress; questions after the last such line are made again. At the end the questions
are written in a drawn order, so that the first ones are a sample of all.
"""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from pytest_tablebench.errors import DataError, ModelError, TableError, writing
from pytest_tablebench.generate.pair import Pair, RejectedError
from pytest_tablebench.generate.question_maker import (
    Conversation,
    Finish,
    QuestionMaker,
    reply_text,
)
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.csv_text import as_csv
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable, shortened, slug
from pytest_tablebench.util.seeds import seeded_random

PART = ".generating.jsonl"
"""The file of an unfinished run."""

_FEW = 100
"""Number of questions that a run uses by default."""


@dataclass(frozen=True)
class TableSource:
    """A table that can be read.

    Arguments:
        name: of the table.
        read: returns the table; with `step`, it receives the text of the reply. It raises
            `DataError` or `TableError` for a file that cannot be read, and `RejectedError` for
            content that is not a table for questions.
        step: a request to a model for the table; None without one.
    """

    name: str
    read: Callable[..., Table]
    step: Ask | None = None

    def converse(self) -> Conversation[Table]:
        """Return the table. Raises `ModelError` and the errors of `read`."""
        if self.step is None:
            return self.read()
        reply = yield from reply_text(self.step)
        return self.read(reply)


def text_table(table: Table) -> Table:
    """Return a table whose cells are texts, as read from a CSV file."""
    return Table(
        tuple(map(_cell_text, table.header)),
        tuple(tuple(map(_cell_text, row)) for row in table.rows),
        table.title,
        name=table.name,
    )


def _cell_text(cell: Cell) -> str:
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(str(cell).split())


@dataclass(frozen=True)
class PreparedTable:
    """A table after the conversations with models.

    Arguments:
        name: of its source.
        table: as makers take it.
        finish: makes its questions.
    """

    name: str
    table: Table
    finish: Finish


Answer = Callable[[Iterator[Conversation[PreparedTable]]], Iterator[PreparedTable | Exception]]
"""Answers conversations about tables; yields their values or exceptions in order."""


def write_dataset(
    folder: Path,
    sources: Iterable[TableSource],
    maker: QuestionMaker,
    *,
    made_with: Mapping[str, Any],
    limit: int | None = None,
    say: Callable[[str], None] = lambda _: None,
    answer: Answer | None = None,
) -> int:
    """Write the questions about all sources as a dataset folder; return their number.

    Arguments:
        folder: new, empty, or left by the same command when it was killed.
        sources: in an order that is always the same.
        maker: makes the questions.
        made_with: the settings that determine the questions; a killed run can be continued only
            with the same ones.
        limit: of questions in all.
        say: receives a message about each source that cannot be read.
        answer: answers the requests to models; it may end before the sources do.

    Raises `DataError` if the folder has other contents, `SettingsError` if it cannot be written.
    """
    with writing(f"{folder} cannot be written"):
        part = _PartialFile(folder, made_with)
        with part:
            if part.state is not None:
                maker.resume(part.state)
            left = islice(sources, part.done, None)
            conversations = (prepare(source, maker, say) for source in left)
            _make(part, (answer or _without_models)(conversations), maker, limit)
            count = part.count
            if count:
                _finish(folder, part, made_with, maker.together)
    (folder / PART).unlink()
    return count


def _without_models(
    conversations: Iterator[Conversation[PreparedTable]],
) -> Iterator[PreparedTable | Exception]:
    for conversation in conversations:
        try:
            next(conversation)
        except StopIteration as end:
            yield end.value
        except RejectedError as error:
            yield error
        else:
            raise RuntimeError("a table's questions need a model")


def _make(
    part: _PartialFile,
    prepared_tables: Iterator[PreparedTable | Exception],
    maker: QuestionMaker,
    limit: int | None,
) -> None:
    folder = part.folder
    while limit is None or maker.tally.accepted < limit:
        prepared = next(prepared_tables, None)
        if prepared is None:
            return
        try:
            if isinstance(prepared, Exception):
                raise prepared
            digest, pairs = prepared.finish(None if limit is None else limit - maker.tally.accepted)
            if digest in part.digests:
                raise RejectedError("same as another")
        except RejectedError as error:
            maker.tally.tables[error.reason] += 1
            part.close_table("", maker)
            continue
        stem = f"{slug(Path(prepared.name).stem, 40, digest=False)}-{digest[:8]}"
        written = set[str]()
        for pair in pairs:
            table_source, file = prepared.table, stem
            if pair.other is not None:
                table_source, file = pair.other.table, f"{stem}-{pair.other.name}"
            file = f"tables/{file}.{'xlsx' if table_source.is_structured else 'csv'}"
            if file not in written:
                _write_table(table_source, folder / file)
                written.add(file)
            part.append(_question_row(pair, file, table_source.title))
        part.close_table(digest, maker)


def prepare(
    source: TableSource, maker: QuestionMaker, say: Callable[[str], None]
) -> Conversation[PreparedTable]:
    """Read a source's table, and hold the conversations about it.

    `say` receives reading errors. Raises `RejectedError` for a table that is left out.
    """
    try:
        table = yield from source.converse()
    except (DataError, TableError) as error:
        say(f"{shortened(source.name, 80)} is left out: {error}")
        raise RejectedError("unreadable") from None
    except ModelError as error:
        raise RejectedError(f"invented: no reply: {error.reason}") from None
    if table.is_structured and not maker.reads_structure:
        raise RejectedError("merged cells or several lines of headings")
    usable = table if table.is_structured else text_table(table)
    finish = yield from maker.converse(usable)
    return PreparedTable(source.name, usable, finish)


def _write_table(table: Table, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    if table.is_structured:
        table.to_xlsx(path)
    else:
        write_whole(path, _csv(table))


def _csv(table: Table) -> str:
    """Return CSV with a quoted header, so that its separator is recognized correctly."""
    header = io.StringIO()
    csv.writer(header, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(table.header)
    return header.getvalue() + as_csv(table.rows)


def _question_row(pair: Pair, file: str, title: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": pair.id,
        "table": file,
        "question": pair.question,
        "answer": list(pair.answers) if len(pair.answers) > 1 else "".join(pair.answers),
    }
    for name in ("metric", "tolerance", "unit", "threshold"):
        if value := getattr(pair, name):
            row[name] = value
    if pair.aliases:
        row["aliases"] = {answer: list(names) for answer, names in pair.aliases.items()}
    if title:
        row["title"] = title
    return row | {"tags": dict(pair.tags), "perturbations": list(pair.perturbations)}


class _PartialFile:
    """The file of an unfinished run.

    Attributes:
        folder: that contains the file.
        done: number of finished sources. digests: of their tables.
        count: number of questions. state: of the maker after the last source, None at first.
    """

    def __init__(self, folder: Path, made_with: Mapping[str, Any]) -> None:
        self.done, self.count = 0, 0
        self.digests: set[str] = set()
        self.state: Mapping[str, Any] | None = None
        self.folder = folder
        self._path, self._head = folder / PART, {"made_with": dict(made_with)}
        self._file: BinaryIO
        self._waiting: list[bytes] = []
        folder.mkdir(parents=True, exist_ok=True)
        if not self._path.exists() and any(folder.iterdir()):
            raise DataError(f"{folder} is not empty; name a new folder")

    def __enter__(self) -> _PartialFile:
        end = self._read() if self._path.exists() else 0
        self._file = self._path.open("r+b" if end else "wb")
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._write(self._head)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self) -> int:
        """Read the file; return the offset after the last finished table."""
        position = end = count = 0
        with self._path.open("rb") as file:
            for line in file:
                position += len(line)
                try:
                    record = parsed_json(line)
                except ValueError:
                    break
                if end == 0:
                    if record != json.loads(json.dumps(self._head)):
                        raise DataError(
                            f"{self._path.parent} was begun with other tables or options; give "
                            f"the same ones to continue, or name another folder"
                        )
                    end = position
                elif "done" in record and line.endswith(b"\n"):
                    end, self.count = position, count
                    self.done, self.state = record["done"], record["state"]
                    if record["digest"]:
                        self.digests.add(record["digest"])
                else:
                    count += 1
        return end

    def _write(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        self._waiting.append(line)

    def append(self, row: Mapping[str, Any]) -> None:
        self._write(row)
        self.count += 1

    def close_table(self, digest: str, maker: QuestionMaker) -> None:
        self.done += 1
        if digest:
            self.digests.add(digest)
        self._write({"done": self.done, "digest": digest, "state": maker.state()})
        self._file.write(b"".join(self._waiting))
        self._file.flush()
        self._waiting.clear()

    def offsets(self) -> array[int]:
        """Return the offset of each question's line."""
        starts, position = array("Q"), 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.startswith((b'{"done"', b'{"made_with"')):
                    starts.append(position)
                position += len(line)
        return starts

    def lines(self, offsets: Iterable[int]) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            for offset in offsets:
                file.seek(offset)
                yield file.readline()


def _finish(folder: Path, part: _PartialFile, made_with: Mapping[str, Any], together: int) -> None:
    lines = part.offsets()
    starts = array("Q", range(0, len(lines), together))
    seeded_random("order of questions", seed=int(made_with.get("seed", 0))).shuffle(starts)
    offsets = array("Q", (offset for at in starts for offset in lines[at : at + together]))
    count = len(offsets)
    limit = f"limit = {_FEW}  # of {count:,}, in a drawn order" if count > _FEW else ""
    options = " ".join(f"{name}={value}" for name, value in made_with.items() if name != "files")
    text = f"# Written by `tablebench generate`: {printable(options, 300)}\n\n[defaults]\n{limit}\n"
    write_whole(folder / "tablebench.toml", text.replace("\n\n[defaults]\n\n", "\n"))
    write_whole(folder / "questions.jsonl", part.lines(offsets))
