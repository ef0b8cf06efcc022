"""The template: the process that has loaded the libraries of programs, and forks for each program.

It never reads a program, its files or its output: it only passes the descriptors of their pipes to
the process that it forks. So the memory of that process contains nothing of earlier programs.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import site
import socket
import struct
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from pytest_tablebench.sandbox.inside._child import become
from pytest_tablebench.sandbox.inside._confine import end_with_parent, file_rules, hide_memory
from pytest_tablebench.sandbox.inside._folder import ReadablePaths, places
from pytest_tablebench.sandbox.inside._libraries import installed, only_import
from pytest_tablebench.util.removal import empty

__all__ = ["PROGRAM", "Ended", "Template"]

PROGRAM = "program"
"""The folder of each program, below the folder of all programs."""

_FORK, _LOOK, _END = b"f", b"l", b"e"
_ANSWER = struct.Struct("=i?id")
"""Process, whether it has ended, its status, and the seconds of a processor that it used."""


@dataclass(frozen=True)
class Ended:
    """How a program's process ended: its status as `os.wait4` gives it, and its processor time."""

    status: int
    cpu_s: float


class Template:
    """The handle of the template in the process that started it.

    Its requests raise `SystemExit` if the template has ended.

    Arguments:
        config: `parts`, `load`, `folder`, `modules` and `places` as `serve` describes them.
        closed: descriptors that the template must not keep open.
    """

    def __init__(self, config: Mapping[str, Any], closed: tuple[int, ...]) -> None:
        self._line, line = socket.socketpair()
        parent = os.getpid()
        self._process = os.fork()
        if self._process == 0:
            self._line.close()
            for number in closed:
                os.close(number)
            _serve(config, line, parent)
        line.close()
        self._answer()  # it is ready

    def fork(self, *pipes: int) -> int:
        """Fork a program's process, which gets the `pipes` of `become`; return its number."""
        try:
            socket.send_fds(self._line, [_FORK], pipes)
        except OSError:
            raise SystemExit from None
        return self._answer()[0]

    def look(self) -> Ended | None:
        """Return how the program's process ended; None while it runs."""
        return self._ask(_LOOK)

    def end(self) -> Ended:
        """Kill the rest of the program, and return how its process ended."""
        ended = self._ask(_END)
        if ended is None:
            raise SystemExit
        return ended

    def close(self) -> None:
        self._line.close()
        os.waitpid(self._process, 0)

    def _ask(self, request: bytes) -> Ended | None:
        try:
            self._line.sendall(request)
        except OSError:
            raise SystemExit from None
        _, has_ended, status, cpu_s = self._answer()
        return Ended(status, cpu_s) if has_ended else None

    def _answer(self) -> tuple[int, bool, int, float]:
        with contextlib.suppress(OSError):
            data = self._line.recv(_ANSWER.size, socket.MSG_WAITALL)
            if len(data) == _ANSWER.size:
                process, has_ended, status, cpu_s = _ANSWER.unpack(data)
                return process, has_ended, status, cpu_s
        raise SystemExit


def _serve(config: Mapping[str, Any], line: socket.socket, parent: int) -> NoReturn:
    """Run the template: load libraries, then serve requests until the line closes."""
    process, template = _Process(0), os.getpid()
    try:
        end_with_parent(parent)
        parts, base = frozenset(config["parts"]), config["folder"]
        rules = _set_up(config, parts, base)
        line.sendall(_ANSWER.pack(template, False, 0, 0.0))
        while True:
            request, pipes, _, _ = socket.recv_fds(line, 1, 4)
            if request == _FORK:
                process = _Process(os.fork())
                if process.number == 0:
                    folder = os.path.join(base, PROGRAM)
                    become(folder, parts, rules, tuple(pipes), parent=template)
                for number in pipes:
                    os.close(number)
            elif request == _LOOK:
                process.look()
            elif request == _END:
                process.end()
            else:
                break
            line.sendall(process.answer())
    finally:
        if process.number:
            process.end()
        os._exit(0)


def _set_up(config: Mapping[str, Any], parts: frozenset[str], base: str) -> int | None:
    """Load the libraries; return Landlock's rules. Raises `OSError`."""
    modules, where = config["modules"], config["places"]
    if where is None:
        libraries = installed()
        modules, where = libraries.modules, asdict(places(libraries.paths))
    only_import(modules, where["libraries"])
    for add in (site.setquit, site.setcopyright, site.sethelper):
        add()  # `exit` and others, which python -S leaves out
    _load(config["load"])
    empty(base)  # files that loading has left there
    rules = file_rules(parts, ReadablePaths(**where).each(), base)
    hide_memory(hidden=True)
    return rules


class _Process:
    """A program's process, as the template sees it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._ended: Ended | None = None

    def look(self, *, wait: bool = False) -> None:
        """Check whether the program has ended, and keep its exit status."""
        if self._ended is None:
            number, status, used = os.wait4(self.number, 0 if wait else os.WNOHANG)
            if number:
                self._ended = Ended(status, used.ru_utime + used.ru_stime)

    def end(self) -> None:
        for kill in (os.killpg, os.kill):
            if kill is os.killpg or self._ended is None:
                with contextlib.suppress(OSError):
                    kill(self.number, signal.SIGKILL)
        self.look(wait=True)

    def answer(self) -> bytes:
        ended = self._ended
        if ended is None:
            return _ANSWER.pack(self.number, False, 0, 0.0)
        return _ANSWER.pack(self.number, True, ended.status, ended.cpu_s)


def _load(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if "matplotlib.pyplot" in sys.modules:
        with contextlib.suppress(Exception):
            _draw(sys.modules["matplotlib.pyplot"])
    if (duckdb := sys.modules.get("duckdb")) is not None:
        # It reads the machine's limits, which programs may not; another thread would not be forked.
        duckdb.set_default_connection(duckdb.connect(config={"threads": 1}))
    gc.collect()
    gc.freeze()  # or collections would copy the memory that all programs share
    gc.set_threshold(10_000)  # programs are short, and end with their memory


def _draw(pyplot: Any) -> None:
    """Draw charts, to load what the first chart of a kind loads, mainly fonts."""
    import io

    import pandas as pd

    figure, (axes, others) = pyplot.subplots(1, 2)
    axes.plot([1, 2], [1, 2], label="1")
    axes.bar(["a", "b"], [1, 2])
    axes.scatter([0.5, -1], [1, 2])
    axes.set_title("a")
    axes.legend()
    others.pie([1, 2], labels=["a", "b"])
    pd.read_csv(io.StringIO("a,b\n1,2\n2,3\n")).plot(x="a", ax=others)
    for dpi in (72, 100):
        figure.savefig(io.BytesIO(), dpi=dpi, format="png")
    pyplot.close("all")
