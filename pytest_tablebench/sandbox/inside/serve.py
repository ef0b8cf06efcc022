"""The process that a worker starts: it reads jobs, runs their programs, and reports.

Three processes take part. This one reads a job, writes the files of its program, watches the
program, and reports. Before any job it has forked the *template* (`_template`), which loads the
libraries that programs use, and which forks the process of each *program*. No program is forked
from a process that has read another one.

Input and output are lines of JSON. The first line is the configuration: the required `parts`,
modules to `load`, the `folder` below which programs work, the `modules` they may import and the
`places` they may read (null: what is installed here). Each further line is a job: `program`,
`runner`, `files` (base64 by name), `keeps`, `limits`. The process ends with its input.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from typing import Any

from pytest_tablebench.sandbox.inside._child import ABSENT, BEGUN
from pytest_tablebench.sandbox.inside._confine import hide_memory, reset_internal_signals
from pytest_tablebench.sandbox.inside._folder import fill, grown, left
from pytest_tablebench.sandbox.inside._template import PROGRAM, Ended, Template
from pytest_tablebench.sandbox.inside._threads import MOST_THREADS, ThreadGate
from pytest_tablebench.util.removal import empty

__all__ = ["main"]

SLICE_S = 0.005
"""Seconds between two checks of a program's folder."""

COUNT_S = 0.002
"""Seconds between two counts of its threads, if the kernel does not ask about each."""

MOST_KEPT = 4 << 20
"""Bytes of a file that is sent back."""

_OF_PROGRAMS = frozenset({"ok", "error", "memory"})
"""The outcomes that a program's process can report, once the program has begun."""


def main() -> None:
    """Serve until the input ends."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    lines = open(source, "rb")  # noqa: SIM115 - as long as the process lives
    config = json.loads(lines.readline())
    reset_internal_signals()
    hide_memory(hidden=True)
    template = Template(config, (source, target))
    _send(target, {"ready": os.getpid()})
    base = config["folder"]
    try:
        for line in iter(lines.readline, b""):
            report = _serve(json.loads(line), base, template, source)
            is_empty = empty(base)
            _send(target, report)
            if not is_empty:
                break  # the next program would find files of this one
    finally:
        template.close()


def _send(target: int, message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode("ascii") + b"\n"
    while data:
        data = data[os.write(target, data) :]


def _serve(job: Mapping[str, Any], base: str, template: Template, source: int) -> dict[str, Any]:
    """Run one program in its own folder, and return the report."""
    began = time.monotonic()
    folder = os.path.join(base, PROGRAM)
    os.mkdir(folder, 0o700)
    fill(folder, {name: base64.b64decode(data) for name, data in job["files"].items()})
    report = _run(job, base, template, source)
    kept = left(folder, job["keeps"], MOST_KEPT) if report["outcome"] == "ok" else {}
    report["files"] = {name: base64.b64encode(data).decode() for name, data in kept.items()}
    return {**report, "seconds": round(time.monotonic() - began, 6)}


def _run(job: Mapping[str, Any], base: str, template: Template, source: int) -> dict[str, Any]:
    printed, printing = os.pipe()
    reports, reporting = os.pipe()
    reading, writing = os.pipe()
    answering, asking = socket.socketpair()
    with asking:
        child = template.fork(reading, printing, reporting, asking.fileno())
    for number in (reading, printing, reporting):
        os.close(number)
    order = {name: job[name] for name in ("program", "runner", "limits")}
    with contextlib.suppress(BrokenPipeError):  # its process has ended; the watch reports that
        _send(writing, order)
    os.close(writing)
    limits = job["limits"]
    gate = ThreadGate(answering, child)
    watch = _Watch(template, gate, child, (printed, reports), source)
    try:
        met = watch.wait(base, limits)
        ended = template.end()
    finally:
        gate.close()
        os.close(printed)
        os.close(reports)
    output = bytes(watch.got[printed][: limits["output_bytes"]])
    outcome, error, value = _outcome(met, ended, bytes(watch.got[reports]), limits)
    return {
        "outcome": outcome,
        "output": output.decode("utf-8", "replace"),
        "error": error,
        "value": value,
    }


class _Watch:
    """A program's process, watched until it ends or meets a limit.

    Its output is read while it runs, so that it never blocks. A closed pipe does not mean that it
    has ended.
    """

    def __init__(
        self,
        template: Template,
        gate: ThreadGate,
        child: int,
        pipes: tuple[int, int],
        source: int,
    ) -> None:
        self.got = {number: bytearray() for number in pipes}
        self._template = template
        self._gate = gate
        self._child = child
        self._source = source

    def wait(self, folder: str, limits: Mapping[str, Any]) -> str | None:
        """Wait for the end; return the limit that it met.

        Raises `SystemExit` if the input ends meanwhile.
        """
        poll = select.poll()
        poll.register(self._source, 0)  # its end is reported without being asked for
        unread = set(self.got)
        for number in (*unread, self._gate.number):
            poll.register(number, select.POLLIN)
        now = time.monotonic()
        ends, look = now + limits["wall_s"], now + SLICE_S
        while True:
            has_ended = self._template.look() is not None
            if has_ended and not unread:
                break
            slice_s = SLICE_S if self._gate.is_open else COUNT_S
            for number, event in poll.poll(1000 * slice_s if unread and not has_ended else 1):
                if number == self._source:
                    raise SystemExit
                if number == self._gate.number:
                    if not (event & select.POLLIN and self._gate.answer()):
                        poll.unregister(number)
                        if self._gate.number != number:
                            poll.register(self._gate.number, select.POLLIN)
                    continue
                if not self._read(number):
                    poll.unregister(number)
                    unread.discard(number)
            if any(len(got) > limits["output_bytes"] + 4096 for got in self.got.values()):
                return "output"
            if has_ended:
                break  # another process may keep the pipes open
            if not self._gate.is_open and self._gate.count > MOST_THREADS:
                return "threads"
            now = time.monotonic()
            if now > ends:
                return "timeout"
            if now > look:
                look = now + SLICE_S
                if self._has_grown(folder, limits):
                    return "files"
        return "files" if self._has_grown(folder, limits) else None

    def _has_grown(self, folder: str, limits: Mapping[str, Any]) -> bool:
        return grown(folder, self._child, limits["files"], limits["disk_mib"] << 20)

    def _read(self, number: int) -> bool:
        data = os.read(number, 1 << 16)
        self.got[number] += data
        return bool(data)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


def _outcome(
    met: str | None, ended: Ended, report: bytes, limits: Mapping[str, Any]
) -> tuple[str, str, str | None]:
    """Return outcome, error and value as JSON."""
    if met is not None:
        return met, f"more than its limit of {met}", None
    number = os.WTERMSIG(ended.status) if os.WIFSIGNALED(ended.status) else 0
    if number == signal.SIGXCPU or ended.cpu_s >= limits["cpu_s"]:
        return "timeout", "more than its limit of processor time", None
    if number:
        return "killed", _signal_name(number), None
    begun = report.startswith(BEGUN)
    lines = report.removeprefix(BEGUN).split(b"\n", 2)
    outcome = lines[0].decode("ascii", "replace")
    if len(lines) < 3 or outcome not in (_OF_PROGRAMS if begun else {ABSENT}):
        return "killed", "it ended without a report", None
    try:
        error = str(json.loads(lines[1]))
    except (ValueError, RecursionError):
        error = ""
    return outcome, error, lines[2].decode("ascii", "replace")
