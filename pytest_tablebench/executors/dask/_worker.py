"""The broker's handle of one Dask worker: its work and the messages to and from its actor."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._queue import Job
from pytest_tablebench.executors._wire import execute_body, header, pack, read_execute, to_json
from pytest_tablebench.executors.dask._actor import TAKE_S, WorkerActor, versions
from pytest_tablebench.serializers.content import image_names

if TYPE_CHECKING:
    from distributed import Client


Task = tuple[str, bytes]
"""The kind of work (`run` or `grade`) and its body."""

LATE_S = 30.0
"""Seconds without an answer after which a worker counts as lost."""


@dataclass(eq=False)
class WorkerHandle:
    """A worker's callers and sandbox; `receive` is called with header and body of each message."""

    address: str
    receive: Callable[[WorkerHandle, dict[str, Any], bytes], None]
    ready: bool = False
    keeps: bool = False
    """Whether the worker writes answers to the run's store before it reports them."""
    jobs: dict[str, Job] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    """Programs that run and answers that are scored, by key."""
    _outbox: list[bytes] = field(default_factory=list)
    _has_messages: asyncio.Event = field(default_factory=asyncio.Event)
    _sent_pictures: set[str] = field(default_factory=set)

    async def open(self, client: Client, config: Mapping[str, Any], name: str) -> None:
        """Create the actor on the worker. Raises `ModelError` if it cannot work for this run."""
        created = client.submit(
            WorkerActor, actor=True, workers=[self.address], allow_other_workers=False, key=name
        )
        try:
            self._actor = await asyncio.wait_for(created, LATE_S)
        except ModuleNotFoundError as error:
            raise ModelError(
                f"the Dask worker {self.address} has no {error.name}: install this version of "
                f"pytest-tablebench there",
                reason=ENGINE,
                whole_run=True,
            ) from None
        answer = json.loads(await self._invoke("open", to_json(config)))
        local, remote = versions(), answer["versions"]
        if local != remote:
            listed = ", ".join(f"{name} {remote.get(name)} (here {local[name]})" for name in local)
            raise ModelError(
                f"the Dask worker {self.address} has {listed}: equal records need equal versions",
                reason=ENGINE,
                whole_run=True,
            )
        probe = answer["probe"]
        self.keeps = probe is not None and (Path(config["store"]) / probe).exists()
        await self._invoke("begin", self.keeps)
        self.ready = True

    async def serve(self) -> None:
        """Exchange messages until the worker is gone; then raise the error that showed it."""
        giving, taking = asyncio.create_task(self._give()), asyncio.create_task(self._take())
        try:
            await asyncio.gather(giving, taking)
        finally:
            giving.cancel()
            taking.cancel()

    async def _give(self) -> None:
        while True:
            await self._has_messages.wait()
            self._has_messages.clear()
            lines, self._outbox = self._outbox, []
            await self._invoke("give", b"".join(lines))

    async def _take(self) -> None:
        while True:
            for line in (await self._invoke("take")).splitlines():
                self.receive(self, *header(line))

    async def _invoke(self, method: str, *arguments: Any) -> Any:
        called = getattr(self._actor, method)(*arguments)
        return await asyncio.wait_for(called, TAKE_S + LATE_S)

    def call(self, job: Job) -> None:
        self.jobs[job.key] = job
        head = {"do": "call", "key": job.key, "lane": job.lane}
        if b'"media_type":' in job.body:
            head["files"] = self._pictures(job.body)
        self._send(pack(head, job.body))

    def run(self, key: str, task: Task) -> None:
        self.tasks[key] = task
        do, body = task
        if do == "run":
            body = execute_body(read_execute(body), whole=True)
        self._send(pack({"do": do, "key": key}, body))

    def question(self, number: int, name: str, body: bytes) -> None:
        self._send(pack({"do": name, "n": number}, body))

    async def close(self) -> None:
        await self._invoke("close")

    def _send(self, line: bytes) -> None:
        self._outbox.append(line)
        self._has_messages.set()

    def _pictures(self, body: bytes) -> dict[str, str]:
        """Return a request's pictures that were not sent to the worker yet, by file name."""
        request, pictures = json.loads(body), {}
        for name in (name for _, content in request["messages"] for name in image_names(content)):
            path = Path(request.get("media", "")) / name
            if name not in self._sent_pictures and path.is_file():  # the caller reports lost ones
                self._sent_pictures.add(name)
                pictures[name] = base64.b64encode(path.read_bytes()).decode("ascii")
        return pictures
