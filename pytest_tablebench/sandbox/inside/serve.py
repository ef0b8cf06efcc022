"""The warm process: loads what programs need once, and forks for each of them.

Reads jobs from its standard input and writes what came of each to its standard output, a line of
JSON each. It ends with its input. A job is `program`, `runner`, `files` (base64 by name), `keeps`,
`limits`; the first line is what it is to be: `parts` that must hold, libraries to `load`, and the
`folder` in which programs' own are made.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

from pytest_tablebench.sandbox.inside._child import ABSENT, BEGUN, SCRIPT, become
from pytest_tablebench.sandbox.inside._confine import readable
from pytest_tablebench.sandbox.inside._folder import fill, grown, left, remove

__all__ = ["main"]

SLICE_S = 0.05
"""Seconds between two looks at a program's folder."""

MOST_KEPT = 4 << 20
"""Bytes of a file that is sent back."""

_OF_PROGRAMS = frozenset({"ok", "error", "memory"})
"""What a program's process can say of itself, once the program has begun."""


def main() -> None:
    """Serve until the input ends."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    lines = open(source, "rb")  # noqa: SIM115 - as long as the process lives
    config = json.loads(lines.readline())
    _load(config["load"])
    base = config["folder"] or tempfile.mkdtemp(prefix="tablebench-")
    parts = frozenset(config["parts"])
    _send(target, {"ready": os.getpid()})
    for number, line in enumerate(iter(lines.readline, b"")):
        folder = os.path.join(base, str(number))
        _send(target, _serve(json.loads(line), folder, parts, source))


def _load(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if "matplotlib.pyplot" in sys.modules:
        with contextlib.suppress(Exception):
            _draw(sys.modules["matplotlib.pyplot"])
    gc.collect()
    gc.freeze()  # or collections would copy what all programs share
    gc.set_threshold(10_000)  # programs are short, and end with their memory
    readable()  # found out once, for all programs


def _draw(pyplot: Any) -> None:
    """Draw charts, for what is made with the first of a kind: fonts, above all."""
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


def _send(target: int, message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode("ascii") + b"\n"
    while data:
        data = data[os.write(target, data) :]


def _serve(
    job: Mapping[str, Any], folder: str, parts: frozenset[str], source: int
) -> dict[str, Any]:
    """Run one program in a folder of its own, and return what came of it."""
    began = time.monotonic()
    os.mkdir(folder, 0o700)
    try:
        files = {name: base64.b64decode(data) for name, data in job["files"].items()}
        fill(folder, files)
        found = _fork(job, folder, parts, source)
        kept = left(folder, job["keeps"], MOST_KEPT) if found["outcome"] == "ok" else {}
        found["files"] = {name: base64.b64encode(data).decode() for name, data in kept.items()}
    finally:
        remove(folder)
    return {**found, "seconds": round(time.monotonic() - began, 6)}


@lru_cache(maxsize=32)
def _compiled(runner: str) -> CodeType:
    """Compile what runs a program: text of ours, the same for many of them."""
    return compile(runner, "<runner>", "exec")


def _fork(
    job: Mapping[str, Any], folder: str, parts: frozenset[str], source: int
) -> dict[str, Any]:
    runner = _compiled(job["runner"] or SCRIPT)
    printed, printing = os.pipe()
    told, telling = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        become(job, runner, folder, parts, (printing, telling), parent=parent)
    os.close(printing)
    os.close(telling)
    watch = _Watch(child, printed, told, source)
    try:
        met = watch.wait(folder, job["limits"])
    finally:
        watch.end()
        os.close(printed)
        os.close(told)
    output = bytes(watch.got[printed][: job["limits"]["output_bytes"]])
    outcome, error, value = watch.outcome(met, bytes(watch.got[told]), job["limits"])
    return {
        "outcome": outcome,
        "output": output.decode("utf-8", "replace"),
        "error": error,
        "value": value,
    }


class _Watch:
    """A program's process, watched until it ends or meets a limit.

    What it says is read while it runs, so that it never waits for us; that it has closed its
    pipes does not mean that it has ended.
    """

    def __init__(self, child: int, printed: int, told: int, source: int) -> None:
        self.got = {printed: bytearray(), told: bytearray()}
        self._told = told
        self._child = child
        self._source = source
        self._status: int | None = None
        self._cpu_s = 0.0

    def wait(self, folder: str, limits: Mapping[str, Any]) -> str | None:
        """Wait for the end; return the limit that it met. Ends with whoever started us."""
        poll = select.poll()
        poll.register(self._source, 0)  # its end is told without being asked for
        unread = set(self.got)
        for number in unread:
            poll.register(number, select.POLLIN)
        now = time.monotonic()
        ends, look = now + limits["wall_s"], now + SLICE_S
        while not self._ended() or unread:
            for number, _ in poll.poll(1000 * SLICE_S if unread else 1):
                if number == self._source:
                    raise SystemExit
                if not self._read(number):
                    poll.unregister(number)
                    unread.discard(number)
            if any(len(got) > limits["output_bytes"] + 4096 for got in self.got.values()):
                return "output"
            now = time.monotonic()
            if now > ends:
                return "timeout"
            if now > look:
                look = now + SLICE_S
                if grown(folder, self._child, limits["files"], limits["disk_mib"] << 20):
                    return "files"
            if self._status is not None:
                return None  # what others may still hold the pipes for is not its word
        return None

    def _read(self, number: int) -> bool:
        data = os.read(number, 1 << 16)
        self.got[number] += data
        return bool(data)

    def _ended(self) -> bool:
        if self._status is None:
            child, status, used = os.wait4(self._child, os.WNOHANG)
            if child:
                self._status, self._cpu_s = status, used.ru_utime + used.ru_stime
        return self._status is not None

    def end(self) -> None:
        """Kill what is left of it, and wait for that."""
        for end in (os.killpg, os.kill):
            if end is os.killpg or self._status is None:
                with contextlib.suppress(OSError):
                    end(self._child, signal.SIGKILL)
        if self._status is None:
            _, self._status, used = os.wait4(self._child, 0)
            self._cpu_s = used.ru_utime + used.ru_stime

    def outcome(
        self, met: str | None, told: bytes, limits: Mapping[str, Any]
    ) -> tuple[str, str, str | None]:
        """Return outcome, error and value as JSON."""
        if met is not None:
            return met, f"more than its limit of {met}", None
        status = self._status or 0
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU or self._cpu_s >= limits["cpu_s"]:
                return "timeout", "more than its limit of processor time", None
            return "killed", signal.Signals(number).name, None
        begun = told.startswith(BEGUN)
        lines = told.removeprefix(BEGUN).split(b"\n", 2)
        outcome = lines[0].decode("ascii", "replace")
        if len(lines) < 3 or outcome not in (_OF_PROGRAMS if begun else {ABSENT}):
            return "killed", "it ended without a word", None
        try:
            error = str(json.loads(lines[1]))
        except (ValueError, RecursionError):
            error = ""
        return outcome, error, lines[2].decode("ascii", "replace")
