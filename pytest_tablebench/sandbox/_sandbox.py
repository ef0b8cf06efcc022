"""Running of programs in warm processes, in the first backend that works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import LifoQueue

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.sandbox._backends import Backend, backends
from pytest_tablebench.sandbox._probe import choose
from pytest_tablebench.sandbox._worker import NotConfinedError, SandboxProcess

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
