"""The processes that make a run's calls, as their parent sees them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pytest_tablebench.executors.local._wire import pack

__all__ = ["CallerProcesses", "end_spare", "start_spare"]

LITELLM = "litellm"
"""Tells a caller to import it at once, which takes seconds."""

CALLER = "pytest_tablebench.executors.local.caller"


_spare: list[subprocess.Popen[bytes]] = []


def _started(*litellm: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this interpreter
        # -P: a module of the user's in the working folder is none of this process's.
        [sys.executable, "-P", "-m", CALLER, *litellm],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


def start_spare() -> None:
    """Start a caller that has no run yet, so that it has litellm imported by the time it has."""
    _spare.append(_started(LITELLM))


def end_spare() -> None:
    """End the caller that no run has needed, if there is one."""
    while _spare:
        process = _spare.pop()
        process.kill()
        process.wait()


class CallerProcesses:
    """Starts callers and ends those that no longer answer; they end by themselves otherwise."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, config: Mapping[str, Any]) -> None:
        """Start one more; its configuration goes to its standard input."""
        known = all(lane.get("reference") is not None for lane in config["lanes"])
        if known:
            process = _started()
        elif _spare and _spare[0].poll() is None:
            process = _spare.pop()
        else:
            process = _started(LITELLM)
        self._processes.append(process)
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.write(pack(config))
        process.stdin.close()

    def kill(self, pid: int | None) -> None:
        """End one at once."""
        for process in self._processes:
            if process.pid == pid:
                process.kill()

    def alive(self) -> int:
        """Return how many have not ended."""
        self._processes = [process for process in self._processes if process.poll() is None]
        return len(self._processes)
