"""A warm process that runs programs one after the other, as its starter sees it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.sandbox._backends import Backend, host_libraries, host_places
from pytest_tablebench.sandbox.inside._libraries import LIBRARIES
from pytest_tablebench.util.leftovers import TemporaryFolder

START_S = 60.0
"""Seconds that loading them may take."""

GRACE_S = 10.0
"""Seconds beyond a program's own limit after which the process that forks it counts as stuck."""

MOST_REPLY = 64 << 20
DEEPEST = 50
"""How deep the lists of a value may lie in each other."""


class NotConfinedError(Exception):
    """A program's process could not be confined, so the program was not run."""


class _EndedError(Exception):
    """The process has ended, or no longer answers."""


class SandboxProcess:
    """Starts a process for the first program, and again if it has ended.

    Arguments:
        backend: how programs are shut in.
        warm: whether to load the libraries that programs use.
    """

    def __init__(self, backend: Backend, *, warm: bool = True) -> None:
        self._backend = backend
        self._load = list(filter(None, LIBRARIES.values())) if warm else []
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: TemporaryFolder | None = None
        self._rest = b""

    @property
    def folder(self) -> Path | None:
        """The folder below which programs work; None if it is inside the sandbox."""
        return None if self._folder is None else self._folder.path / "programs"

    def run(self, task: Execute) -> Execution:
        """Run one program. Raises `NotConfinedError`."""
        try:
            self._start()
            reply = self._converse(_job(task), task.limits.wall_s + GRACE_S)
        except (OSError, _EndedError) as error:
            self.close()
            return Execution("lost", error=f"the process that ran it is gone ({error})")
        return _execution(reply)

    def start(self) -> None:
        """Start the process. Raises `NotConfinedError` if that fails."""
        try:
            self._start()
        except (OSError, _EndedError) as error:
            last_words = self._last_words()
            self.close()
            raise NotConfinedError(last_words or str(error)) from None

    def _start(self) -> None:
        if self._process is not None:
            return
        folder = self._backend.own_folder
        if not folder:
            self._folder = TemporaryFolder()
            folder = str(self._folder.path / "programs")
            Path(folder).mkdir(0o700)
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            self._backend.command(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(folder),
            cwd="/",
            start_new_session=True,
        )
        config = {
            "parts": sorted(self._backend.parts),
            "load": self._load,
            "folder": folder,
            "modules": None if self._backend.own_libraries else host_libraries().modules,
            "places": None if self._backend.own_libraries else asdict(host_places()),
        }
        self._converse(config, START_S)

    def _converse(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a message and return the reply. Raises `OSError`, `_EndedError`."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise _EndedError("it was not started")
        process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
        process.stdin.flush()
        ends = time.monotonic() + seconds
        data = bytearray()
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0, ends - time.monotonic()))
            piece = os.read(process.stdout.fileno(), 1 << 20) if ready else b""
            data += piece
            if not piece or len(data) > MOST_REPLY:
                raise _EndedError("it ended" if ready else "it did not answer in time")
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            raise _EndedError("its reply is not a message") from None
        if not isinstance(reply, dict):
            raise _EndedError("its reply is not a message")
        return reply

    def _last_words(self) -> str:
        process = self._process
        if process is None or process.stderr is None:
            return ""
        process.kill()
        lines = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        if not lines:
            return ""
        return lines[-1 if lines[0].startswith("Traceback") else 0][:300]

    def kill(self) -> None:
        """End the process at once, from any thread; a waiting thread sees its end."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
            process.kill()
            process.wait()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of programs: only the variables about the processor."""
    passed_on = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    return {
        **passed_on,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": folder,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": folder,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


def _job(task: Execute) -> dict[str, Any]:
    return {
        "program": task.program,
        "runner": task.runner,
        "files": {name: base64.b64encode(data).decode() for name, data in task.files.items()},
        "keeps": list(task.keeps),
        "limits": asdict(task.limits),
    }


def _execution(reply: Mapping[str, Any]) -> Execution:
    """Return the reported execution. Raises `NotConfinedError`."""
    outcome, error, value = str(reply.get("outcome")), str(reply.get("error")), None
    if outcome == "absent":
        raise NotConfinedError(error)
    try:
        value = json.loads(reply.get("value") or "null")
        if _depth(value) >= DEEPEST:
            raise ValueError
    except (ValueError, RecursionError):
        outcome, error, value = (
            "error",
            "ValueError: its value is not JSON, or is nested too deeply",
            None,
        )
    files = {str(name): base64.b64decode(data) for name, data in reply.get("files", {}).items()}
    return Execution(
        outcome, str(reply.get("output")), value, error, files, float(reply.get("seconds", 0.0))
    )


def _depth(value: Any) -> int:
    """Return how deep the items of lists and objects lie in each other."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, items)) if items else 0
