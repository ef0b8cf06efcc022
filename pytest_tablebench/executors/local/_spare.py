"""A caller that is started before its run is known. Imports nothing that takes time."""

from __future__ import annotations

import subprocess
import sys

__all__ = ["LITELLM", "end_spare", "start_spare", "started", "taken"]

LITELLM = "litellm"
"""Tells a caller to import it at once, which takes seconds."""

CALLER = "pytest_tablebench.executors.local.caller"

_spare: list[subprocess.Popen[bytes]] = []


def started(*litellm: str) -> subprocess.Popen[bytes]:
    """Start a caller; its configuration goes to its standard input."""
    return subprocess.Popen(  # noqa: S603 - this interpreter
        # -P: a module of the user's in the working folder is none of this process's.
        [sys.executable, "-P", "-m", CALLER, *litellm],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


def start_spare() -> None:
    """Start a caller that has no run yet, so that it has litellm imported by the time it has."""
    _spare.append(started(LITELLM))


def taken() -> subprocess.Popen[bytes] | None:
    """Return the caller that has no run yet, for one; None where there is none."""
    alive = _spare and _spare[0].poll() is None
    return _spare.pop() if alive else None


def end_spare() -> None:
    """End the caller that no run has needed, if there is one."""
    while _spare:
        process = _spare.pop()
        process.kill()
        process.wait()
