"""The connection to Dask's scheduler, and the broker's handle of one worker."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import execute_body, header, pack, read_execute, to_json
from pytest_tablebench.executors.dask._actor import TAKE_S, WorkerActor, versions
from pytest_tablebench.serializers.content import image_names

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

CONNECT_S = 10.0
CLOSE_S = 2.0

LOOK_S = 0.25
"""Seconds between two checks of the connection."""

ANSWER_S = 30.0
"""Seconds without an answer after which the scheduler counts as gone."""


class Cluster:
    """The scheduler's address and the configuration of its workers."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.name = secrets.token_hex(4)
        """The run's name in the names of its actors."""
        self._config = config
        self._own: LocalCluster | None = None

    def actor_config(self) -> dict[str, Any]:
        callers = 1 if self._own is not None else self._config["callers_given"] or 1
        config = {name: value for name, value in self._config.items() if name != "token"}
        return {**config, "callers": callers * bool(self._config["lanes"])}

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """Connect to the scheduler. Raises `OSError` if that fails."""
        from distributed import Client

        address = self._config["scheduler"] or await self._start()
        within = min(CONNECT_S, self._config["patience"])
        client = Client(address, asynchronous=True, timeout=within)
        try:
            yield await client
        finally:
            with contextlib.suppress(OSError):
                await asyncio.wait_for(client.close(), CLOSE_S)
            if self._own is not None:
                cluster, self._own = self._own, None
                await cluster.close()

    async def _start(self) -> str:
        from distributed import LocalCluster

        self._own = await LocalCluster(
            n_workers=max(1, self._config["callers"]),
            threads_per_worker=1,
            dashboard_address=None,
            asynchronous=True,
        )
        return str(self._own.scheduler_address)

    @staticmethod
    async def workers(client: Client) -> list[str]:
        """Return the addresses of the current workers.

        Raises `OSError` if the scheduler is gone. Dask itself would try longer to reach it.
        """
        threads = asyncio.ensure_future(client.nthreads())
        for _ in range(round(ANSWER_S / LOOK_S)):
            await asyncio.wait([threads], timeout=LOOK_S)
            if threads.done():
                return list(threads.result())
            if client.status != "running":
                break
        threads.cancel()
        raise OSError("the connection was lost")


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
            listing = ", ".join(f"{name} {remote.get(name)} (here {local[name]})" for name in local)
            raise ModelError(
                f"the Dask worker {self.address} has {listing}: equal records need equal versions",
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
