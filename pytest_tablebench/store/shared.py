"""A store that many machines share: an object store or a network folder, by its address.

It contains pieces of segments. The processes of a machine read and write an ordinary store in a
local folder, and this module synchronizes that folder with the shared store. Pieces are never
changed and need no locks. A piece is removed only after another piece contains its lines and a note
(`_pieces.Note`) records this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import SettingsError, StoreError, missing_package, writing
from pytest_tablebench.store._layer import SEGMENTS
from pytest_tablebench.store._pieces import COMPACTED, Note, Piece, covered, held, pieces_of
from pytest_tablebench.store.upkeep import Compacted, merged, merged_name, segments_of
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened

WAIT_S = 30.0
"""Longest time that the last upload waits for a running one."""

MARK = "tablebench-answers.json"
"""The file that marks a shared store."""

_MARK = b'{"schema": 1}\n'


@dataclass(frozen=True)
class Synced:
    """The number of copied pieces, and their bytes."""

    files: int
    bytes: int


class Shared:
    """A shared store, for any number of processes and machines at once.

    Arguments:
        address: such as `s3://bucket/answers`, `gs://bucket/answers`, `file:///mnt/answers`.
        warn: receives a line for each file that is skipped.

    Raises `SettingsError` for an unusable address. Messages never contain its password.
    """

    def __init__(self, address: str, warn: Callable[[str], None] = lambda _: None) -> None:
        self.shown = without_credentials(address)
        self._warn = warn
        self._fs, self._root = self._opened(address)
        self._prefix, self._compacted = f"{self._root}/{SEGMENTS}", f"{self._root}/{COMPACTED}"
        self._notes_read: dict[str, Note] = {}

    def _opened(self, address: str) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise SettingsError(
                missing_package(f"answer store {self.shown}", "fsspec", "shared")
            ) from None
        options: dict[str, Any] = {"use_listings_cache": False}
        if address.startswith(("file:", "local:")):
            options = {"auto_mkdir": True}
        try:
            filesystem, path = url_to_fs(address, **options)
        except (ImportError, ValueError) as error:
            raise SettingsError(f"answer store {self.shown}: {_why(error)}") from None
        return filesystem, str(path).rstrip("/")

    @contextmanager
    def _failing(self, done: str, *passed: type[Exception]) -> Iterator[None]:
        """Raise `StoreError` for any error but those to pass on: file systems raise many kinds."""
        try:
            yield
        except passed:
            raise
        except Exception as error:
            fault = f"answer store {self.shown}: cannot be {done}: {_why(error)}"
            raise StoreError(fault) from None

    def pieces(self) -> list[Piece]:
        """Return the pieces whose files have their full length. Raises `StoreError`."""
        pieces = []
        for path, facts in self._objects_below(self._prefix).items():
            name = str(path).rpartition("/")[2]
            piece = Piece.read(name)
            if piece is None:
                self._warn(f"answer store {self.shown}: {name} is not a piece")
            elif facts.get("size") != piece.size:
                self._warn(
                    f"answer store {self.shown}: {piece.name} is incomplete (its writer was "
                    f"stopped); it is skipped"
                )
            else:
                pieces.append(piece)
        return sorted(pieces)

    def _objects_below(self, prefix: str) -> dict[str, Any]:
        with self._failing("listed"), suppress(FileNotFoundError):
            self._fs.invalidate_cache()
            entries = self._fs.find(prefix, detail=True).items()
            # s3fs lists a prefix that was empty before as a directory.
            return {path: facts for path, facts in entries if facts.get("type") == "file"}
        return {}

    def read(self, piece: Piece) -> bytes | None:
        """Return the bytes of a piece; None, with a warning, if they do not match its name.

        Raises `StoreError`, and `FileNotFoundError` if the piece was removed.
        """
        data = self._cat(f"{self._prefix}/{piece.name}", piece.size + 1)
        if not piece.holds(data):
            self._warn(
                f"answer store {self.shown}: {piece.name} is damaged (its digest differs); "
                f"it is skipped"
            )
            return None
        return data

    def write(self, piece: Piece, data: bytes) -> None:
        """Upload a piece. Raises `StoreError`."""
        self._pipe(f"{self._prefix}/{piece.name}", data)

    def claim(self) -> None:
        """Write the mark, which also checks that the store is writable. Raises `StoreError`."""
        self._pipe(f"{self._root}/{MARK}", _MARK)

    def fetch(self, folder: Path) -> Synced:
        """Download the pieces that a folder lacks. Raises `StoreError`, `OSError`."""
        segments = folder / SEGMENTS
        segments.mkdir(parents=True, exist_ok=True)

        def lacks(piece: Piece) -> bool:
            segment = segments / f"{piece.segment}.jsonl"
            is_fetched = (segments / piece.name).exists()
            return not is_fetched and not (segment.exists() and segment.stat().st_size >= piece.end)

        return _copied(
            self._new(lacks), lambda piece, data: write_whole(segments / piece.name, data)
        )

    def _new(self, lacks: Callable[[Piece], bool]) -> Iterator[tuple[Piece, bytes]]:
        """Yield the pieces for which `lacks` is true, with their bytes. Raises `StoreError`."""
        seen: set[Piece] = set()
        again = True
        while again:
            again = False
            for piece in self.pieces():
                if piece in seen or not lacks(piece):
                    continue
                seen.add(piece)
                try:
                    data = self.read(piece)
                except FileNotFoundError:  # a compaction has replaced it by a new piece
                    again = True
                    continue
                if data is not None:
                    yield piece, data

    def push(self, folder: Path) -> Synced:
        """Upload the lines of a folder that the store lacks. Raises `StoreError`, `OSError`."""
        return _copied(self._lacking(folder), self.write)

    def _lacking(self, folder: Path) -> Iterator[tuple[Piece, bytes]]:
        names, reached = self._held()
        for path in segments_of(folder):
            fetched = Piece.read(path.name)
            if fetched is None:
                yield from pieces_of(path, reached.get(path.stem, 0))
            elif fetched.name not in names and fetched.end > reached.get(fetched.segment, 0):
                data = path.read_bytes()
                if fetched.holds(data):
                    yield fetched, data

    def copy_to(self, other: Shared) -> Synced:
        """Copy the pieces that another shared store lacks. Raises `StoreError`."""
        names, reached = other._held()

        def lacks(piece: Piece) -> bool:
            return piece.name not in names and piece.end > reached.get(piece.segment, 0)

        return _copied(self._new(lacks), other.write)

    def _held(self) -> tuple[set[str], dict[str, int]]:
        """Return the names of all pieces, and the covered bytes of each segment (`covered`)."""
        pieces = self.pieces()
        names = {piece.name for piece in pieces}
        return names, covered(pieces, held(self._notes().values(), names))

    # Compaction.

    def _notes(self) -> dict[str, Note]:
        names = self._objects_below(self._compacted)
        self._notes_read = {path: note for path, note in self._notes_read.items() if path in names}
        for path in names:
            if path in self._notes_read:
                continue
            with suppress(FileNotFoundError):
                note = Note.read(self._cat(path))
                if note is None:
                    self._warn(f"answer store {self.shown}: {path} is damaged")
                else:
                    self._notes_read[path] = note
        return dict(self._notes_read)

    def compact(self) -> Compacted:
        """Merge all pieces into one segment, each entry once, so that the same answers are served.

        Other machines may write meanwhile; pieces that are new since the start stay unchanged. Old
        pieces are removed after the new ones were read back and a note was written, so that no
        machine uploads them again. Raises `StoreError`, `OSError`.
        """
        old = self.pieces()
        before = len(old), sum(piece.size for piece in old)
        with TemporaryDirectory(prefix="tablebench-") as folder:
            self.fetch(Path(folder))
            segments, lines, stopped = merged(segments_of(Path(folder)), idle=0.0)
            taken = [piece for path, _ in segments if (piece := Piece.read(path.name))]
            if len(taken) < 2:
                return Compacted(before, before, stopped)
            whole = Path(folder) / f"{merged_name(taken[0].segment)}.jsonl"
            write_whole(whole, lines)
            made = [self._put(piece, data) for piece, data in pieces_of(whole, 0)]
        # Another compaction may have run meanwhile; its pieces are fetched and noted.
        notes, names = self._notes(), {piece.name for piece in (*old, *taken)}
        note = Note(
            covered(taken, held(notes.values(), names)), tuple(piece.name for piece in made)
        )
        path = f"{self._compacted}/{whole.stem}.json"
        self._pipe(path, note.text())
        if Note.read(self._cat(path)) != note:
            raise StoreError(
                f"answer store {self.shown}: a note was not stored; nothing was removed"
            )
        self._remove([f"{self._prefix}/{piece.name}" for piece in taken])
        self._remove([note_path for note_path, other in notes.items() if other.is_in(note)])
        left = self.pieces()
        return Compacted(before, (len(left), sum(piece.size for piece in left)), stopped)

    def _put(self, piece: Piece, data: bytes) -> Piece:
        self.write(piece, data)
        if self.read(piece) is None:
            raise StoreError(
                f"answer store {self.shown}: a piece was not stored; nothing was removed"
            )
        return piece

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            # Another compaction may have removed the file.
            with self._failing("compacted"), suppress(FileNotFoundError):
                self._fs.rm_file(path)

    def _cat(self, path: str, end: int | None = None) -> bytes:
        with self._failing("read", FileNotFoundError):
            return bytes(self._fs.cat_file(path, end=end))

    def _pipe(self, path: str, data: bytes) -> None:
        with self._failing("written"):
            self._fs.pipe_file(path, data)


class SharedStores:
    """The shared stores of a run, synchronized with their folders during the run.

    Arguments:
        places: address and folder of each, and whether the run's answers are uploaded to it.
    """

    def __init__(self, places: list[tuple[str, Path, bool]]) -> None:
        self.warnings: list[str] = []
        """Problems, each once. Only grows."""
        self._places = [
            (Shared(address, self._warn_once), path, is_target)
            for address, path, is_target in places
        ]
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def _warn_once(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def fetch(self) -> None:
        """Download all stores before the run. Raises `SettingsError` if that fails."""
        for shared, folder, is_target in self._places:
            location = f"its folder here, {folder},"
            with writing(f"answer store {shared.shown}: {location} cannot be written"):
                try:
                    if is_target:
                        shared.claim()
                    shared.fetch(folder)
                except StoreError as error:
                    raise SettingsError(str(error)) from None

    def start(self, every: float) -> None:
        """Synchronize every so many seconds until `close`."""
        if self._thread is None and self._places:
            self._thread = threading.Thread(
                target=self._sync_often, args=(every,), name="tablebench-shared-store", daemon=True
            )
            self._thread.start()

    def _sync_often(self, every: float) -> None:
        while not self._ended.wait(every):
            self._sync(last=False)

    def _sync(self, *, last: bool) -> None:
        for shared, folder, is_target in self._places:
            try:
                if is_target:
                    shared.push(folder)
                if not last:
                    shared.fetch(folder)
            except (StoreError, OSError) as error:
                self._warn_once(str(error))
                if last and is_target:
                    self._warn_once(
                        f"the answers are in {folder}; upload them with: "
                        f"tablebench store sync {folder} {shared.shown}"
                    )

    def close(self) -> None:
        """Upload the rest. If that fails, the folder keeps the answers and `warnings` report it."""
        if self._thread is None or self._ended.is_set():
            return
        self._ended.set()
        with suppress(RuntimeError):
            self._thread.join(timeout=WAIT_S)
        self._sync(last=True)


def _copied(pieces: Iterable[tuple[Piece, bytes]], write: Callable[[Piece, bytes], None]) -> Synced:
    sizes = []
    for piece, data in pieces:
        write(piece, data)
        sizes.append(len(data))
    return Synced(len(sizes), sum(sizes))


def _why(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return shortened(redact(text), 300)
