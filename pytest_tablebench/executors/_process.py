"""Start this package's processes and read their last output.

Imports nothing slow, because a broker starts its spare caller before anything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO, Any


def start_module(module: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Run a module in a new process with a pipe to its input; `options` are passed to `Popen`."""
    # -P: the process must not import modules from the user's working folder.
    command = [sys.executable, "-P", "-m", module, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, **options)  # noqa: S603 - ours


def last_line(errors: IO[bytes]) -> str:
    """Return the last line of what a process wrote to a file, "" if it wrote nothing."""
    errors.seek(0)
    return (errors.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]


def processors() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
