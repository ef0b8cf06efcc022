"""Score answers in a separate process while calls are made."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pytest_tablebench.errors import METRIC, ModelError
from pytest_tablebench.executors._process import start_module
from pytest_tablebench.executors._wire import error_fields

SCORER = "pytest_tablebench.executors.local.scorer"


class Scorers:
    """Scores one answer after the other in a process that starts with the first.

    Arguments:
        loop: the broker's, in which `done` is called.
        done: receives the key of an answer, and the header of the message on its score.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        done: Callable[[str, Mapping[str, Any], bytes | None], None],
    ) -> None:
        self._loop = loop
        self._done = done
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1, "scorer")
        self._closed = False

    def submit(self, key: str, body: bytes) -> None:
        """Queue an answer; `done` is always called once."""
        self._thread.submit(self._score, key, body)

    def _score(self, key: str, body: bytes) -> None:
        # The answer need not be the reason if the process was killed: retry in another one.
        head = self._outcome(body) or self._outcome(body)
        if head is None:
            why = "the process that scored the answer ended, twice"
            head = {"error": error_fields(ModelError(why, reason=METRIC))}
        with contextlib.suppress(RuntimeError):  # the run is over and the loop closed
            self._loop.call_soon_threadsafe(self._done, key, head, None)

    def _outcome(self, body: bytes) -> dict[str, Any] | None:
        if self._closed:
            return None
        try:
            if self._process is None:
                self._process = start_module(SCORER, stdout=subprocess.PIPE)
            process = self._process
            assert process.stdin is not None  # noqa: S101 - they are pipes
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(body + b"\n")
            process.stdin.flush()
            outcome: dict[str, Any] = json.loads(process.stdout.readline())
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
        """Start nothing more, and end the process."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._end()
