"""A store that many machines share: an object store or a network folder, by its address.

It holds pieces of segments. Each machine has them in a folder of its own, which is a store as any
other, and is what processes read and write; here that folder and the shared store are brought to
the same contents. Nothing that is there is ever changed, and nobody waits for a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import SettingsError, StoreError
from pytest_tablebench.store._layer import SEGMENTS
from pytest_tablebench.store._pieces import Piece, covered, pieces_of
from pytest_tablebench.store.upkeep import segments_of
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

__all__ = ["EVERY", "Shared", "SharedStores", "Synced"]

EVERY = 30.0
"""Seconds between two looks at a shared store while a run is under way."""

MARK = "tablebench-answers.json"
"""The file that says what lies beside it."""

_MARK = b'{"schema": 1}\n'


@dataclass
class Synced:
    """What was brought from one store to another: pieces or segments, and their bytes."""

    files: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """Count one."""
        self.files += 1
        self.bytes += size


class Shared:
    """A shared store. Any number of processes on any number of machines may use one at once.

    Arguments:
        address: such as `s3://bucket/answers`, `gs://bucket/answers`, `file:///mnt/answers`.
        warn: told what is passed over, as one line.

    Raises `SettingsError` for an address that cannot be used; it is never shown with what may be
    a password in it.
    """

    def __init__(self, address: str, warn: Callable[[str], None] = lambda _: None) -> None:
        self.shown = printable(without_credentials(address))
        self._warn = warn
        self._fs, self._prefix = self._opened(address)

    def _opened(self, address: str) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise self._unusable("needs fsspec: pip install 'pytest-tablebench[shared]'") from None
        options: dict[str, Any] = {"use_listings_cache": False}
        if address.startswith(("file:", "local:")):
            options = {"auto_mkdir": True}
        try:
            found, path = url_to_fs(address, **options)
        except (ImportError, ValueError) as error:
            raise self._unusable(_why(error)) from None
        return found, f"{str(path).rstrip('/')}/{SEGMENTS}"

    def _unusable(self, why: str) -> SettingsError:
        return SettingsError(f"answer store {self.shown}: {why}")

    def _failed(self, done: str, error: Exception) -> StoreError:
        return StoreError(f"answer store {self.shown}: cannot be {done}: {_why(error)}")

    def pieces(self) -> list[Piece]:
        """Return the pieces that are there whole, by the length that the store says.

        Raises `StoreError`.
        """
        found = []
        for path, facts in self._listed().items():
            name = str(path).rpartition("/")[2]
            piece = Piece.read(name)
            if piece is None:
                self._warn(f"answer store {self.shown}: {printable(name, 200)} is no piece of it")
            elif facts.get("size") != piece.size:
                self._warn(
                    f"answer store {self.shown}: {piece.name} is not whole (its writer was "
                    f"stopped); it is not read"
                )
            else:
                found.append(piece)
        return sorted(found)

    def _listed(self) -> dict[str, Any]:
        try:
            self._fs.invalidate_cache()
            found: dict[str, Any] = self._fs.find(self._prefix, detail=True)
            # Where there was nothing yet, and now is, s3fs tells of the prefix as a directory.
            found = {path: facts for path, facts in found.items() if facts.get("type") == "file"}
        except FileNotFoundError:
            return {}
        except Exception as error:
            raise self._failed("listed", error) from None
        return found

    def read(self, piece: Piece) -> bytes | None:
        """Return the bytes of a piece; None, and a warning, where they are not what it says.

        Raises `StoreError`.
        """
        try:
            data = bytes(self._fs.cat_file(f"{self._prefix}/{piece.name}", end=piece.size + 1))
        except FileNotFoundError:
            return None  # somebody took it away meanwhile
        except Exception as error:
            raise self._failed("read", error) from None
        if not piece.holds(data):
            self._warn(
                f"answer store {self.shown}: {piece.name} is damaged: its digest does not hold; "
                f"it is not read"
            )
            return None
        return data

    def write(self, piece: Piece, data: bytes) -> None:
        """Put a piece there. Raises `StoreError`."""
        try:
            self._fs.pipe_file(f"{self._prefix}/{piece.name}", data)
        except Exception as error:
            raise self._failed("written", error) from None

    def claim(self) -> None:
        """See that answers can be put there: what it is gets a mark. Raises `StoreError`."""
        try:
            self._fs.pipe_file(f"{self._prefix.rpartition('/')[0]}/{MARK}", _MARK)
        except Exception as error:
            raise self._failed("written", error) from None

    def fetch(self, folder: Path) -> Synced:
        """Bring what a folder lacks into it. Raises `StoreError`, `OSError`."""
        found, segments = Synced(), folder / SEGMENTS
        segments.mkdir(parents=True, exist_ok=True)
        for piece in self.pieces():
            own, here = segments / f"{piece.segment}.jsonl", segments / piece.name
            if here.exists() or (own.exists() and own.stat().st_size >= piece.end):
                continue
            data = self.read(piece)
            if data is not None:
                write_whole(here, data)
                found.add(len(data))
        return found

    def push(self, folder: Path) -> Synced:
        """Bring what a folder has and the store lacks there. Raises `StoreError`, `OSError`."""
        found, there = Synced(), self.pieces()
        names, reached = {piece.name for piece in there}, covered(there)
        for path in segments_of(folder):
            fetched = Piece.read(path.name)
            if fetched is None:
                for piece, data in pieces_of(path, reached.get(path.stem, 0)):
                    self.write(piece, data)
                    found.add(len(data))
            elif fetched.name not in names and fetched.end > reached.get(fetched.segment, 0):
                data = path.read_bytes()
                if fetched.holds(data):
                    self.write(fetched, data)
                    found.add(len(data))
        return found

    def copy_to(self, other: Shared) -> Synced:
        """Bring what another shared store lacks there. Raises `StoreError`."""
        found, there = Synced(), other.pieces()
        names, reached = {piece.name for piece in there}, covered(there)
        for piece in self.pieces():
            if piece.name in names or piece.end <= reached.get(piece.segment, 0):
                continue
            data = self.read(piece)
            if data is not None:
                other.write(piece, data)
                found.add(len(data))
        return found


class SharedStores:
    """The shared stores of a run, kept the same as their folders while it is under way.

    Arguments:
        places: address and folder of each, and whether the run's own answers go there.
    """

    def __init__(self, places: list[tuple[str, Path, bool]]) -> None:
        self.warnings: list[str] = []
        """What was passed over, each once; only grows."""
        self._places = [(Shared(address, self._tell), path, own) for address, path, own in places]
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def _tell(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def fetch(self) -> None:
        """Bring all into the folders. Raises `SettingsError`: a run without is not begun."""
        for shared, folder, own in self._places:
            try:
                if own:
                    shared.claim()
                shared.fetch(folder)
            except StoreError as error:
                raise SettingsError(str(error)) from None
            except OSError as error:
                raise SettingsError(
                    f"answer store {shared.shown}: its folder here, {printable(str(folder))}, "
                    f"cannot be written ({error.strerror or error})"
                ) from None

    def start(self, every: float = EVERY) -> None:
        """Go on, from now and then, until `close`."""
        if self._thread is None and self._places:
            self._thread = threading.Thread(
                target=self._go_on, args=(every,), name="tablebench-shared-store", daemon=True
            )
            self._thread.start()

    def _go_on(self, every: float) -> None:
        while not self._ended.wait(every):
            self._sync(last=False)

    def _sync(self, *, last: bool) -> None:
        for shared, folder, own in self._places:
            try:
                if own:
                    shared.push(folder)
                if not last:
                    shared.fetch(folder)
            except (StoreError, OSError) as error:
                self._tell(str(error))
                if last and own:
                    self._tell(
                        f"the answers are in {printable(str(folder))}; bring them there with: "
                        f"tablebench store sync {printable(str(folder))} {shared.shown}"
                    )

    def close(self) -> None:
        """Send what is left. What cannot be sent stays here, and `warnings` say so."""
        if self._thread is None or self._ended.is_set():
            return
        self._ended.set()
        with suppress(RuntimeError):
            self._thread.join(timeout=EVERY)
        self._sync(last=True)


def _why(error: BaseException) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return printable(redact(said), 300)
