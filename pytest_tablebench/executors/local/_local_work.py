"""Run programs and score answers on this machine while calls are made."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ENGINE, METRIC, ModelError, StoreError
from pytest_tablebench.executors._process import ModuleProcess
from pytest_tablebench.executors._wire import error_fields, read_execute, to_json
from pytest_tablebench.executors.local.providers import Reference, reference_of
from pytest_tablebench.metrics import Metric
from pytest_tablebench.metrics.steps import Grade, execution_fields
from pytest_tablebench.sandbox import Sandbox
from pytest_tablebench.store import Store


def grade_body(task: Grade) -> bytes:
    """Encode an answer, its metric and the metric's arguments for a scorer."""
    return to_json(
        {
            "metric": task.metric,
            "found": _source(task.function),
            "compat": task.compat,
            "arguments": base64.b64encode(task.arguments).decode("ascii"),
        }
    )


@lru_cache
def _source(function: Metric) -> dict[str, Any]:
    reference = reference_of(function)
    if reference is None:
        raise TypeError(f"{function!r} cannot be imported by its name from a module")
    return {"reference": vars(reference), "made": _version(reference.module)}


def _version(module: str) -> dict[str, Any]:
    packages = metadata.packages_distributions().get(module.partition(".")[0], ())
    file = getattr(sys.modules[module], "__file__", None)
    return {
        "versions": {name: metadata.version(name) for name in sorted(set(packages))},
        "text": None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest(),
    }


def find_metric(name: str, source: Mapping[str, Any]) -> Metric:
    """Return the metric of `grade_body`. Raises `ModelError` if it is missing or differs here."""
    reference = source["reference"]
    location = f"metric {name!r} on {platform.node()}"
    try:
        metric = Reference(**reference).find()
        version = _version(reference["module"])
    except Exception as error:  # any error of the metric's module
        raise ModelError(
            f"{location} cannot be loaded: {type(error).__name__}: {error}; install its package",
            reason=METRIC,
        ) from None
    if version != source["made"]:
        raise ModelError(
            f"{location} differs from this run's metric ({reference['module']}): install the same "
            f"version",
            reason=METRIC,
        )
    return metric


AT_ONCE = 2
"""Programs that run in parallel, each in its own warm process."""

SCORER = "pytest_tablebench.executors.local.scorer"

Done = Callable[[str, Mapping[str, Any], bytes | None], None]
"""Receives the key of the work, and header and body of the message on its outcome."""


class LocalWork:
    """Does work in threads, and calls `done` in the running loop with each outcome."""

    def __init__(self, threads: int, done: Done) -> None:
        self._threads = ThreadPoolExecutor(threads)
        self._loop = asyncio.get_running_loop()
        self._done = done

    def submit(self, key: str, body: bytes) -> None:
        """Queue work; `done` is always called once."""
        self._threads.submit(self._work, key, body)

    def _work(self, key: str, body: bytes) -> None:
        head, outcome = self._outcome(key, body)
        with contextlib.suppress(RuntimeError):  # the run is over and the loop closed
            self._loop.call_soon_threadsafe(self._done, key, head, outcome)

    def _outcome(self, key: str, body: bytes) -> tuple[dict[str, Any], bytes | None]:
        raise NotImplementedError

    def close(self) -> None:
        """Start nothing more, and end the work in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Programs(LocalWork):
    """Runs each program once in the sandbox, and stores its outcome.

    `sandbox` contains the arguments of `Sandbox`. `store` is None if another process stores the
    outcomes.
    """

    def __init__(self, sandbox: Mapping[str, Any], store: Store | None, done: Done) -> None:
        super().__init__(AT_ONCE, done)
        self._store = store
        self._sandbox = Sandbox(**sandbox, workers=AT_ONCE)
        self._prepared = False

    def prepare(self) -> None:
        """Start the sandbox, whose libraries take a second, while the first reply is made."""
        if not self._prepared:
            self._prepared = True
            for _ in range(AT_ONCE):
                self._threads.submit(self._sandbox.start)

    def _outcome(self, key: str, body: bytes) -> tuple[dict[str, Any], bytes | None]:
        head: dict[str, Any] = {}
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
            return head, to_json(execution_fields(ran))
        except ModelError as error:
            failure = error
        except Exception as error:  # a defect must not keep the case waiting for ever
            failure = ModelError(f"a program was not run: {type(error).__name__}", reason=ENGINE)
        return {"error": error_fields(failure)}, None

    def close(self) -> None:
        super().close()
        # In a thread, because it would block the broker.
        threading.Thread(target=self._sandbox.close).start()


class Scorers(LocalWork):
    """Scores one answer after the other in a process that starts with the first."""

    def __init__(self, done: Done) -> None:
        super().__init__(1, done)
        self._process: ModuleProcess | None = None
        self._closed = False

    def _outcome(self, key: str, body: bytes) -> tuple[dict[str, Any], bytes | None]:  # noqa: ARG002
        # The answer need not be the reason if the process was killed: retry in another one.
        head = self._score(body) or self._score(body)
        if head is None:
            why = "the process that scored the answer ended, twice"
            head = {"error": error_fields(ModelError(why, reason=METRIC))}
        return head, None

    def _score(self, body: bytes) -> dict[str, Any] | None:
        if self._closed:
            return None
        try:
            if self._process is None:
                self._process = ModuleProcess(SCORER)
            self._process.stdin.write(body + b"\n")
            self._process.stdin.flush()
            outcome: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            self._end()
            return None
        return outcome

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def close(self) -> None:
        self._closed = True
        super().close()
        self._end()
