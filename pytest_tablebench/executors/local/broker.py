"""The process that owns a run's model calls: `python -m pytest_tablebench.executors.local.broker`.

It has the run's programs run as well. Started by the pytest process that keeps the run. It reads
one line of configuration from its standard input, prints its port, starts the callers, and serves
the processes that run items. It never imports litellm and never sees a prompt from the inside. When
its standard input ends, which it does with the process that keeps the run, it starts no further
call; the callers finish and store what is in flight.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ENGINE, MODEL_STOPPED, ModelError, TableBenchError
from pytest_tablebench.executors.local._dispatch import Dispatcher, Lane, Limits
from pytest_tablebench.executors.local._door import Door
from pytest_tablebench.executors.local._link import Peer
from pytest_tablebench.executors.local._news import News
from pytest_tablebench.executors.local._processes import CallerProcesses
from pytest_tablebench.executors.local._programs import Programs
from pytest_tablebench.executors.local._queue import Job
from pytest_tablebench.executors.local._wire import (
    error_fields,
    read_error,
    reply_fields,
)
from pytest_tablebench.store import Store

__all__ = ["Broker", "main"]

GUARD_S = 20.0
"""Seconds beyond a call's own time limit after which its caller counts as stuck."""

MOST_RESTARTS = 3


class Broker:
    """Routes requests to callers and outcomes to askers."""

    def __init__(self, config: Mapping[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        self.config = config
        self.token: str = config["token"]
        self.port = 0
        self.done = loop.create_future()
        self._loop = loop
        self._store = Store.open(Path(config["store"]))
        self._idle: set[Peer] = set()
        self._callers: list[Peer] = []
        self._processes = CallerProcesses()
        self._restarts = 0
        self._numbers = 0
        self._open: dict[str, set[Peer]] = {}
        self._jobs: dict[str, Job] = {}
        self._finished: set[str] = set()
        self._failed: dict[str, dict[str, Any]] = {}
        self._unstored: dict[str, dict[str, Any]] = {}
        self._waiting: list[Job] = []
        self._questions: dict[int, tuple[Peer, Peer, dict[str, Any], bytes]] = {}
        self._later_questions: list[tuple[Peer, dict[str, Any], bytes]] = []
        self._broken: ModelError | None = None
        self._started = False
        self._closing = False
        self.dispatcher = Dispatcher(
            [
                Lane(lane["model"], lane["provider"], priced=lane.get("reference") is None)
                for lane in config["lanes"]
            ],
            Limits(
                config["connections"], config["retries"], config["max_cost"], config["patience"]
            ),
            loop.time,
            loop.call_later,
            self._start,
            self._deliver,
            self._look,
        )
        self.news = News(self.dispatcher, loop)
        self._programs = Programs(config.get("sandbox", {}), self._store, loop, self._ran)

    # Callers.

    def start_callers(self) -> None:
        """Start the processes that make the calls, unless they are.

        The second one follows when the first is ready: importing litellm in both at once keeps
        the first call waiting for longer, where processors are few.
        """
        if self._started:
            return
        self._started = True
        if self.config["callers"]:
            self._start_caller()
        self._loop.call_later(1.0, self._guard)

    def _start_caller(self) -> None:
        given = {k: self.config[k] for k in ("token", "store", "timeout", "max_reply", "lanes")}
        settings = self.config.get("settings", {})
        self._processes.start({"port": self.port, **given, "settings": settings})

    def _guard(self) -> None:
        """End a caller that no longer minds its time limits, and notice one that never came."""
        limit = self.config["timeout"] + GUARD_S
        now = self._loop.time()
        for caller in list(self._callers):
            if any(now - job.started > limit for job in caller.jobs.values()):
                self._processes.kill(caller.pid)
                caller.close()
        ours = self.config["callers"] > 0 and not self._closing
        if ours and not self._callers and not self._processes.alive():
            self._replace_caller()
        self.news.announce_waits()
        self._loop.call_later(1.0, self._guard)

    def _replace_caller(self) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            self._break(
                ModelError(
                    "the processes that make the model calls keep ending; is memory short?",
                    reason=ENGINE,
                    whole_run=True,
                )
            )
        else:
            self._start_caller()

    def _start(self, job: Job) -> None:
        if self._callers:
            self._hand_out(job)
        else:
            self._waiting.append(job)

    def _hand_out(self, job: Job) -> None:
        caller = min(self._callers, key=lambda link: len(link.jobs))
        self._numbers += 1
        caller.jobs[self._numbers] = job
        job.started = self._loop.time()
        caller.send({"do": "call", "n": self._numbers, "lane": job.lane}, job.body)

    def from_caller(self, link: Peer, head: Mapping[str, Any]) -> None:
        """Take what a caller has to say."""
        if "ready" in head:
            self._callers.append(link)
            if self._processes.alive() < self.config["callers"]:
                self._start_caller()
            for client, question, body in self._take(self._later_questions):
                self._put_question(client, question, body)
            for job in self._take(self._waiting):
                self._hand_out(job)
            return
        if "broken" in head:
            self._break(read_error(head["broken"]))
            return
        if "problems" in head:
            self.news.problems(link.pid, head["problems"])
            return
        if "result" in head:
            _, client, question, _ = self._questions.pop(head["n"])
            client.send({"re": question["id"], "result": head["result"]})
            return
        job = link.jobs.pop(head["n"])
        if "reply" in head:
            if "unstored" in head:
                self._unstored[job.key] = head["reply"]
                self._not_stored(head["unstored"], whole_run=head["whole_run"])
            self.dispatcher.succeed(job, head["reply"])
        else:
            self.dispatcher.fail(job, read_error(head["error"]))
        self.news.announce_totals()

    def _not_stored(self, why: str, *, whole_run: bool) -> None:
        """An answer cannot be kept: stop where that holds for all, else say so and go on."""
        if whole_run:
            self.dispatcher.stop(f"stopped, because answers cannot be kept: {why}")
        else:
            self.news.not_kept(why)

    @staticmethod
    def _take(items: list[Any]) -> list[Any]:
        taken, items[:] = items[:], []
        return taken

    def _break(self, error: ModelError) -> None:
        """Nothing can be asked in this run: everybody is told why."""
        self._broken = error
        for client, question, _ in self._take(self._later_questions):
            client.send({"re": question["id"], "error": error_fields(error)})
        for job in self._take(self._waiting):
            self.dispatcher.fail(job, error)
        self.dispatcher.stop(str(error))

    # Clients: the processes that run items, and the one that keeps the run.

    def joined(self, link: Peer) -> None:
        """Take note of who a connection is."""
        if link.role == "caller":
            return
        self.news.joined(link)

    def left(self, link: Peer) -> None:
        """Take note of a connection that ended."""
        if link.role == "caller":
            self._caller_left(link)
            return
        self.news.left(link)
        for askers in self._open.values():
            askers.discard(link)

    def _caller_left(self, link: Peer) -> None:
        if link in self._callers:
            self._callers.remove(link)
        lost, link.jobs = list(link.jobs.values()), {}
        if self._closing:
            return
        self._replace_caller()
        for number in [n for n, question in self._questions.items() if question[0] is link]:
            self._put_question(*self._questions.pop(number)[1:])
        for job in lost:
            if (found := self._find(job.key)) is not None:
                # It stored the answer and had no time to say so: that one is paid for.
                self.dispatcher.succeed(job, found)
                continue
            error = ModelError(
                "the process that made the call ended before its answer",
                reason=ENGINE,
                retryable=True,
            )
            self.dispatcher.fail(job, error)

    def from_client(self, link: Peer, head: dict[str, Any], body: bytes) -> None:
        """Take a message of a client."""
        do = head["do"]
        if do == "ask":
            self._ask(link, head, body)
        elif do == "run":
            self._run(link, head["key"], body)
        elif do == "question":
            self._put_question(link, head, body)
        elif do == "stop":
            self.dispatcher.stop(head["why"])
        elif do == "finish":
            self.dispatcher.stop("the run is over")
            link.send({"re": head["id"], "result": self.news.totals()})
            self.close()

    def _put_question(self, link: Peer, head: dict[str, Any], body: bytes) -> None:
        """Pass a question about a model (its facts, a count of tokens) on to a caller."""
        self.start_callers()
        if self._broken is not None:
            link.send({"re": head["id"], "error": error_fields(self._broken)})
        elif not self._callers:
            self._later_questions.append((link, head, body))
        else:
            self._numbers += 1
            self._questions[self._numbers] = self._callers[0], link, head, body
            self._callers[0].send({"do": head["what"], "n": self._numbers}, body)

    def _ask(self, link: Peer, head: Mapping[str, Any], body: bytes) -> None:
        key = head["key"]
        if key in self._open:
            self._open[key].add(link)
            return
        if key in self._failed and not head.get("again"):
            # Several processes look ahead over the same cases.
            link.send({"key": key, **self._failed[key]})
            return
        if key in self._finished and (found := self._find(key)) is not None:
            link.send({"key": key, "reply": found})
            return
        if self._broken is not None:
            link.send({"key": key, "error": error_fields(self._broken)})
            return
        self._open[key] = {link}
        self.start_callers()
        urgent = head.get("step", 0) > 0
        self.dispatcher.submit(Job(key, head["lane"], body, asker=link, urgent=urgent))

    def _run(self, link: Peer, key: str, body: bytes) -> None:
        """Have a program run, once for all who want it."""
        if key in self._open:
            self._open[key].add(link)
            return
        self._open[key] = {link}
        self._programs.submit(key, body)

    def _ran(self, key: str, head: Mapping[str, Any], body: bytes | None) -> None:
        """Tell what came of a program."""
        if "unstored" in head:
            self.news.not_kept(head["unstored"])
        for link in self._open.pop(key, ()):
            link.send({"key": key, **head}, body)

    def _look(self, job: Job) -> dict[str, Any] | None:
        """Return the answer that another run has paid for since this one began."""
        reply = self._store.look_again(job.key)
        return None if reply is None else reply_fields(reply)

    def _find(self, key: str) -> dict[str, Any] | None:
        """Return the reply to a request answered earlier in this run, which is no store hit."""
        if key in self._unstored:
            return self._unstored[key]
        reply = self._store.get(key)
        if reply is None:
            self._store.refresh()
            reply = self._store.get(key)
        return None if reply is None else {**reply_fields(reply), "from_store": False}

    def _deliver(self, job: Job, outcome: dict[str, Any]) -> None:
        if "reply" in outcome:
            self._finished.add(job.key)
            self._failed.pop(job.key, None)
        elif self.dispatcher.stopped is None and outcome["error"]["reason"] != MODEL_STOPPED:
            self._failed[job.key] = outcome
        for link in self._open.pop(job.key, ()):
            link.send({"key": job.key, **outcome})

    # The end.

    def close(self) -> None:
        """Start nothing more and end; the callers end by themselves, after what is in flight."""
        if self._closing:
            return
        self._closing = True
        self.dispatcher.stop("the run is over")
        self._programs.close()
        for caller in self._callers:
            caller.send({"do": "close"})
        # Once round the loop, so that what was sent goes out.
        self._loop.call_later(0.05, self._finish)

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def _serve(config: Mapping[str, Any], announce: Callable[[int], None]) -> None:
    loop = asyncio.get_running_loop()
    broker = Broker(config, loop)
    door = Door(broker, loop)
    letting_in = asyncio.create_task(door.let_in())
    broker.port = door.port
    announce(broker.port)
    if config["eager"]:
        broker.start_callers()

    def watch() -> None:
        # Nothing is ever written there; it ends with the process that started this one, however
        # that came about. os.read, because a buffered reader cannot be left at exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(broker.close)

    threading.Thread(target=watch, daemon=True).start()
    await broker.done
    letting_in.cancel()
    door.close()


def _first_line() -> bytes:
    """Read the configuration from standard input without reading ahead."""
    line = b""
    while not line.endswith(b"\n") and (piece := os.read(0, 65536)):
        line += piece
    return line


def main() -> int:
    """Serve one run."""
    config = json.loads(_first_line())

    def announce(port: int) -> None:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        sys.stdout.close()

    try:
        asyncio.run(_serve(config, announce))
    except TableBenchError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
