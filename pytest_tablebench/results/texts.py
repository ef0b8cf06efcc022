"""Write and read `texts.jsonl.gz` and `media/` of a run folder: each text and image once.

The file is a sequence of gzip members of at most `BLOCK_LINES` lines, each written at once. After
a crash it is readable up to its last complete member, a continued run appends members, and any
gzip tool can read it.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.record import SCHEMA, check_schema
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.tables.content import STRUCTURE, TableContent
from pytest_tablebench.util.entries import listing, parsed_json
from pytest_tablebench.util.files import write_whole

MEDIA = "media"


class MediaFolder:
    """The images of a run folder. Any number of processes may write into it."""

    def __init__(self, run: Path) -> None:
        self.path = run / MEDIA
        self._written: set[str] = set()

    def put(self, image: Image) -> None:
        """Add an image. Raises `OSError`."""
        if image.digest in self._written:
            return
        target = self.path / image.file_name
        if not target.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(target, image.data)
        self._written.add(image.digest)


_NAME = re.compile(r"([0-9a-f]{64})\.[a-z]{3,4}")


def merge_media(runs: Iterable[Path], out: Path) -> None:
    """Copy the images of several run folders into another, each once.

    Raises `SettingsError` for a file whose digest differs from its name, and `OSError`.
    """
    copied: set[str] = set()
    for run in runs:
        folder = run / MEDIA
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            name_match = _NAME.fullmatch(file.name)
            if name_match is None or file.name in copied:
                continue
            data = file.read_bytes() if file.is_file() else b""
            if hashlib.sha256(data).hexdigest() != name_match[1]:
                raise SettingsError(
                    f"{file} is damaged: its digest differs from its name; delete "
                    f"the file to merge the runs without this image"
                )
            (out / MEDIA).mkdir(exist_ok=True)
            write_whole(out / MEDIA / file.name, data)
            copied.add(file.name)


TEXTS = "texts.jsonl.gz"

BLOCK_LINES = 100
"""The number of lines that a crash can lose at most."""

_BLOCK_CHARACTERS = 4_000_000
_CHUNK = 1 << 18
_GZIP = 31  # zlib's `wbits` for a gzip member with the largest window


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt, with the digest that records contain."""

    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class TranscriptText:
    """The conversation after a prompt, with the digest that records contain.

    Each turn is its kind (`user`, `reply`, `program`, ...) and its text.
    """

    digest: str
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ExampleText:
    """An example after its perturbation.

    `id` is `dataset/example/perturbation`. `tables` contains mappings with `title` (text or None),
    `header` (list of names) and `rows` (lists of cells: text, number, boolean or None). Further
    arguments of `Table` are in `structure`.
    """

    id: str
    question: str
    tables: tuple[Mapping[str, Any], ...]


Text = PromptText | TranscriptText | ExampleText


def table_entry(table: TableContent) -> dict[str, Any]:
    """Return a table as in `ExampleText`."""
    rows = [list(row) for row in table.rows]
    entry: dict[str, Any] = {"title": table.title, "header": list(table.header), "rows": rows}
    if table.is_structured:
        entry["structure"] = {name: getattr(table, name) for name in STRUCTURE}
    return entry


def example_key(dataset: str, example_id: str, perturbation: str) -> str:
    """Return the id of an example's text."""
    return f"{dataset}/{example_id}/{perturbation}"


class TextWriter:
    """Appends texts to a file, each only once, also if several runs use the folder.

    The file is not read before the first text, because the run must claim the folder first. Every
    method may raise `OSError`.
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
        """Add a prompt under the digest that records contain."""
        self.add("prompt", digest, text=text)

    def transcript(self, digest: str, turns: Sequence[Sequence[str]]) -> None:
        """Add the conversation after a prompt under the digest that records contain."""
        self.add("transcript", digest, turns=turns)

    def example(self, id: str, question: str, tables: Iterable[Mapping[str, Any]]) -> None:  # noqa: A002 - the name in the file
        """Add a question and its tables; `id` is an `example_key`."""
        titled = [{"title": None, **table} for table in tables]
        self.add("example", id, question=question, tables=titled)

    def flush(self) -> None:
        """Write all texts so far to the file."""
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
                raise OSError(f"{self.path}: the disk is full")
        except OSError:
            self._file.truncate(start)
            raise

    def close(self) -> None:
        """Write the remaining texts and close the file."""
        try:
            self.flush()
        finally:
            if self._file is not None:
                self._file.close()
                self._file = None

    def add(self, kind: str, name: str, /, **fields: Any) -> None:
        """Add a text with the fields of its line, unless the file has one of this kind and name."""
        if self._written is None:
            self._written = self._repair() if self.path.exists() else set()
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

    def _repair(self) -> set[str]:
        """Cut off an incomplete last member, and return the keys of the texts in the file."""
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
    """Yield the texts of a file in order; none if the file does not exist.

    Everything after a damaged or incomplete member is left out. Raises `SettingsError` for a newer
    schema.
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
    """Yield the examples of a file, without parsing lines of other kinds."""
    return (_example(entry) for entry in _lines(path, b'"kind": "example"'))


def _lines(path: Path, containing: bytes = b"") -> Iterator[dict[str, Any]]:
    """Yield the entries of the lines that contain some bytes."""
    for block, _ in _members(path) if path.exists() else ():
        for line in block.split(b"\n"):
            entry = _parsed(line) if containing in line else None
            if entry is not None:
                check_schema(entry, str(path))
                yield entry


def _example(entry: Mapping[str, Any]) -> ExampleText:
    tables = tuple(table for table in listing(entry.get("tables")) if _is_table(table))
    return ExampleText(entry["id"], str(entry.get("question", "")), tables)


def merge_texts(files: Sequence[Path], out: Path) -> None:
    """Write the texts of several files into a new one, each once.

    Raises `SettingsError` if two files have different texts under one name, and `OSError`.
    """
    writer, digests = TextWriter(out), dict[tuple[str, str], bytes]()
    try:
        for file in files:
            for entry in _lines(file):
                kind, name, _ = entry.pop("kind"), entry.pop("id"), entry.pop("schema", None)
                data = json.dumps(entry, sort_keys=True).encode("ascii")
                mark = blake2b(data, digest_size=12).digest()
                if digests.setdefault((kind, name), mark) != mark:
                    raise SettingsError(
                        f"{file}: the text of {kind} {name} differs from the text in the other runs"
                    )
                writer.add(kind, name, **entry)
    finally:
        writer.close()


def _is_turn(data: object) -> bool:
    return isinstance(data, list) and len(data) == 2 and all(isinstance(t, str) for t in data)


def _is_table(data: object) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("header"), list)
        and _are_lists(data.get("rows"))
        and ("structure" not in data or _is_structure(data["structure"]))
    )


def _are_lists(data: object) -> bool:
    return isinstance(data, list) and all(isinstance(entry, list) for entry in data)


def _are_counts(data: object) -> bool:
    return isinstance(data, list) and all(isinstance(n, int) and n >= 0 for n in data)


def _is_structure(data: object) -> bool:
    if not isinstance(data, dict):
        return False
    spans = data.get("spans", [])
    return (
        all(_are_lists(data.get(name, [])) for name in ("captions", "header_rows", "notes"))
        and all(_are_counts(data.get(name, [])) for name in ("row_levels", "sections"))
        and _are_counts([data.get("row_headers", 0)])
        and _are_lists(spans)
        and all(len(span) == 4 and _are_counts(span) for span in spans)
    )


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line:
        return None
    try:
        entry = parsed_json(line)
    except ValueError:
        return None
    is_text = isinstance(entry, dict) and entry.get("kind") in {"prompt", "transcript", "example"}
    return entry if is_text and isinstance(entry.get("id"), str) else None


def _members(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield the content of each complete member, and the position of its end in the file."""
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
