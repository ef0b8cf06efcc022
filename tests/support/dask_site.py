"""A Dask cluster on loopback: scheduler and workers in separate processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

WORKERS_KEY = "sk-of-the-workers-0a4d7e11"
"""The API key in the workers' environment."""


class DaskSite:
    """A scheduler at a fixed address, at which it can be restarted, and the current workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.log = folder / "dask.log"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start()

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        dropped = ("_API_KEY", "_PROXY")
        environment = {k: v for k, v in os.environ.items() if not k.upper().endswith(dropped)}
        with self.log.open("ab") as stream:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{command}", *arguments],
                cwd=self.folder,
                env={
                    **environment,
                    "OPENAI_API_KEY": WORKERS_KEY,
                    "DASK_LOGGING__DISTRIBUTED": "debug",
                },
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )

    def start_worker(self) -> None:
        alone = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0")
        self.workers.append(self._start("dask_worker", self.address, *alone))

    def start(self, workers: int = 2) -> None:
        """Start or restart the whole cluster."""
        host = ("--host", "127.0.0.1", "--port", str(self._port))
        self.scheduler = self._start("dask_scheduler", *host, "--no-dashboard")
        for _ in range(workers):
            self.start_worker()

    def kill_worker(self) -> None:
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()

    def close(self) -> None:
        """Kill the whole cluster; callers finish their calls."""
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()
        self.workers.clear()
