"""The store: several layers, and the segment that this process writes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from operator import itemgetter
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.errors import SettingsError, StoreError, writing
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.store._explain import Explainer
from pytest_tablebench.store._layer import MAX_LINE, SEGMENTS, Layer, Writer
from pytest_tablebench.store._line import (
    REPLACES,
    BadLine,
    answer_line,
    describe,
    execution_line,
    execution_of,
    reply_of,
    resolution_line,
)
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import printable

WRITABLE, READONLY = "--bench-store", "--bench-store-readonly"

_Kept = TypeVar("_Kept", Reply, Execution)

LOOKS_APART = 19
"""Time between two refreshes in `look_again`, as a multiple of the last one's duration."""


class Store:
    """Stored answers by the key of their request. Use `Store.open`.

    A store is a folder of segments, which are files of JSON lines. Each is written by only one
    process, so any number of processes and machines may read and write without locks. `refresh`
    reads the new lines of other processes. Damaged entries are reported in `warnings` and never
    served. The store is safe to use from several threads.

    Keys are 64 hexadecimal digits, from `Request.key` and `Execute.key`.
    """

    def __init__(self, oldest: str | None = None) -> None:
        self.oldest = oldest or ""
        """Replies written before this time, ISO 8601 in UTC, are not served."""
        self.warnings: list[str] = []
        """Problems with the files, each once, printable, with file and byte. Only grows."""
        self._lock = RLock()
        self._layers: list[Layer] = []
        self._target: Layer | None = None
        self._writer: Writer | None = None
        self._number = -1
        self._explainer: Explainer | None = None
        self._closed = False
        self._look_after = 0.0

    @classmethod
    def open(
        cls,
        path: Path | None,
        readonly: Sequence[Path] = (),
        *,
        write: bool = True,
        oldest: str | None = None,
    ) -> Store:
        """Open a writable folder, created if necessary, and read-only ones, and index them.

        The first layer with a key is used, the writable one first. A read-only layer is the
        folder of a store, or a folder of segments (`*.jsonl`). It is never written to.

        Arguments:
            path: the folder for new answers; None for a store that is only read.
            readonly: further folders to read.
            write: whether answers will be added; otherwise `path` is only read too.
            oldest: replies written before this time, ISO 8601 in UTC, are not served.

        Raises:
            SettingsError: a folder is missing, unreadable or not writable; names the option.
        """
        store = cls(oldest)
        seen = set()
        folders = [(folder, READONLY) for folder in readonly]
        if path is not None and write:
            store._target = store._add(_made(path), WRITABLE)
            seen.add(real_path(path))
        elif path is not None:
            folders.insert(0, (path, WRITABLE))
        for folder, option in folders:
            if real_path(folder) not in seen:
                seen.add(real_path(folder))
                layer = store._add(_present(folder, option), option)
                if layer.empty:
                    store._warn(
                        f"{option}: {folder} contains no segments (*.jsonl), so it has no answers"
                    )
        return store

    def get(self, key: str) -> Reply | None:
        """Return the stored reply, marked `from_store`, or None.

        A damaged entry causes one warning. The next sound entry with the key is served instead.
        """
        return self._sound(key, reply_of, self.oldest)

    def get_execution(self, key: str) -> Execution | None:
        """Return the stored outcome of a program, as `get` returns a reply."""
        return self._sound(key, execution_of)

    def _sound(
        self, key: str, read: Callable[[Mapping[str, Any]], _Kept], oldest: str = ""
    ) -> _Kept | None:
        raw = _raw(key)
        with self._lock:
            for layer in self._layers:
                while (entry := layer.find(raw, oldest)) is not None:
                    position, data = entry
                    try:
                        return read(data)
                    except BadLine as error:
                        layer.reject(raw, position, str(error))
        return None

    def __contains__(self, key: str) -> bool:
        """Return whether the index has the key; only `get` checks whether its entry is sound."""
        raw = _raw(key)
        return any(raw in layer.index for layer in self._layers)

    def __len__(self) -> int:
        with self._lock:
            return len({key for layer in self._layers for key in layer.index})

    def put(self, request: Request, reply: Reply) -> None:
        """Append a reply to this process's segment, where it survives the end of the process.

        An older sound entry of the same request continues to be served, unless the store has an
        age limit: then the new one replaces it.

        Raises:
            StoreError: it cannot be written (a full disk). Stored entries stay sound, and a
                later put may succeed.
        """
        self.put_described(request.key(), describe(request), reply)

    def put_described(self, key: str, facts: Mapping[str, Any], reply: Reply) -> None:
        """Store a reply as `put` does, with the `facts` that `describe` returned."""
        if self.oldest:
            facts = {**facts, REPLACES: True}
        self._append(answer_line(key, facts, reply), _raw(key))

    def put_execution(self, task: Execute, ran: Execution) -> None:
        """Store the outcome of a program. Raises `StoreError`, as `put` does."""
        key, line = execution_line(task, ran)
        self._append(line, _raw(key))

    def put_resolution(self, resolution: Mapping[str, Any]) -> None:
        """Store facts about a model (parameters sent, prices) as JSON.

        Arguments:
            resolution: JSON values with a text under `"key"`, for `get_resolution`. Secrets are
                stored as `***`, numbers that are not finite as None.

        Raises:
            StoreError: it cannot be written, or has no key.
        """
        key = resolution.get("key")
        if not isinstance(key, str) or not key:
            raise StoreError('a resolution needs a text under "key" by which it is found again')
        self._append(resolution_line(without_secrets(key), resolution), None)

    def get_resolution(self, key: str) -> dict[str, Any] | None:
        """Return a stored resolution, or None.

        The first layer with the key is used, the writable one first. In a layer the newest is
        used (on a tie the later segment name, then the later line).
        """
        key = without_secrets(key)
        with self._lock:
            for layer in self._layers:
                resolution = layer.resolution(key)
                if resolution is not None:
                    return deepcopy(resolution)
        return None

    def resolutions(self) -> list[dict[str, Any]]:
        """Return all resolutions, the newest first."""
        with self._lock:
            entries = [item for layer in self._layers for item in layer.resolutions()]
        return [deepcopy(item) for _, item in sorted(entries, key=itemgetter(0), reverse=True)]

    def refresh(self) -> None:
        """Index the new lines of other processes; costs one `stat` per segment."""
        with self._lock:
            for layer in self._layers:
                try:
                    layer.refresh()
                except OSError as error:
                    self._warn(f"answer store: {layer.folder}: cannot be listed ({_why(error)})")

    def look_again(self, key: str) -> Reply | None:
        """Call `get`, if necessary after a refresh.

        A refresh costs more, the more segments exist. Refreshes take at most a twentieth of the
        time, so they are skipped if many calls follow each other.
        """
        reply = self.get(key)
        began = time.perf_counter()
        if reply is not None or began < self._look_after:
            return reply
        self.refresh()
        ended = time.perf_counter()
        self._look_after = ended + LOOKS_APART * (ended - began)
        return self.get(key)

    def explain(self, request: Request) -> str:
        """Return one line on why a request has no answer here: the first field that differs.

        The request is compared with the nearest stored request of the same case, else of the
        same model: model, api_base, params by name, strategy, step, repeat and messages. The
        first call reads the whole store (about 25 s for a million answers).
        """
        with self._lock:
            if self.get(request.key()) is not None:
                return "an answer of this request is stored"
            if self._sound(request.key(), reply_of) is not None:
                return "its stored answer is older than --bench-max-age"
            if self._explainer is None:
                self._explainer = Explainer(self._layers)
            return self._explainer.explain(request)

    def close(self) -> None:
        """Close all files. After that, every put fails."""
        with self._lock:
            self._closed = True
            for layer in self._layers:
                layer.close()
            writer, self._writer = self._writer, None
            if writer is not None:
                try:
                    writer.close()
                except OSError as error:
                    self._warn(f"answer store: {writer.path}: closed with an error: {_why(error)}")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, folder: Path, option: str) -> Layer:
        layer = Layer(folder, self._warn)
        try:
            layer.refresh(opening=True)
        except OSError as error:
            raise SettingsError(
                f"{option}: {folder} cannot be read ({_why(error)}); choose another folder"
            ) from None
        self._layers.append(layer)
        return layer

    def _append(self, line: bytes, key: bytes | None) -> None:
        with self._lock:
            target = self._target
            if target is None or self._closed:
                why = "is closed" if self._closed else "has no writable folder (--bench-store)"
                raise StoreError(f"the answer cannot be kept: the store {why}")
            if len(line) > MAX_LINE:
                raise StoreError(
                    f"the answer cannot be kept: {len(line):,} bytes, the limit is {MAX_LINE:,}",
                    whole_run=False,
                )
            try:
                writer = self._own_segment(target)
                offset = writer.append(line)
            except OSError as error:
                raise StoreError(
                    f"the answer cannot be kept in {target.folder} ({_why(error)}); free disk "
                    f"space, or name another folder with --bench-store"
                ) from error
            target.wrote(self._number, offset, line, key)

    def _own_segment(self, target: Layer) -> Writer:
        """Return the segment of this process.

        After a fork, or if the segment was removed or replaced, a new segment is begun.
        """
        if self._writer is not None:
            forked = self._writer.pid != os.getpid()
            if not forked and not self._writer.still_there:
                target.refresh()  # warns if the segment was removed
                if self._writer.path.exists():
                    self._warn(
                        f"answer store: {self._writer.path}: was replaced while it was in use; "
                        f"its answers may be requested again"
                    )
            if forked or not self._writer.still_there:
                with contextlib.suppress(OSError):
                    self._writer.close()  # this process's copy of the file
                self._writer = None
        if self._writer is None:
            self._writer = Writer(target.folder)
            self._number = target.add_segment(self._writer.path)
        return self._writer

    def _warn(self, text: str) -> None:
        text = printable(text)
        if text not in self.warnings:
            self.warnings.append(text)


def _made(path: Path) -> Path:
    folder = path / SEGMENTS
    hint = f"; choose another folder, or pass this one as {READONLY} to only read it"
    with writing(f"{WRITABLE}: cannot write into {path}", hint):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(0, "no permission to write")
    return folder


def _present(path: Path, option: str) -> Path:
    segments = path / SEGMENTS
    try:
        if not path.is_dir():
            state = "is not a folder" if path.exists() else "does not exist"
            raise SettingsError(f"{option}: {path} {state}; name the folder of an answer store")
        return segments if segments.is_dir() else path
    except OSError as error:
        raise SettingsError(
            f"{option}: {path} cannot be read ({_why(error)}); name a readable folder"
        ) from None


def _raw(key: str) -> bytes:
    """Return the 32 bytes of a key; for an invalid key b"", which no entry has."""
    try:
        return bytes.fromhex(key)
    except ValueError:
        return b""


def _why(error: OSError) -> str:
    return error.strerror or str(error)
