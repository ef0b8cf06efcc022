"""Run the programs of a run in the sandbox, each once, and store their outcomes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pytest_tablebench.errors import ENGINE, ModelError, StoreError
from pytest_tablebench.executors._wire import error_fields, read_execute, to_json
from pytest_tablebench.metrics.steps import execution_fields
from pytest_tablebench.sandbox import Sandbox
from pytest_tablebench.store import Store

AT_ONCE = 2
"""Programs that run in parallel, each in its own warm process."""


class Programs:
    """Runs programs in threads that wait for the sandbox's processes.

    Arguments:
        sandbox: arguments of `Sandbox`.
        store: looks up and keeps outcomes; None if another process does so.
        loop: the broker's, in which `done` is called.
        done: receives the key of a program, and header and body of the message on its outcome.
    """

    def __init__(
        self,
        sandbox: Mapping[str, Any],
        store: Store | None,
        loop: asyncio.AbstractEventLoop,
        done: Callable[[str, Mapping[str, Any], bytes | None], None],
    ) -> None:
        self._store = store
        self._loop = loop
        self._done = done
        self._sandbox = Sandbox(**sandbox, workers=AT_ONCE)
        self._threads = ThreadPoolExecutor(AT_ONCE, "program")

    def submit(self, key: str, body: bytes) -> None:
        """Queue a program; `done` is always called once."""
        self._threads.submit(self._run, key, body)

    def _run(self, key: str, body: bytes) -> None:
        head: dict[str, Any] = {}
        outcome: bytes | None = None
        try:
            ran = self._store.get_execution(key) if self._store is not None else None
            if ran is None:
                task = read_execute(body)
                ran = self._sandbox.run(task)
                if ran.outcome == "lost":  # our process ended, perhaps without its fault
                    ran = self._sandbox.run(task)
                if ran.outcome != "lost" and self._store is not None:
                    try:
                        self._store.put_execution(task, ran)
                    except StoreError as error:
                        head = {"unstored": str(error)}
            outcome = to_json(execution_fields(ran))
        except ModelError as error:
            head = {"error": error_fields(error)}
        except Exception as error:  # a defect must not keep the case waiting for ever
            failure = ModelError(f"a program was not run: {type(error).__name__}", reason=ENGINE)
            head = {"error": error_fields(failure)}
        with contextlib.suppress(RuntimeError):  # the run is over and the loop closed
            self._loop.call_soon_threadsafe(self._done, key, head, outcome)

    def close(self) -> None:
        """Start nothing more, and end the running programs."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        # In a thread, because it would block the broker.
        threading.Thread(target=self._sandbox.close).start()
