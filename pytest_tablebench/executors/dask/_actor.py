"""The actor on a Dask worker, with the worker's callers and sandbox for one run.

The broker's side (`_callers.py`) sends it the lines of the protocol between broker and callers, and
fetches the outcomes. Task graphs, logs and dashboards show only the actor's name.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import error_fields, header, pack, to_json
from pytest_tablebench.executors.local._callers import LocalCallers
from pytest_tablebench.executors.local._connection import Connection, Listener
from pytest_tablebench.executors.local._local_work import LocalWork, Programs, Scorers
from pytest_tablebench.store import Store
from pytest_tablebench.util.leftovers import TemporaryFolder

TAKE_S = 5.0
"""Longest time that `take` waits for a first result."""

GATHER_S = 0.01
"""Seconds after the first result in which `take` collects more."""

ABANDONED_S = 60.0
"""Seconds without a message from the client after which nothing more is started."""


def versions() -> dict[str, str | None]:
    """Return the package versions that must be equal on both sides for equal records."""
    installed: dict[str, str | None] = {}
    for name in ("pytest-tablebench", "litellm"):
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed[name] = None
    return installed


class WorkerActor:
    """Callers and sandbox of one run on one Dask worker; its methods run in the worker's loop."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self._lines: list[bytes] = []
        self._has_messages = asyncio.Event()
        self._heard_at = 0.0
        self._closed = False
        self._probe: Path | None = None

    async def open(self, config: bytes) -> bytes:
        """Receive the run's configuration; return versions and a new file in the store's folder.

        If the client sees that file too, both share the folder, and answers are stored here.
        """
        self._config: dict[str, Any] = json.loads(config)
        store = Path(self._config["store"])
        with contextlib.suppress(OSError):  # the folder is not here, so the client stores answers
            self._probe = store / f".seen-{secrets.token_hex(16)}"
            self._probe.touch(exist_ok=False)
        return to_json({"versions": versions(), "probe": self._probe and self._probe.name})

    async def begin(self, keeps: bool) -> None:
        """Start the callers; `keeps`: this side stores the answers."""
        loop = self._loop = asyncio.get_running_loop()
        if self._probe is not None:
            with contextlib.suppress(OSError):
                self._probe.unlink()
        store = self._config["store"] if keeps else None
        config = {**self._config, "store": store}
        self._folder = TemporaryFolder()
        self._listener = Listener(self, loop)
        self._letting_in = asyncio.create_task(self._listener.let_in())
        self._callers = LocalCallers(config, self)
        self._callers.port = self._listener.port
        kept = None if store is None else Store.open(Path(store))
        self._local_work: dict[str, LocalWork] = {
            "run": Programs(config["sandbox"], kept, self._ran),
            "grade": Scorers(self._ran),
        }
        self._callers.start()
        self._heard_at = loop.time()
        self._watch()

    async def give(self, lines: bytes) -> None:
        """Receive calls, questions, programs and answers to score, one per line."""
        self._heard_at = self._loop.time()
        for line in lines.splitlines():
            head, body = header(line)
            for name, data in head.get("files", {}).items():
                (self._folder.path / Path(name).name).write_bytes(base64.b64decode(data))
            do = head["do"]
            if do == "call":
                if "files" in head:
                    body = to_json({**json.loads(body), "media": str(self._folder.path)})
                self._callers.call(Job(head["key"], head["lane"], body))
            elif do in self._local_work:
                self._local_work[do].submit(head["key"], body)
            else:
                self._callers.question(do, body, partial(self._answer, head["n"]))

    def _answer(self, number: int, answer: Mapping[str, Any]) -> None:
        self._send({"re": number, **answer})

    async def take(self) -> bytes:
        """Return the results so far, one per line; wait up to `TAKE_S` for the first."""
        self._heard_at = self._loop.time()
        with contextlib.suppress(TimeoutError):
            if not self._lines:
                await asyncio.wait_for(self._has_messages.wait(), TAKE_S)
                await asyncio.sleep(GATHER_S)
        self._has_messages.clear()
        lines, self._lines = self._lines, []
        self._heard_at = self._loop.time()
        return b"".join(lines)

    async def close(self) -> None:
        """Start nothing more. The callers finish their calls in flight and end."""
        if self._closed:
            return
        self._closed = True
        self._letting_in.cancel()
        self._listener.close()
        for work in self._local_work.values():
            work.close()
        self._callers.close(self._folder.remove)

    def _watch(self) -> None:
        if self._loop.time() - self._heard_at > ABANDONED_S:
            self._loop.create_task(self.close())
        elif not self._closed:
            self._loop.call_later(ABANDONED_S / 4, self._watch)

    def _send(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        self._lines.append(pack(head, body))
        self._has_messages.set()

    def _ran(self, key: str, head: Mapping[str, Any], body: bytes | None) -> None:
        self._send({"ran": key, **head}, body)

    def called(self, job: Job, head: Mapping[str, Any]) -> None:
        self._send({"key": job.key, **{k: v for k, v in head.items() if k != "n"}})

    def lost(self, job: Job) -> None:
        self._send({"key": job.key, "lost": True})

    def note(self, name: str, texts: Sequence[str]) -> None:
        self._send({"note": name, "texts": texts})

    def broken(self, error: ModelError) -> None:
        self._send({"broken": error_fields(error)})

    def joined(self, connection: Connection) -> None:
        if connection.role != "caller":
            connection.close()

    def left(self, connection: Connection) -> None:
        self._callers.left(connection)

    def from_caller(self, connection: Connection, head: Mapping[str, Any]) -> None:
        self._callers.receive(connection, head)

    def from_client(self, connection: Connection, head: dict[str, Any], body: bytes) -> None:
        """Do nothing: only callers may connect."""
