"""Start and kill the processes that make a run's calls.

Imports nothing slow, because a broker starts its spare caller before anything else.
"""

from __future__ import annotations

import subprocess

from pytest_tablebench.executors._process import ModuleProcess

LITELLM = "litellm"
"""The argument that makes a caller import litellm before it reads its configuration."""

CALLER = "pytest_tablebench.executors.local.caller"

_spare: list[ModuleProcess] = []


class CallerProcesses:
    """Starts callers and kills stuck ones. All others end by themselves."""

    def __init__(self) -> None:
        self._processes: list[ModuleProcess] = []

    def start(self, config: bytes, *, has_models: bool, needs_litellm: bool) -> None:
        """Start a caller or use the spare one, and write its configuration to its input.

        Arguments:
            config: the configuration, one line.
            has_models: whether a model is called that no plugin registers.
            needs_litellm: whether litellm makes the calls to one of them.
        """
        spare = _take_spare() if has_models else None
        process = spare or _start(*[LITELLM] * needs_litellm)
        self._processes.append(process)
        process.stdin.write(config)
        process.stdin.close()

    def kill(self, pid: int | None) -> None:
        for process in self._processes:
            if process.pid == pid:
                process.kill()

    def alive(self) -> int:
        self._processes = [process for process in self._processes if process.poll() is None]
        return len(self._processes)


def start_spare(*arguments: str) -> None:
    """Start a caller before the run is known, so that it can import its modules meanwhile."""
    _spare.append(_start(*arguments))


def end_spare() -> None:
    """Kill the spare caller if no run has used it."""
    while _spare:
        process = _spare.pop()
        process.kill()
        process.wait()


def _take_spare() -> ModuleProcess | None:
    is_alive = _spare and _spare[0].poll() is None
    return _spare.pop() if is_alive else None


def _start(*arguments: str) -> ModuleProcess:
    return ModuleProcess(CALLER, *arguments, stdout=subprocess.DEVNULL)
