"""The process that owns a run's model calls: `python -m pytest_tablebench.executors.local.broker`.

The pytest process that keeps the run starts it. The broker reads one line of configuration from its
standard input, prints its port, starts the callers, and serves the processes that run items. It
also runs programs and scores answers. It never imports litellm and never parses a prompt. Its
standard input ends with the process that keeps the run. Then it starts no further call, and the
callers finish and store their calls in flight.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ENGINE, MODEL_STOPPED, ModelError, TableBenchError
from pytest_tablebench.executors._dispatch import Dispatcher, Lane
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import error_fields, read_error, reply_fields
from pytest_tablebench.executors.local._broadcast import Broadcast
from pytest_tablebench.executors.local._caller_processes import end_spare
from pytest_tablebench.executors.local._callers import CallerPool, LocalCallers
from pytest_tablebench.executors.local._connection import Connection, Listener
from pytest_tablebench.executors.local._local_work import LocalWork, Programs, Scorers
from pytest_tablebench.executors.local._servers import Servers
from pytest_tablebench.store import Store


class Broker:
    """Routes requests to callers and outcomes to the connections that submitted them."""

    def __init__(self, config: Mapping[str, Any], pool: type[CallerPool] = LocalCallers) -> None:
        self.token: str = config["token"]
        self.done = asyncio.Event()
        self._loop = loop = asyncio.get_running_loop()
        self.store = Store.open(Path(config["store"]), oldest=config.get("oldest"))
        self._open: dict[str, set[Connection]] = {}
        self._finished: set[str] = set()
        self._failed: dict[str, dict[str, Any]] = {}
        self._unstored: dict[str, dict[str, Any]] = {}
        self._broken: ModelError | None = None
        self._started = False
        self._closing = False
        self.callers = pool(config, self)
        self.dispatcher = Dispatcher(
            [Lane(**lane) for lane in config["lanes"]],
            config["connections"],
            config["retries"],
            config["max_cost"],
            config["patience"],
            loop.time,
            loop.call_later,
            lambda job: self._servers.call(job),  # noqa: PLW0108 - created below
            self._deliver,
            self._look,
        )
        self._servers = Servers(self.callers.call, self.dispatcher)
        self.broadcast = Broadcast(self.dispatcher, loop)
        self._programs = Programs(config.get("sandbox", {}), self.store, self.ran)
        self._runs_programs = not config.get("score_there")
        self._local_work: dict[str, LocalWork] = {"run": self._programs, "grade": Scorers(self.ran)}

    def start_callers(self) -> None:
        """Start the callers, unless they are started."""
        if not self._started:
            self._started = True
            self.callers.start()
            self._announce_waits()

    def _announce_waits(self) -> None:
        self.broadcast.announce_waits()
        self._loop.call_later(1.0, self._announce_waits)

    def from_caller(self, connection: Connection, head: Mapping[str, Any]) -> None:
        """Handle a message of a caller."""
        self.callers.receive(connection, head)

    def called(self, job: Job, head: Mapping[str, Any]) -> None:
        """Pass the outcome of a call to the dispatcher."""
        if "reply" in head:
            if "unstored" in head:
                self._unstored[job.key] = head["reply"]
                why = head["unstored"]
                if head["whole_run"]:
                    self.dispatcher.stop(f"stopped, because answers cannot be kept: {why}")
                else:
                    self.broadcast.not_kept(why)
            self.dispatcher.succeed(job, head["reply"])
        else:
            error = self._servers.failure(job) or read_error(head["error"])
            self.dispatcher.fail(job, error)
        self.broadcast.announce_totals()

    def lost(self, job: Job) -> None:
        """Handle a call whose process ended before it reported an outcome."""
        if (reply := self.find(job.key)) is not None:
            # The process stored the answer, which is paid for, but could not report it.
            self.dispatcher.succeed(job, reply)
            return
        error = ModelError(
            "the process that made the call ended before its answer",
            reason=ENGINE,
            retryable=True,
        )
        self.dispatcher.give_back(job, error)

    def note(self, name: str, texts: Sequence[str]) -> None:
        """Send a caller's note to the process that keeps the run."""
        self.broadcast.note(name, texts)

    def broken(self, error: ModelError) -> None:
        """Stop the run, because no call can be made."""
        self._broken = error
        self.dispatcher.stop(str(error))

    # Clients: the processes that run items, and the one that keeps the run.

    def joined(self, connection: Connection) -> None:
        """Send a client the current state."""
        if connection.role != "caller":
            self.broadcast.joined(connection)

    def left(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        if connection.role == "caller":
            self.callers.left(connection)
            return
        self.broadcast.left(connection)
        for askers in self._open.values():
            askers.discard(connection)

    def from_client(self, connection: Connection, head: dict[str, Any], body: bytes) -> None:
        """Handle a message of a client."""
        do = head["do"]
        if do == "ask":
            self._ask(connection, head, body)
        elif do in self._local_work:
            self._run(connection, do, head["key"], body)
        elif do == "question":
            self.start_callers()
            self.callers.question(
                head["what"], body, lambda answer: connection.send({"re": head["id"], **answer})
            )
        elif do == "stop":
            self.dispatcher.stop(head["why"])
        elif do == "finish":
            self.dispatcher.stop("the run is over")
            connection.send({"re": head["id"], "result": self.broadcast.totals()})
            self.close()

    def _ask(self, connection: Connection, head: Mapping[str, Any], body: bytes) -> None:
        key = head["key"]
        if key in self._open:
            self._open[key].add(connection)
            return
        if key in self._failed and not head.get("again"):
            # Several processes prefetch the same cases.
            connection.send({"key": key, **self._failed[key]})
            return
        if key in self._finished and (reply := self.find(key)) is not None:
            connection.send({"key": key, "reply": reply})
            return
        if self._broken is not None:
            connection.send({"key": key, "error": error_fields(self._broken)})
            return
        self._open[key] = {connection}
        self.start_callers()
        if head.get("programs") and self._runs_programs:
            self._programs.prepare()
        urgent = head.get("step", 0) > 0
        self.dispatcher.submit(Job(key, head["lane"], body, asker=connection, urgent=urgent))

    def _run(self, connection: Connection, do: str, key: str, body: bytes) -> None:
        if key in self._open:
            self._open[key].add(connection)
            return
        self._open[key] = {connection}
        if not self.callers.run(do, key, body):
            self._local_work[do].submit(key, body)

    def ran(self, key: str, head: Mapping[str, Any], body: bytes | None) -> None:
        """Send the outcome of a program or of the scoring of an answer."""
        if "unstored" in head:
            self.broadcast.not_kept(head["unstored"])
        for connection in self._open.pop(key, ()):
            connection.send({"key": key, **head}, body)

    def _look(self, job: Job) -> dict[str, Any] | None:
        """Return an answer that another run has stored since this one began."""
        reply = self.store.look_again(job.key)
        return None if reply is None else reply_fields(reply)

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the reply to a request answered earlier in this run, marked as no store hit."""
        if key in self._unstored:
            return self._unstored[key]
        reply = self.store.get(key)
        if reply is None:
            self.store.refresh()
            reply = self.store.get(key)
        return None if reply is None else {**reply_fields(reply), "from_store": False}

    def _deliver(self, job: Job, outcome: dict[str, Any]) -> None:
        if "reply" in outcome:
            self._finished.add(job.key)
            self._failed.pop(job.key, None)
        elif self.dispatcher.stopped is None and outcome["error"]["reason"] != MODEL_STOPPED:
            self._failed[job.key] = outcome
        for connection in self._open.pop(job.key, ()):
            connection.send({"key": job.key, **outcome})

    def close(self) -> None:
        """Start nothing more and end. The callers finish their calls in flight and end."""
        if self._closing:
            return
        self._closing = True
        self.dispatcher.stop("the run is over")
        for work in self._local_work.values():
            work.close()
        self._servers.close()
        self.callers.close(self.done.set)


async def _serve(config: Mapping[str, Any], pool: type[CallerPool]) -> None:
    loop = asyncio.get_running_loop()
    broker = Broker(config, pool)
    listener = Listener(broker, loop)
    letting_in = asyncio.create_task(listener.let_in())
    broker.callers.port = listener.port
    sys.stdout.write(f"{listener.port}\n")
    sys.stdout.flush()
    sys.stdout.close()
    if config["eager"]:
        broker.start_callers()

    def watch() -> None:
        # Nothing is written to the input, but it ends with the process that started this one.
        # os.read, because a buffered reader would block the exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(broker.close)

    threading.Thread(target=watch, daemon=True).start()
    await broker.done.wait()
    letting_in.cancel()
    listener.close()


def _command_line() -> bytes:
    """Read a line of standard input without a buffered reader, which would block the exit."""
    line = b""
    while not line.endswith(b"\n") and (piece := os.read(0, 65536)):
        line += piece
    return line


def main(pool: type[CallerPool] = LocalCallers) -> int:
    """Serve one run, whose calls are made by a `pool`."""
    try:
        if line := _command_line():
            asyncio.run(_serve(json.loads(line), pool))
    except TableBenchError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        end_spare()
    return 0


if __name__ == "__main__":
    sys.exit(main())
