"""Start and stop the servers of models in files, one process per file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._dispatch import Dispatcher
from pytest_tablebench.executors._process import ModuleProcess, last_line, processors
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.util.names import shortened

SERVER = "pytest_tablebench.models.gguf.serve"

START_S = 600.0
"""Seconds a server may take until it listens, because large models are read from disk."""


class Servers:
    """Starts the server of a lane with its first call, and stops all servers at the end.

    A lane is given up if its server does not start, or ends.

    Arguments:
        call: makes a call to the job's server.
        dispatcher: has the lanes, of which those with a `file` have a server.
    """

    def __init__(self, call: Callable[[Job], None], dispatcher: Dispatcher) -> None:
        self._lanes = dispatcher.lanes
        self._call = call
        self._dispatcher = dispatcher
        self._servers: dict[str, _ModelServer] = {}
        self._waiting: dict[str, list[Job]] = {}

    def call(self, job: Job) -> None:
        """Make a call as soon as its server listens."""
        file = self._lanes[job.lane].file
        if file is None:
            self._call(job)
            return
        if file not in self._servers:
            name = self._lanes[job.lane].model
            self._waiting[file] = []
            self._servers[file] = _ModelServer(file, name, self._changed)
        server = self._servers[file]
        if server.ended is not None:
            self._dispatcher.fail(job, ModelError(server.ended, reason=ENGINE))
        elif server.url is None:
            self._waiting[file].append(job)
        else:
            job.server = server.url, server.key
            self._call(job)

    def failure(self, job: Job) -> ModelError | None:
        """Return the error of a call whose server has ended, None for any other call."""
        server = self._servers.get(self._lanes[job.lane].file or "")
        ended = None if server is None else server.ended
        return None if ended is None else ModelError(ended, reason=ENGINE)

    def _changed(self, file: str, ended: str | None) -> None:
        """Handle a server that has started to listen, or has ended for the given reason."""
        for number, lane in enumerate(self._lanes):
            if ended is not None and lane.file == file:
                self._dispatcher.give_up(number, ended)
        jobs, self._waiting[file] = self._waiting[file], []
        for job in jobs:
            self.call(job)

    def close(self) -> None:
        """Stop the servers and discard their pending requests."""
        for server in self._servers.values():
            server.stop()


class _ModelServer:
    """One process that serves a model, watched by a thread.

    `url` is its address once it listens, `ended` the reason if it ended by itself. `changed` is
    called with the model's file and `ended` when either is set.
    """

    def __init__(self, file: str, name: str, changed: Callable[[str, str | None], None]) -> None:
        self.url: str | None = None
        self.key = secrets.token_hex(16)
        self.ended: str | None = None
        self._file, self._name = file, name
        self._loop = asyncio.get_running_loop()
        self._changed = changed
        self._stopped = False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = ModuleProcess(
            SERVER,
            stderr=self._errors,
            # Threads that wait for each other by spinning are ten times slower on busy processors.
            env={"OMP_WAIT_POLICY": "passive", **os.environ},
        )
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        self._stopped = True
        self._process.kill()

    def _watch(self) -> None:
        process = self._process
        config = {"file": self._file, "name": Path(self._file).stem, "key": self.key}
        with contextlib.suppress(OSError):  # it has ended at once
            process.stdin.write(json.dumps({**config, "threads": _threads()}).encode() + b"\n")
            process.stdin.flush()  # left open: its end shows the server that the broker is gone
        limit = threading.Timer(START_S, process.kill)
        limit.daemon = True
        limit.start()
        line = process.stdout.readline()
        limit.cancel()
        process.stdout.close()
        if line.endswith(b"\n"):
            self.url = f"{line.decode().strip()}/v1"
            self._notify()
        process.wait()
        if not self._stopped:
            did = "ended" if self.url is not None else "did not start"
            code = process.returncode
            output = shortened(last_line(self._errors), 200) or "nothing"
            self.ended = (
                f"the server of {self._name} {did} (exit code {code}); it last said: {output}"
            )
            self._notify()
        self._errors.close()

    def _notify(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._changed, self._file, self.ended)


def _threads() -> int:
    variable = os.environ.get("OMP_NUM_THREADS", "")
    return int(variable) if variable.isdecimal() and int(variable) > 0 else processors()
