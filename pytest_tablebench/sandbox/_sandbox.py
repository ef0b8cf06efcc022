"""The choice of a backend, and the running of programs in its warm processes."""

from __future__ import annotations

import json
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import LifoQueue

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.metrics.steps import Execute, Execution, Limits
from pytest_tablebench.sandbox._backends import Backend, backends
from pytest_tablebench.sandbox._worker import NotConfinedError, SandboxProcess

LIMITS = Limits(cpu_s=5, wall_s=10, memory_mib=256)

ESCAPE = """
import json, os, signal, socket
given = json.load(open("probe.json"))
value = []

def attempt(what, how):
    try:
        found = how()
    except OSError:
        return
    value.append(f"{what}: {found}" if found else what)

def write(path):
    with open(path, "w") as file:
        file.write("x")

attempt("it wrote outside its folder", lambda: write(given["outside"]))
attempt("it overwrote a file of yours", lambda: write(given["secret"]))
attempt("it read a file of yours", lambda: open(given["secret"]).read())
attempt("it reached the network", lambda: socket.create_connection(("127.0.0.1", given["port"]), 2).close())
attempt("it made a socket to the world", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9)))
attempt("it started a process", lambda: os.posix_spawn("/bin/sh", ["sh", "-c", "exit"], {}))
for name in sorted(set(os.environ) & set(given["names"])):
    value.append(f"it saw your variable {name}")
attempt("it sent a signal to the run", lambda: os.kill(given["pid"], 0))
attempt("it killed its parent", lambda: os.kill(os.getppid(), signal.SIGKILL))
"""  # noqa: E501 - a program's lines


@dataclass(frozen=True)
class Tried:
    """A tried backend; `why` is the reason against it, or None if it works."""

    backend: Backend
    why: str | None


def choose(candidates: Iterable[Backend], *, every: bool = False) -> list[Tried]:
    """Try backends in order, up to the first that works, or all of them if `every`."""
    tried = []
    for backend in candidates:
        tried.append(Tried(backend, _fault(backend)))
        if tried[-1].why is None and not every:
            break
    return tried


def _fault(backend: Backend) -> str | None:
    absent = backend.absent()
    if absent is not None:
        return absent
    worker = SandboxProcess(backend, warm=False)
    try:
        worker.start()
        if "bare" in backend.parts:
            return None  # it promises no isolation
        faults = escapes(worker)
    except NotConfinedError as error:
        return f"it does not start: {error}"
    finally:
        worker.close()
    return "; ".join(faults) or None


def escapes(worker: SandboxProcess) -> list[str]:
    """Return how a program got out. Raises `NotConfinedError`."""
    word = secrets.token_hex(8)
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as server:
        secret, outside = Path(name) / "secret", Path(name) / "written"
        secret.write_text(word, encoding="ascii")
        for path in (secret.parent, secret):
            path.chmod(0o777)  # so that only the sandbox can refuse
        targets = {
            "secret": str(secret),
            "outside": str(outside),
            "port": server.getsockname()[1],
            "pid": os.getpid(),
            "names": [key for key in os.environ if key not in _EVERYWHERE],
        }
        files = {"probe.json": json.dumps(targets).encode()}
        ran = worker.run(Execute("", files, LIMITS, runner=ESCAPE))
        faults = _reported_escapes(ran)
        server.settimeout(0)
        try:
            server.accept()[0].close()
            faults.append("it reached the network")
        except OSError:
            pass
        if outside.exists() or secret.read_text(encoding="ascii") != word:
            faults.append("it wrote outside its folder")
        if word in ran.output:
            faults.append("it read a file of yours")
    return list(dict.fromkeys(faults))


_EVERYWHERE = frozenset({"PATH", "HOME", "LANG", "PWD", "TMPDIR", "HOSTNAME", "LC_CTYPE"})


def _reported_escapes(ran: Execution) -> list[str]:
    if ran.outcome == "lost":
        return ["it killed its parent"]
    if ran.outcome != "ok" or not isinstance(ran.value, list):
        return [f"the escape test itself failed: {ran.outcome} {ran.error}".strip()]
    return [str(line).split(":")[0] for line in ran.value]


NO_SANDBOX = "no_sandbox"
"""Reason of a `ModelError` for a program that cannot be run here."""


class Sandbox:
    """Runs programs. The first program chooses the backend, by trying them in order.

    Safe to use from several threads, because each call takes its own warm process.

    Arguments:
        container: the image to run programs in, before other ways are tried.
        unsafe: whether to run programs without isolation if no sandbox works.
        workers: the largest number of warm processes; further calls wait.
    """

    def __init__(
        self, container: str | None = None, *, unsafe: bool = False, workers: int = 2
    ) -> None:
        self._container = container
        self._unsafe = unsafe
        self._workers = workers
        self._closed = False
        self._idle: LifoQueue[SandboxProcess | None] = LifoQueue()
        for _ in range(workers):
            self._idle.put(None)
        self._made: list[SandboxProcess] = []
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._why: str | None = None

    @property
    def backend(self) -> Backend:
        """The sandbox in use, chosen at the first use. Raises `ModelError` if none works."""
        with self._lock:
            if self._backend is None and self._why is None:
                tried = choose(backends(self._container, unsafe=self._unsafe))
                held = [attempt.backend for attempt in tried if attempt.why is None]
                self._backend = held[0] if held else None
                self._why = "; ".join(f"{attempt.backend.name}: {attempt.why}" for attempt in tried)
            if self._backend is None:
                raise ModelError(
                    f"no sandbox works here ({self._why}); `tablebench sandbox` explains why",
                    reason=NO_SANDBOX,
                )
            return self._backend

    def start(self) -> None:
        """Start one warm process that is not started yet. Raises `ModelError` as `run` does."""
        with self._worker() as worker:
            worker.start()

    def run(self, task: Execute) -> Execution:
        """Run one program. Raises `ModelError` if it cannot be confined."""
        with self._worker() as worker:
            return worker.run(task)

    @contextmanager
    def _worker(self) -> Iterator[SandboxProcess]:
        backend = self.backend
        worker = self._idle.get()
        try:
            with self._lock:
                if self._closed:
                    raise ModelError("the run is over", reason=STOPPED)
                if worker is None:
                    worker = SandboxProcess(backend)
                    self._made.append(worker)
            yield worker
        except NotConfinedError as error:
            raise ModelError(
                f"a program could not be confined: {error}", reason=NO_SANDBOX
            ) from None
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End what runs, and the warm processes; may be called from any thread."""
        with self._lock:
            self._closed = True
            for worker in self._made:
                worker.kill()
        for _ in range(self._workers):  # each is handed back, now that nothing runs
            if (idle := self._idle.get()) is not None:
                idle.close()
