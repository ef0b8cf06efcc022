"""One Dask worker, as the broker sees it: what it was given, and how it is told and heard."""

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
from pytest_tablebench.executors._wire import header, pack, to_json
from pytest_tablebench.executors.dask._actor import TAKE_S, WorkerActor, versions
from pytest_tablebench.serializers.content import image_names

if TYPE_CHECKING:
    from distributed import Client


Task = tuple[str, bytes]
"""What is to be done (`run`, `grade`), and with what."""

LATE_S = 30.0
"""Seconds after which a worker that does not answer at all counts as lost."""


@dataclass(eq=False)
class WorkerHandle:
    """A worker's callers and sandbox.

    Arguments:
        address: of the Dask worker.
        receive: takes each message of the worker: its header and its body.
    """

    address: str
    receive: Callable[[WorkerHandle, dict[str, Any], bytes], None]
    ready: bool = False
    keeps: bool = False
    """Whether answers are in the run's store when they are told."""
    jobs: dict[str, Job] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    """Programs that run, answers that are scored."""
    _outbox: list[bytes] = field(default_factory=list)
    _has_messages: asyncio.Event = field(default_factory=asyncio.Event)
    _sent: set[str] = field(default_factory=set)
    """Pictures that it has."""

    async def open(self, client: Client, config: Mapping[str, Any], name: str) -> None:
        """Create the actor on the worker. Raises `ModelError` where it cannot work for this run."""
        made = client.submit(
            WorkerActor, actor=True, workers=[self.address], allow_other_workers=False, key=name
        )
        try:
            self._actor = await asyncio.wait_for(made, LATE_S)
        except ModuleNotFoundError as error:
            raise ModelError(
                f"the Dask worker {self.address} has no {error.name}: install pytest-tablebench "
                f"there, in this version",
                reason=ENGINE,
                whole_run=True,
            ) from None
        answer = json.loads(await self._ask("open", to_json(config)))
        local, remote = versions(), answer["versions"]
        if local != remote:
            named = ", ".join(f"{name} {remote.get(name)} (here {local[name]})" for name in local)
            raise ModelError(
                f"the Dask worker {self.address} has {named}: equal records need equal versions",
                reason=ENGINE,
                whole_run=True,
            )
        probe = answer["probe"]
        self.keeps = probe is not None and (Path(config["store"]) / probe).exists()
        await self._ask("begin", self.keeps)
        self.ready = True

    async def serve(self) -> None:
        """Hand over and fetch, until the worker is gone: raises whatever says so."""
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
            await self._ask("give", b"".join(lines))

    async def _take(self) -> None:
        while True:
            for line in (await self._ask("take")).splitlines():
                self.receive(self, *header(line))

    async def _ask(self, method: str, *arguments: Any) -> Any:
        called = getattr(self._actor, method)(*arguments)
        return await asyncio.wait_for(called, TAKE_S + LATE_S)

    def call(self, job: Job) -> None:
        """Have a call made."""
        self.jobs[job.key] = job
        head = {"do": "call", "key": job.key, "lane": job.lane}
        if b'"media_type":' in job.body:
            head["files"] = self._pictures(job.body)
        self._send(pack(head, job.body))

    def run(self, key: str, task: Task) -> None:
        """Have a program run, or an answer scored."""
        self.tasks[key] = task
        do, body = task
        self._send(pack({"do": do, "key": key}, body))

    def question(self, number: int, name: str, body: bytes) -> None:
        """Have a question about a model answered."""
        self._send(pack({"do": name, "n": number}, body))

    async def close(self) -> None:
        """Have it start nothing more, and end."""
        await self._ask("close")

    def _send(self, line: bytes) -> None:
        self._outbox.append(line)
        self._has_messages.set()

    def _pictures(self, body: bytes) -> dict[str, str]:
        """Return the pictures of a request that the worker has not seen yet, by file name."""
        request, pictures = json.loads(body), {}
        for name in (name for _, content in request["messages"] for name in image_names(content)):
            path = Path(request.get("media", "")) / name
            if name not in self._sent and path.is_file():  # else the caller says that it is gone
                self._sent.add(name)
                pictures[name] = base64.b64encode(path.read_bytes()).decode("ascii")
        return pictures
