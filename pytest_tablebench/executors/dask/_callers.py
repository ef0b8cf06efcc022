"""The workers of a Dask cluster in the place of a machine's callers.

One actor a worker, whatever the number of calls: Dask's scheduler sees as many tasks as there are
workers. Which call starts when, the broker's dispatcher decides, for all of them. Workers that
come are used, what those that go were doing is given to others; a scheduler that is gone is waited
for, as `--bench-patience` says.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pytest_tablebench.errors import ENGINE, ModelError, StoreError
from pytest_tablebench.executors._queue import Job
from pytest_tablebench.executors._wire import (
    error_fields,
    not_stored,
    read_error,
    read_execute,
    read_reply,
    read_request,
)
from pytest_tablebench.executors.dask._cluster import Cluster
from pytest_tablebench.executors.dask._worker import Task, WorkerHandle
from pytest_tablebench.executors.local._callers import CallListener, OnAnswer
from pytest_tablebench.executors.local._connection import Connection
from pytest_tablebench.metrics.steps import read_execution

if TYPE_CHECKING:
    from distributed import Client

    from pytest_tablebench.store import Store


LOOK_S = 0.5
"""Time between two looks at which workers there are."""

DRAIN_S = 4.0
"""Seconds at the end for answers that only this process can keep."""


class DaskCallListener(CallListener, Protocol):
    """The broker."""

    store: Store

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the reply to a request that was answered in this run, as JSON values."""

    def ran(self, key: str, head: Mapping[str, Any], body: bytes | None) -> None:
        """Take what came of a program, or of an answer that was to be scored."""


class DaskCallers:
    """Makes calls through stations on Dask workers.

    Arguments:
        config: of the broker.
        loop: of the broker.
        listener: receives the outcomes of calls and programs.
    """

    def __init__(
        self, config: Mapping[str, Any], loop: asyncio.AbstractEventLoop, listener: DaskCallListener
    ) -> None:
        self.port = 0
        self._config = config
        self._loop = loop
        self._listener = listener
        self._cluster = Cluster(config)
        self._workers: dict[str, WorkerHandle] = {}
        self._refused: dict[str, ModelError] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._attending: asyncio.Task[None] | None = None
        self._waiting: list[Job] = []
        self._waiting_tasks: dict[str, Task] = {}
        self._questions: dict[int, tuple[str, bytes, OnAnswer]] = {}
        self._pending: dict[int, WorkerHandle] = {}
        self._numbers = 0
        self._nobody_since = 0.0
        self._why = "none has come"
        self._broken: ModelError | None = None
        self._closing = False

    # The cluster.

    def start(self) -> None:
        """Connect to the scheduler, or start a cluster."""
        if self._attending is None:
            self._nobody_since = self._loop.time()
            self._attending = self._loop.create_task(self._attend())

    async def _attend(self) -> None:
        """Keep a connection to the scheduler, made anew whenever it is lost."""
        while self._broken is None and not self._closing:
            try:
                async with self._cluster.connected() as client:
                    while not self._closing and client.status == "running":
                        self._see_to(client, await self._cluster.workers(client))
                        self._check_presence()
                        await asyncio.sleep(LOOK_S)
            except OSError as error:  # timeouts among them
                self._why = f"the scheduler cannot be reached: {error}"
            except ModelError as error:
                self._break(error)
            except Exception as error:  # a defect must not leave the run waiting for ever
                self._break(ModelError(f"Dask: {type(error).__name__}: {error}", reason=ENGINE))
            for address in list(self._workers):
                self._drop(address)
            self._check_presence()
            await asyncio.sleep(LOOK_S)

    def _see_to(self, client: Client, present: Sequence[str]) -> None:
        """Use workers that have come, and give up those that are gone."""
        for address in set(self._workers).difference(present):
            self._drop(address)
        for address in present:
            if address not in self._workers and address not in self._refused:
                worker = self._workers[address] = WorkerHandle(address, self._receive)
                self._serving[address] = self._loop.create_task(self._serve(client, worker))

    def _check_presence(self) -> None:
        """Give up where no worker has been ready for too long."""
        if any(worker.ready for worker in self._workers.values()):
            self._nobody_since = self._loop.time()
        elif self._loop.time() - self._nobody_since > self._config["patience"]:
            self._break(
                ModelError(
                    f"no Dask worker was ready within {self._config['patience']:g} s "
                    f"(--bench-patience): {self._why}",
                    reason=ENGINE,
                    whole_run=True,
                )
            )

    async def _serve(self, client: Client, worker: WorkerHandle) -> None:
        """Work with one worker for as long as it is there."""
        try:
            self._numbers += 1
            name = f"tablebench-{self._cluster.name}-{self._numbers}"
            await worker.open(client, self._cluster.actor_config(), name)
            self._hand_out()
            await worker.serve()
        except ModelError as error:
            self._refuse(worker.address, error)
        except Exception as error:  # Dask's errors are many; all mean that it is gone
            self._why = f"the last one ended: {type(error).__name__}: {error}"
            self._drop(worker.address)

    def _refuse(self, address: str, error: ModelError) -> None:
        """Use a worker no more that cannot make calls; without any other the run is over."""
        self._refused[address] = error
        self._drop(address)
        if not self._workers:
            self._break(error)

    def _drop(self, address: str) -> None:
        """Give to others what a worker was doing."""
        worker = self._workers.pop(address)
        task = self._serving.pop(address)
        if task is not asyncio.current_task():
            task.cancel()
        for job in worker.jobs.values():
            self._listener.lost(job)
        self._waiting_tasks |= worker.tasks
        self._hand_out()
        for number in [n for n, asked_worker in self._pending.items() if asked_worker is worker]:
            del self._pending[number]
            self._put(number)

    def _break(self, error: ModelError) -> None:
        """Tell all that wait that there will be no call."""
        self._broken = error
        fields = {"error": error_fields(error)}
        questions, self._questions = self._questions, {}
        for _, _, tell in questions.values():
            tell(fields)
        tasks, self._waiting_tasks = self._waiting_tasks, {}
        for key in tasks:
            self._listener.ran(key, fields, None)
        waiting, self._waiting = self._waiting, []
        for job in waiting:
            self._listener.called(job, fields)
        self._listener.broken(error)

    # Work.

    def _least(
        self, load: Callable[[WorkerHandle], int] = lambda worker: len(worker.jobs)
    ) -> WorkerHandle | None:
        """Return who is ready and has the least to do, in calls unless `load` counts others."""
        ready = [worker for worker in self._workers.values() if worker.ready]
        return min(ready, key=load, default=None)

    def call(self, job: Job) -> None:
        """Have the worker with the fewest calls under way make one more."""
        worker = self._least()
        if self._broken is not None:
            self._listener.called(job, {"error": error_fields(self._broken)})
        elif worker is None:
            self._waiting.append(job)
        else:
            job.started = self._loop.time()
            worker.call(job)

    def run(self, do: str, key: str, body: bytes) -> bool:
        """Have a program run, or an answer scored, by the worker with the fewest of both.

        Returns False where that is not wanted.
        """
        if not self._config["score_there"]:
            return False
        self.start()
        if self._broken is not None:
            self._listener.ran(key, {"error": error_fields(self._broken)}, None)
        else:
            self._waiting_tasks[key] = do, body
            self._hand_out()
        return True

    def question(self, name: str, body: bytes, tell: OnAnswer) -> None:
        self._numbers += 1
        self._questions[self._numbers] = name, body, tell
        self._put(self._numbers)

    def _put(self, number: int) -> None:
        name, body, tell = self._questions[number]
        worker = self._least()
        if self._broken is not None:
            del self._questions[number]
            tell({"error": error_fields(self._broken)})
        elif worker is not None:
            self._pending[number] = worker
            worker.question(number, name, body)

    def _hand_out(self) -> None:
        """Give all that waits to whoever is ready."""
        if self._broken is not None or self._least() is None:
            return
        for number in [n for n in self._questions if n not in self._pending]:
            self._put(number)
        waiting, self._waiting = self._waiting, []
        for job in waiting:
            # Callers of a worker that is gone finish what they were at, and store it.
            reply = self._listener.find(job.key) if job.losses else None
            if reply is None:
                self.call(job)
            else:
                self._listener.called(job, {"reply": reply})
        tasks, self._waiting_tasks = self._waiting_tasks, {}
        for key, task in tasks.items():
            worker = self._least(lambda worker: len(worker.tasks))
            if worker is not None:
                worker.run(key, task)

    def _receive(self, worker: WorkerHandle, head: dict[str, Any], body: bytes) -> None:
        """Take a message of a worker."""
        if "key" in head:
            job = worker.jobs.pop(head["key"])
            if "lost" in head:
                self._listener.lost(job)
                return
            if "reply" in head and not worker.keeps:
                head |= self._keep(job, head["reply"])
            self._listener.called(job, head)
        elif "re" in head:
            self._pending.pop(head["re"])
            name, question, tell = self._questions.pop(head["re"])
            if name == "facts" and "result" in head and not worker.keeps:
                self._keep_facts(json.loads(question), head["result"])
            tell({name: value for name, value in head.items() if name != "re"})
        elif "ran" in head:
            self._ran(worker, head, body)
        elif "refused" in head:
            self._listener.refused(head["refused"], head["part"], head["why"])
        elif "problems" in head:
            self._listener.problems(f"{worker.address} {head['source']}", head["problems"])
        elif "broken" in head:
            self._refuse(worker.address, read_error(head["broken"]))

    def _ran(self, worker: WorkerHandle, head: dict[str, Any], body: bytes) -> None:
        key = head.pop("ran")
        _, program = worker.tasks.pop(key)
        if not worker.keeps and body:  # of a program
            ran = read_execution(json.loads(body))
            try:
                if ran.outcome != "lost":
                    self._listener.store.put_execution(read_execute(program), ran)
            except StoreError as error:
                head["unstored"] = str(error)
        self._listener.ran(key, head, body or None)

    # The store of this side, for workers that do not see its folder.

    def _keep(self, job: Job, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an answer; return what its message has to say of it."""
        request = read_request(job.body)
        try:
            self._listener.store.put(request, read_reply(reply))
        except StoreError as error:
            return not_stored(error, request)
        return {}

    def _keep_facts(self, question: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        try:
            self._listener.store.put_resolution({"key": question["key"], "facts": facts})
        except StoreError as error:
            self._listener.problems("facts", [str(error)])

    # The callers of one machine, of which there are none here.

    def receive(self, connection: Connection, head: Mapping[str, Any]) -> None:  # noqa: ARG002 - as in CallerPool
        """Send away who says that it is a caller."""
        connection.close()

    def left(self, connection: Connection) -> None:
        """Take note of nothing: it was none of ours."""

    # The end.

    def close(self, done: Callable[[], None]) -> None:
        """Have the stations end, once what only this side can keep has come."""
        self._closing = True
        self._loop.create_task(self._end(done))

    async def _end(self, done: Callable[[], None]) -> None:
        until = self._loop.time() + DRAIN_S
        workers = [worker for worker in self._workers.values() if worker.ready]
        while self._loop.time() < until and any(p.jobs for p in workers if not p.keeps):
            await asyncio.sleep(0.05)
        if closing := [self._loop.create_task(worker.close()) for worker in workers]:
            await asyncio.wait(closing, timeout=1.0)
        for task in self._serving.values():
            task.cancel()
        if self._attending is not None:
            await asyncio.wait([self._attending], timeout=DRAIN_S)
        done()
