"""The warm process: it loads the libraries that programs use once, and forks for each program.

Three processes take part. The *template* is warm and waits. When a job arrives, it forks an
*attendant*, which reads the job, forks the process of the *program*, watches it, and reports. The
template never reads a job or a report, so nothing of a program is left in it for the next one.

Its input and output are lines of JSON. The first line is the configuration: `parts` that must hold,
modules to `load`, the `folder` below which programs work, the `modules` they may import and the
`places` they may read (null: what is installed here). Each further line is a job: `program`,
`runner`, `files` (base64 by name), `keeps`, `limits`. The process ends with its input.
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
import site
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

from pytest_tablebench.sandbox.inside._child import ABSENT, BEGUN, become
from pytest_tablebench.sandbox.inside._confine import end_with_parent, file_rules, hide_memory
from pytest_tablebench.sandbox.inside._folder import fill, grown, left
from pytest_tablebench.sandbox.inside._libraries import installed, only_import
from pytest_tablebench.sandbox.inside._places import Places, places
from pytest_tablebench.util.removal import empty

__all__ = ["main"]

SLICE_S = 0.05
"""Seconds between two looks at a program's folder."""

MOST_KEPT = 4 << 20
"""Bytes of a file that is sent back."""

_OF_PROGRAMS = frozenset({"ok", "error", "memory"})
"""What a program's process can say of itself, once the program has begun."""


@dataclass(frozen=True)
class _Setting:
    """What all programs of a template have in common.

    Arguments:
        base: the folder below which each program has one of its own; it holds nothing else.
        parts: what must hold.
        rules: Landlock's, as a file descriptor.
        source, target: the file descriptors of the input and output.
    """

    base: str
    parts: frozenset[str]
    rules: int | None
    source: int
    target: int


def main() -> None:
    """Serve until the input ends."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    setting = _set_up(source, target)
    _send(target, {"ready": os.getpid()})
    while _has_job(source):
        template, attendant = os.getpid(), os.fork()
        if attendant == 0:
            _attend(setting, template)
        if os.waitpid(attendant, 0)[1] != 0:
            break  # the job is lost, and so is the certainty that its folder is empty


def _set_up(source: int, target: int) -> _Setting:
    """Read the configuration, and load what programs use. Raises `OSError`."""
    # Unbuffered, so that nothing behind the line is read.
    with open(source, "rb", buffering=0, closefd=False) as lines:
        config = json.loads(lines.readline())
    modules, where = config["modules"], config["places"]
    if where is None:
        here = installed()
        modules, where = here.modules, asdict(places(here.paths))
    only_import(modules)
    for add in (site.setquit, site.setcopyright, site.sethelper):
        add()  # `exit` and others, which python -S leaves out
    _load(config["load"])
    base = config["folder"]
    empty(base)  # what loading has left there
    readable = Places(**where).each()
    parts = frozenset(config["parts"])
    rules = file_rules(parts, readable, base)
    hide_memory(hidden=True)
    return _Setting(base, parts, rules, source, target)


def _has_job(source: int) -> bool:
    """Wait for a job; return False at the end of the input."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll())


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


def _attend(setting: _Setting, template: int) -> NoReturn:
    """Read one job, run it, report, and end this process: with 0 if all of that worked."""
    code = 1
    try:
        end_with_parent(template)
        with open(setting.source, "rb", closefd=False) as lines:
            line = lines.readline()
        if line.endswith(b"\n"):
            report = _serve(json.loads(line), setting)
            is_empty = empty(setting.base)
            _send(setting.target, report)
            code = 0 if is_empty else 1
    finally:
        os._exit(code)


def _serve(job: Mapping[str, Any], setting: _Setting) -> dict[str, Any]:
    """Run one program in a folder of its own, and return the report."""
    began = time.monotonic()
    folder = os.path.join(setting.base, "program")
    os.mkdir(folder, 0o700)
    files = {name: base64.b64decode(data) for name, data in job["files"].items()}
    fill(folder, files)
    report = _fork(job, folder, setting)
    kept = left(folder, job["keeps"], MOST_KEPT) if report["outcome"] == "ok" else {}
    report["files"] = {name: base64.b64encode(data).decode() for name, data in kept.items()}
    return {**report, "seconds": round(time.monotonic() - began, 6)}


def _fork(job: Mapping[str, Any], folder: str, setting: _Setting) -> dict[str, Any]:
    printed, printing = os.pipe()
    told, telling = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        pipes = printing, telling
        become(job, folder, setting.parts, setting.rules, pipes, parent=parent)
    os.close(printing)
    os.close(telling)
    watch = _Watch(child, printed, told, setting.source)
    try:
        met = watch.wait(setting.base, job["limits"])
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


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


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
        """Wait for the end; return the limit that it met.

        Raises `SystemExit` if the input ends meanwhile.
        """
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
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if number == signal.SIGXCPU or self._cpu_s >= limits["cpu_s"]:
            return "timeout", "more than its limit of processor time", None
        if number:
            return "killed", _signal_name(number), None
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
