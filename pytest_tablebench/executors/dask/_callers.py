"""The workers of a Dask cluster, used in place of a machine's callers.

Each worker runs one actor, so Dask's scheduler sees as many tasks as there are workers, whatever
the number of calls. The broker's dispatcher decides which call starts when. New workers are used,
and others take over the work of lost ones. The pool waits `--bench-patience` for the scheduler.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ENGINE, ModelError, StoreError
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import (
    PROBLEMS,
    error_fields,
    not_stored,
    read_error,
    read_execute,
    read_request,
)
from pytest_tablebench.executors.dask._cluster import Cluster, Task, WorkerHandle
from pytest_tablebench.executors.local._callers import CallerPool
from pytest_tablebench.metrics.steps import read_execution
from pytest_tablebench.models.base import Reply
from pytest_tablebench.models.litellm_facts import facts_entry

if TYPE_CHECKING:
    from distributed import Client

    from pytest_tablebench.executors.local.broker import Broker


LOOK_S = 0.5
"""Seconds between two looks at the list of workers."""

DRAIN_S = 4.0
"""Seconds to wait at the end for answers that only this process can store."""


class DaskCallers(CallerPool):
    """Makes calls, runs programs and scores answers on Dask workers."""

    _listener: Broker

    def __init__(self, config: Mapping[str, Any], listener: Broker) -> None:
        super().__init__(config, listener)
        self._cluster = Cluster(config)
        self._workers: dict[str, WorkerHandle] = {}
        self._refused: dict[str, ModelError] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._attending: asyncio.Task[None] | None = None
        self._waiting_tasks: dict[str, Task] = {}
        self._no_worker_since = 0.0
        self._why = "none has come"

    def start(self) -> None:
        if self._attending is None:
            self._no_worker_since = self._loop.time()
            self._attending = self._loop.create_task(self._attend())

    async def _attend(self) -> None:
        """Keep a connection to the scheduler, and reconnect whenever it is lost."""
        while self._broken is None and not self._closing:
            try:
                async with self._cluster.connected() as client:
                    while not self._closing and client.status == "running":
                        self._update_workers(client, await self._cluster.workers(client))
                        self._check_presence()
                        await asyncio.sleep(LOOK_S)
            except OSError as error:  # timeouts among them
                self._why = f"the scheduler cannot be reached: {error}"
            except ModelError as error:
                self._break(error)
            except Exception as error:  # a defect must not keep the run waiting for ever
                self._break(ModelError(f"Dask: {type(error).__name__}: {error}", reason=ENGINE))
            for address in list(self._workers):
                self._drop(address)
            self._check_presence()
            await asyncio.sleep(LOOK_S)

    def _update_workers(self, client: Client, present: Sequence[str]) -> None:
        for address in set(self._workers).difference(present):
            self._drop(address)
        for address in present:
            if address not in self._workers and address not in self._refused:
                worker = self._workers[address] = WorkerHandle(address, self._receive)
                self._serving[address] = self._loop.create_task(self._serve(client, worker))

    def _check_presence(self) -> None:
        """Give up if no worker has been ready for too long."""
        if self._least_busy() is not None:
            self._no_worker_since = self._loop.time()
        elif self._loop.time() - self._no_worker_since > self._config["patience"]:
            self._break(
                ModelError(
                    f"no Dask worker was ready within {self._config['patience']:g} s "
                    f"(--bench-patience): {self._why}",
                    reason=ENGINE,
                    whole_run=True,
                )
            )

    async def _serve(self, client: Client, worker: WorkerHandle) -> None:
        try:
            self._numbers += 1
            name = f"tablebench-{self._cluster.name}-{self._numbers}"
            await worker.open(client, self._cluster.actor_config(), name)
            self._hand_out()
            await worker.serve()
        except ModelError as error:
            self._refuse(worker.address, error)
        except Exception as error:  # Dask's errors are many; all mean that the worker is gone
            self._why = f"the last one ended: {type(error).__name__}: {error}"
            self._drop(worker.address)

    def _refuse(self, address: str, error: ModelError) -> None:
        """Stop using a worker that cannot make calls; without any other worker the run ends."""
        self._refused[address] = error
        self._drop(address)
        if not self._workers:
            self._break(error)

    def _drop(self, address: str) -> None:
        """Forget a worker and send its work to others."""
        worker = self._workers.pop(address)
        task = self._serving.pop(address)
        if task is not asyncio.current_task():
            task.cancel()
        for job in worker.jobs.values():
            self._listener.lost(job)
        for key, waiting_task in worker.tasks.items():
            self._queue(key, waiting_task)
        self._hand_out()
        self._ask_again(worker)

    def _break(self, error: ModelError) -> None:
        tasks, self._waiting_tasks = self._waiting_tasks, {}
        for key in tasks:
            self._listener.ran(key, {"error": error_fields(error)}, None)
        super()._break(error)

    def _least_busy(
        self, load: Callable[[WorkerHandle], int] = lambda worker: len(worker.jobs)
    ) -> WorkerHandle | None:
        """Return the ready worker with the fewest calls; `load` counts other work."""
        ready = [worker for worker in self._workers.values() if worker.ready]
        return min(ready, key=load, default=None)

    def _send_call(self, job: Job) -> bool:
        worker = self._least_busy()
        if worker is not None:
            worker.call(job)
        return worker is not None

    def _send_question(self, number: int, name: str, body: bytes) -> WorkerHandle | None:
        worker = self._least_busy()
        if worker is not None:
            worker.question(number, name, body)
        return worker

    def run(self, do: str, key: str, body: bytes) -> bool:
        """Run a program or score an answer on the worker with the fewest of both.

        Returns False if the run's settings leave this to the broker.
        """
        if not self._config["score_there"]:
            return False
        self.start()
        self._queue(key, (do, body))
        self._hand_out()
        return True

    def _queue(self, key: str, task: Task) -> None:
        if self._broken is not None:
            self._listener.ran(key, {"error": error_fields(self._broken)}, None)
        else:
            self._waiting_tasks[key] = task

    def _hand_out(self) -> None:
        if self._broken is not None or self._least_busy() is None:
            return
        for job in [job for job in self._waiting if job.losses]:
            # A lost worker's callers finish the calls that they have begun, and store them.
            reply = self._listener.find(job.key)
            if reply is not None:
                self._waiting.remove(job)
                self._listener.called(job, {"reply": reply})
        self._send_waiting()
        tasks, self._waiting_tasks = self._waiting_tasks, {}
        for key, task in tasks.items():
            worker = self._least_busy(lambda worker: len(worker.tasks))
            if worker is not None:
                worker.run(key, task)

    def _receive(self, worker: WorkerHandle, head: dict[str, Any], body: bytes) -> None:
        if "key" in head:
            job = worker.jobs.pop(head["key"])
            if "lost" in head:
                self._listener.lost(job)
                return
            if "reply" in head and not worker.keeps:
                head |= self._store_reply(job, head["reply"])
            self._listener.called(job, head)
        elif "re" in head:
            _, (name, question, on_answer) = self._asked.pop(head.pop("re"))
            if name == "facts" and "result" in head and not worker.keeps:
                self._store_facts(json.loads(question), head["result"])
            on_answer(head)
        elif "ran" in head:
            self._ran(worker, head, body)
        elif "note" in head:
            self._listener.note(f"{head['note']} {worker.address}", head["texts"])
        elif "broken" in head:
            self._refuse(worker.address, read_error(head["broken"]))

    def _ran(self, worker: WorkerHandle, head: dict[str, Any], body: bytes) -> None:
        key = head.pop("ran")
        _, program = worker.tasks.pop(key)
        if not worker.keeps and body:  # only programs have a body
            ran = read_execution(json.loads(body))
            try:
                if ran.outcome != "lost":
                    self._listener.store.put_execution(read_execute(program), ran)
            except StoreError as error:
                head["unstored"] = str(error)
        self._listener.ran(key, head, body or None)

    # This process stores the results of workers that do not share the store's folder.

    def _store_reply(self, job: Job, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Store a reply; return fields that report a failure to store it."""
        request = read_request(job.body)
        try:
            self._listener.store.put(request, Reply(**reply))
        except StoreError as error:
            return not_stored(error, request)
        return {}

    def _store_facts(self, question: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        try:
            self._listener.store.put_resolution(facts_entry(question, facts))
        except StoreError as error:
            self._listener.note(f"{PROBLEMS} facts", [str(error)])

    def close(self, done: Callable[[], None]) -> None:
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
