"""The processes that make a run's calls, as their parent sees them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

from pytest_tablebench.executors.local._spare import LITELLM, started, taken
from pytest_tablebench.executors.local._wire import pack

__all__ = ["CallerProcesses"]


class CallerProcesses:
    """Starts callers and ends those that no longer answer; they end by themselves otherwise."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, config: Mapping[str, Any]) -> None:
        """Start one more; its configuration goes to its standard input."""
        known = all(lane.get("reference") is not None for lane in config["lanes"])
        process = started() if known else taken() or started(LITELLM)
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
