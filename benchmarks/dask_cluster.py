"""A Dask cluster on this machine, in a separate process that takes commands.

    python -m benchmarks.dask_cluster --workers 2

It prints the scheduler's address and reads commands from its standard input, one a line. `kill`
kills a worker and starts another. `restart` kills the scheduler and all workers and starts them
again at the same address. `weigh` prints a line of JSON: resident megabytes of all processes, and
CPU seconds so far of scheduler, workers and the callers they started. When its standard input
closes, it ends the cluster and itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import psutil

__all__ = ["ROLES", "Cluster", "cluster"]


class Cluster:
    """A handle of a cluster in another process; made by `cluster`."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address = address
        self._process = process

    def tell(self, what: str) -> str:
        """Send a command; return the line that it prints."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """Run a cluster for the duration of a with statement."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.dask_cluster", "--workers", str(workers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Cluster(process.stdout.readline().strip(), process)
        finally:
            process.stdin.close()
            process.wait(30)


ROLES = ("dask_scheduler", "dask_worker", "local.caller")
"""Parts of command lines by which the processes are distinguished."""


class _Here:
    def __init__(self, workers: int) -> None:
        self._workers = workers
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self._running: list[subprocess.Popen[bytes]] = []
        self._cpu: dict[tuple[str, int], float] = {}

    def _start(self, command: str, *arguments: str) -> None:
        quiet = ("--no-dashboard",)
        self._running.append(
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{command}", *arguments, *quiet],
                env={**os.environ, "OPENAI_API_KEY": "x"},  # workers have their own
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _start_worker(self) -> None:
        alone = ("--no-nanny", "--nthreads", "1", "--memory-limit", "0")
        self._start("dask_worker", self.address, *alone)

    def start(self) -> None:
        self._start("dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port))
        for _ in range(self._workers):
            self._start_worker()

    def kill(self) -> None:
        worker = self._running.pop()
        worker.kill()
        worker.wait()
        self._start_worker()

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
        self._running.clear()

    def weigh(self) -> dict[str, float]:
        """Return memory and CPU of all processes; CPU of ended processes is included."""
        found = 0
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                command = " ".join(process.cmdline())
                role = next((name for name in ROLES if name in command), None)
                if role is not None:
                    times = process.cpu_times()
                    self._cpu[role, process.pid] = times.user + times.system
                    found += process.memory_info().rss
        used = {role: sum(s for (one, _), s in self._cpu.items() if one == role) for role in ROLES}
        return {"mb": found / 2**20, **used}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    here = _Here(parser.parse_args().workers)
    here.start()
    print(here.address, flush=True)
    try:
        for line in sys.stdin:
            what = line.strip()
            if what == "kill":
                here.kill()
            elif what == "restart":
                here.close()
                here.start()
            print(json.dumps(here.weigh()) if what == "weigh" else "done", flush=True)
    finally:
        here.close()


if __name__ == "__main__":
    main()
