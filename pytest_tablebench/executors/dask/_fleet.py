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
from pytest_tablebench.executors.dask._cluster import Cluster
from pytest_tablebench.executors.dask._post import Post, Task
from pytest_tablebench.executors.local._callers import Office, Tell
from pytest_tablebench.executors.local._link import Peer
from pytest_tablebench.executors.local._queue import Job
from pytest_tablebench.executors.local._wire import (
    error_fields,
    not_stored,
    read_error,
    read_execute,
    read_reply,
    read_request,
)
from pytest_tablebench.metrics.steps import read_execution

if TYPE_CHECKING:
    from distributed import Client

    from pytest_tablebench.store import Store


LOOK_S = 0.5
"""Time between two looks at which workers there are."""

DRAIN_S = 4.0
"""Seconds at the end for answers that only this process can keep."""


class DaskOffice(Office, Protocol):
    """The broker."""

    store: Store

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the reply to a request that was answered in this run, as JSON values."""

    def ran(self, key: str, head: Mapping[str, Any], body: bytes | None) -> None:
        """Take what came of a program, or of an answer that was to be scored."""


class Fleet:
    """Makes calls through stations on Dask workers.

    Arguments:
        config: of the broker.
        loop: of the broker.
        office: is told what came of calls and programs.
    """

    def __init__(
        self, config: Mapping[str, Any], loop: asyncio.AbstractEventLoop, office: DaskOffice
    ) -> None:
        self.port = 0
        self._config = config
        self._loop = loop
        self._office = office
        self._cluster = Cluster(config)
        self._posts: dict[str, Post] = {}
        self._refused: dict[str, ModelError] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._attending: asyncio.Task[None] | None = None
        self._waiting: list[Job] = []
        self._waiting_tasks: dict[str, Task] = {}
        self._questions: dict[int, tuple[str, bytes, Tell]] = {}
        self._asked: dict[int, Post] = {}
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
                        self._heed_absence()
                        await asyncio.sleep(LOOK_S)
            except OSError as error:  # timeouts among them
                self._why = f"the scheduler cannot be reached: {error}"
            except ModelError as error:
                self._break(error)
            except Exception as error:  # a defect must not leave the run waiting for ever
                self._break(ModelError(f"Dask: {type(error).__name__}: {error}", reason=ENGINE))
            for address in list(self._posts):
                self._drop(address)
            self._heed_absence()
            await asyncio.sleep(LOOK_S)

    def _see_to(self, client: Client, present: Sequence[str]) -> None:
        """Use workers that have come, and give up those that are gone."""
        for address in set(self._posts).difference(present):
            self._drop(address)
        for address in present:
            if address not in self._posts and address not in self._refused:
                post = self._posts[address] = Post(address, self._heard)
                self._serving[address] = self._loop.create_task(self._serve(client, post))

    def _heed_absence(self) -> None:
        """Give up where no worker has been ready for too long."""
        if any(post.ready for post in self._posts.values()):
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

    async def _serve(self, client: Client, post: Post) -> None:
        """Work with one worker for as long as it is there."""
        try:
            self._numbers += 1
            name = f"tablebench-{self._cluster.name}-{self._numbers}"
            await post.open(client, self._cluster.station(), name)
            self._hand_out()
            await post.serve()
        except ModelError as error:
            self._refuse(post.address, error)
        except Exception as error:  # Dask's errors are many; all mean that it is gone
            self._why = f"the last one ended: {type(error).__name__}: {error}"
            self._drop(post.address)

    def _refuse(self, address: str, error: ModelError) -> None:
        """Use a worker no more that cannot make calls; without any other the run is over."""
        self._refused[address] = error
        self._drop(address)
        if not self._posts:
            self._break(error)

    def _drop(self, address: str) -> None:
        """Give to others what a worker was doing."""
        post = self._posts.pop(address)
        task = self._serving.pop(address)
        if task is not asyncio.current_task():
            task.cancel()
        for job in post.jobs.values():
            self._office.lost(job)
        self._waiting_tasks |= post.tasks
        self._hand_out()
        for number in [n for n, asked in self._asked.items() if asked is post]:
            del self._asked[number]
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
            self._office.ran(key, fields, None)
        waiting, self._waiting = self._waiting, []
        for job in waiting:
            self._office.called(job, fields)
        self._office.broken(error)

    # Work.

    def _least(self, load: Callable[[Post], int] = lambda post: len(post.jobs)) -> Post | None:
        """Return who is ready and has the least to do, in calls unless `load` counts others."""
        ready = [post for post in self._posts.values() if post.ready]
        return min(ready, key=load, default=None)

    def call(self, job: Job) -> None:
        """Have the worker with the fewest calls under way make one more."""
        post = self._least()
        if self._broken is not None:
            self._office.called(job, {"error": error_fields(self._broken)})
        elif post is None:
            self._waiting.append(job)
        else:
            job.started = self._loop.time()
            post.call(job)

    def run(self, do: str, key: str, body: bytes) -> bool:
        """Have a program run, or an answer scored, by the worker with the fewest of both.

        Returns False where that is not wanted.
        """
        if not self._config["score_there"]:
            return False
        self.start()
        if self._broken is not None:
            self._office.ran(key, {"error": error_fields(self._broken)}, None)
        else:
            self._waiting_tasks[key] = do, body
            self._hand_out()
        return True

    def question(self, what: str, body: bytes, tell: Tell) -> None:
        """Have a question about a model answered by any worker."""
        self._numbers += 1
        self._questions[self._numbers] = what, body, tell
        self._put(self._numbers)

    def _put(self, number: int) -> None:
        what, body, tell = self._questions[number]
        post = self._least()
        if self._broken is not None:
            del self._questions[number]
            tell({"error": error_fields(self._broken)})
        elif post is not None:
            self._asked[number] = post
            post.question(number, what, body)

    def _hand_out(self) -> None:
        """Give all that waits to whoever is ready."""
        if self._broken is not None or self._least() is None:
            return
        for number in [n for n in self._questions if n not in self._asked]:
            self._put(number)
        waiting, self._waiting = self._waiting, []
        for job in waiting:
            # Callers of a worker that is gone finish what they were at, and store it.
            found = self._office.find(job.key) if job.losses else None
            if found is None:
                self.call(job)
            else:
                self._office.called(job, {"reply": found})
        tasks, self._waiting_tasks = self._waiting_tasks, {}
        for key, task in tasks.items():
            post = self._least(lambda post: len(post.tasks))
            if post is not None:
                post.run(key, task)

    def _heard(self, post: Post, head: dict[str, Any], body: bytes) -> None:
        """Take what a station has to say."""
        if "key" in head:
            job = post.jobs.pop(head["key"])
            if "lost" in head:
                self._office.lost(job)
                return
            if "reply" in head and not post.keeps:
                head |= self._keep(job, head["reply"])
            self._office.called(job, head)
        elif "re" in head:
            self._asked.pop(head["re"])
            what, given, tell = self._questions.pop(head["re"])
            if what == "facts" and "result" in head and not post.keeps:
                self._keep_facts(json.loads(given), head["result"])
            tell({name: value for name, value in head.items() if name != "re"})
        elif "ran" in head:
            self._ran(post, head, body)
        elif "refused" in head:
            self._office.refused(head["refused"], head["part"], head["why"])
        elif "problems" in head:
            self._office.problems(f"{post.address} {head['source']}", head["problems"])
        elif "broken" in head:
            self._refuse(post.address, read_error(head["broken"]))

    def _ran(self, post: Post, head: dict[str, Any], body: bytes) -> None:
        key = head.pop("ran")
        _, program = post.tasks.pop(key)
        if not post.keeps and body:  # of a program
            ran = read_execution(json.loads(body))
            try:
                if ran.outcome != "lost":
                    self._office.store.put_execution(read_execute(program), ran)
            except StoreError as error:
                head["unstored"] = str(error)
        self._office.ran(key, head, body or None)

    # The store of this side, for workers that do not see its folder.

    def _keep(self, job: Job, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an answer; return what its message has to say of it."""
        request = read_request(job.body)
        try:
            self._office.store.put(request, read_reply(reply))
        except StoreError as error:
            return not_stored(error, request)
        return {}

    def _keep_facts(self, asked: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        try:
            self._office.store.put_resolution({"key": asked["key"], "facts": facts})
        except StoreError as error:
            self._office.problems("facts", [str(error)])

    # The callers of one machine, of which there are none here.

    def heard(self, link: Peer, head: Mapping[str, Any]) -> None:  # noqa: ARG002 - as in Crew
        """Send away who says that it is a caller."""
        link.close()

    def left(self, link: Peer) -> None:
        """Take note of nothing: it was none of ours."""

    # The end.

    def close(self, done: Callable[[], None]) -> None:
        """Have the stations end, once what only this side can keep has come."""
        self._closing = True
        self._loop.create_task(self._end(done))

    async def _end(self, done: Callable[[], None]) -> None:
        until = self._loop.time() + DRAIN_S
        posts = [post for post in self._posts.values() if post.ready]
        while self._loop.time() < until and any(p.jobs for p in posts if not p.keeps):
            await asyncio.sleep(0.05)
        if told := [self._loop.create_task(post.close()) for post in posts]:
            await asyncio.wait(told, timeout=1.0)
        for task in self._serving.values():
            task.cancel()
        if self._attending is not None:
            await asyncio.wait([self._attending], timeout=DRAIN_S)
        done()
