"""What was asked, each text once: `texts.jsonl.gz` of a run folder.

Gzip members follow each other, each of at most `BLOCK_LINES` lines and written at once. So the
file reads up to its last whole member after a crash, a run that goes on appends further members,
and any gzip tool reads it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.record import SCHEMA, check_schema
from pytest_tablebench.util.entries import listing
from pytest_tablebench.util.names import printable

TEXTS = "texts.jsonl.gz"

BLOCK_LINES = 100
"""Lines that a crash can lose at most."""

_BLOCK_CHARACTERS = 4_000_000
_CHUNK = 1 << 18
_GZIP = 31  # zlib's number for a gzip member with the largest window


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt, by the digest that records name it with."""

    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class TranscriptText:
    """What was said behind a prompt: who (`user`, `reply`, `program`, ...) and what, in order.

    Records name it by its digest.
    """

    digest: str
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ExampleText:
    """An example as it was asked: perturbed.

    `id` is `dataset/example/perturbation`, `tables` holds mappings with `title` (text or None),
    `header` (list of names) and `rows` (lists of cells: text, number, boolean or None). A table
    with more has it in `structure`, by the names that `Table` has for it.
    """

    id: str
    question: str
    tables: tuple[Mapping[str, Any], ...]


Text = PromptText | TranscriptText | ExampleText


def example_key(dataset: str, example_id: str, perturbation: str) -> str:
    """Return the id of an example's text."""
    return f"{dataset}/{example_id}/{perturbation}"


class TextWriter:
    """Appends texts to a file, each only once, also over several runs into the same folder.

    Made with the path of the file, which is not looked at before the first text: until a run has
    claimed the folder, what lies there is another's. Every method may raise `OSError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: Any = None
        self._written: set[str] | None = None
        self._block = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        self._parts: list[bytes] = []
        self._lines = 0
        self._characters = 0

    def prompt(self, digest: str, text: str) -> None:
        """Keep a prompt under the digest that records have for it."""
        self._append("prompt", digest, text=text)

    def transcript(self, digest: str, turns: Sequence[Sequence[str]]) -> None:
        """Keep what was said behind a prompt, under the digest that records have for it."""
        self._append("transcript", digest, turns=turns)

    def example(self, id: str, question: str, tables: Iterable[Mapping[str, Any]]) -> None:  # noqa: A002 - the name in the file
        """Keep a question and its tables; `id` as `example_key` returns it."""
        shown = [{"title": None, **table} for table in tables]
        self._append("example", id, question=question, tables=shown)

    def flush(self) -> None:
        """Bring everything so far into the file."""
        if not self._lines:
            return
        data = b"".join([*self._parts, self._block.flush()])
        self._block = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        self._parts, self._lines, self._characters = [], 0, 0
        if self._file is None:
            self._file = self.path.open("ab", buffering=0)
        start = self._file.seek(0, 2)
        try:
            if self._file.write(data) != len(data):
                raise OSError(f"{self.path}: no room for all of it")
        except OSError:
            self._file.truncate(start)
            raise

    def close(self) -> None:
        """Write what is left and close the file."""
        try:
            self.flush()
        finally:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _append(self, kind: str, name: str, **fields: Any) -> None:
        if self._written is None:
            self._written = self._read_back() if self.path.exists() else set()
        if (key := f"{kind[0]}{name}") in self._written:
            return
        self._written.add(key)
        line = {"schema": SCHEMA, "kind": kind, "id": name, **fields}
        text = json.dumps(line, default=str) + "\n"
        self._parts.append(self._block.compress(text.encode("ascii")))
        self._lines += 1
        self._characters += len(text)
        if self._lines >= BLOCK_LINES or self._characters >= _BLOCK_CHARACTERS:
            self.flush()

    def _read_back(self) -> set[str]:
        """Return what the file has, and cut off what a crash left of a last member."""
        end, written = 0, set()
        for block, reached in _members(self.path):
            end = reached
            for line in block.split(b"\n"):
                entry = _parsed(line)
                if entry is not None:
                    written.add(f"{entry['kind'][0]}{entry['id']}")
        if end < self.path.stat().st_size:
            with self.path.open("r+b") as file:
                file.truncate(end)
        return written


def read_texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a file one by one, in the order they came.

    A missing file has none; a last member torn by a crash and everything behind a damaged
    place is left out. Raises `SettingsError` for a newer schema.
    """
    for entry in _lines(path):
        if entry["kind"] == "prompt":
            yield PromptText(entry["id"], str(entry.get("text", "")))
        elif entry["kind"] == "transcript":
            turns = [turn for turn in listing(entry.get("turns")) if _is_turn(turn)]
            yield TranscriptText(entry["id"], tuple((turn[0], turn[1]) for turn in turns))
        else:
            yield _example(entry)


def read_examples(path: Path) -> Iterator[ExampleText]:
    """Yield the examples of a file alone; lines of other kinds are not even read."""
    return (_example(entry) for entry in _lines(path, b'"kind": "example"'))


def _lines(path: Path, holding: bytes = b"") -> Iterator[dict[str, Any]]:
    """Yield the texts on those lines of a file that hold some bytes."""
    for block, _ in _members(path) if path.exists() else ():
        for line in block.split(b"\n"):
            entry = _parsed(line) if holding in line else None
            if entry is not None:
                check_schema(entry, str(path))
                yield entry


def _example(entry: Mapping[str, Any]) -> ExampleText:
    tables = tuple(table for table in listing(entry.get("tables")) if _is_table(table))
    return ExampleText(entry["id"], str(entry.get("question", "")), tables)


def merge_texts(files: Sequence[Path], out: Path) -> None:
    """Write the texts of several files into a new one, each once.

    Raises `SettingsError` where two files have different texts under one name, `OSError`.
    """
    writer, digests = TextWriter(out), dict[str, bytes]()
    try:
        for file in files:
            for text in read_texts(file):
                name, mark = _mark(text)
                if digests.setdefault(name, mark) != mark:
                    raise SettingsError(
                        f"{printable(str(file))}: {printable(name, 120)} is another text there "
                        f"than in the runs before it"
                    )
                if isinstance(text, PromptText):
                    writer.prompt(text.digest, text.text)
                elif isinstance(text, TranscriptText):
                    writer.transcript(text.digest, text.turns)
                else:
                    writer.example(text.id, text.question, text.tables)
    finally:
        writer.close()


def _mark(text: Text) -> tuple[str, bytes]:
    """Return the name of a text, and a digest of what it holds."""
    name, *rest = (getattr(text, item.name) for item in fields(text))
    data = json.dumps(rest, sort_keys=True).encode("ascii")
    kind = type(text).__name__.removesuffix("Text").lower()
    return f"{kind} {name}", blake2b(data, digest_size=12).digest()


def _is_turn(data: object) -> bool:
    return isinstance(data, list) and len(data) == 2 and all(isinstance(t, str) for t in data)


def _is_table(data: object) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("header"), list)
        and isinstance(data.get("rows"), list)
        and all(isinstance(row, list) for row in data["rows"])
    )


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line:
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_text = isinstance(entry, dict) and entry.get("kind") in {"prompt", "transcript", "example"}
    return entry if is_text and isinstance(entry.get("id"), str) else None


def _members(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield each whole member's content and the place in the file where it ends."""
    with path.open("rb") as file:
        reader, parts, end, size = zlib.decompressobj(_GZIP), [], 0, 0
        data = file.read(_CHUNK)
        while data:
            try:
                parts.append(reader.decompress(data))
            except zlib.error:
                return
            size += len(data) - len(reader.unused_data)
            if reader.eof:
                end, size = end + size, 0
                yield b"".join(parts), end
                data, parts, reader = reader.unused_data, [], zlib.decompressobj(_GZIP)
                if data:
                    continue
            data = file.read(_CHUNK)
