"""Start this package's processes and read their last output.

Imports nothing slow, because a broker starts its spare caller before anything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO, Any


class ModuleProcess(subprocess.Popen[bytes]):
    """A module that runs in a new process, with pipes to its input and from its output."""

    stdin: IO[bytes]
    stdout: IO[bytes]

    def __init__(
        self, module: str, *arguments: str, stdout: int = subprocess.PIPE, **options: Any
    ) -> None:
        # -P: the process must not import modules from the user's working folder.
        command = [sys.executable, "-P", "-m", module, *arguments]
        super().__init__(command, stdin=subprocess.PIPE, stdout=stdout, **options)


def last_line(errors: IO[bytes]) -> str:
    """Return the last line of what a process wrote to a file, "" if it wrote nothing."""
    errors.seek(0)
    return (errors.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]


def processors() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
