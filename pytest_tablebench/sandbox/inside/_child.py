"""The process of one program, from its fork to its end."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import json
import os
import sys
import tempfile
from types import CodeType
from typing import Any, NoReturn

from pytest_tablebench.sandbox.inside._confine import confine, end_with_parent, hide_memory

ABSENT = "absent"
"""The outcome if the process could not be confined, so that the program was not run."""

BEGUN = b"+"
"""Sent before the program begins, so that the program cannot claim that it was not run."""

SCRIPT = "exec(compile(program, '<program>', 'exec'), {'__name__': '__main__'})"
"""The runner of a program without a result."""

LONGEST_ERROR = 2000


def become(
    folder: str,
    parts: frozenset[str],
    rules: int | None,
    pipes: tuple[int, ...],
    *,
    parent: int,
) -> NoReturn:
    """Read a job, run its program by its runner, report the outcome, and end this process.

    `pipes` are for reading the job, for the program's output, for the report (three lines, of which
    the last may be long), and for questions about new threads. A program that changes this module
    can only falsify its own report.
    """
    # Above the numbers that the descriptors get.
    above = (fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in pipes)
    reading, printing, reporting, asking = above
    rules = None if rules is None else fcntl.fcntl(rules, fcntl.F_DUPFD, 10)
    os.dup2(reporting, 3)
    try:
        os.setsid()
        end_with_parent(parent)
        hide_memory(hidden=False)  # the watching process inspects its open files
        with open(reading, "rb") as file:
            job = json.loads(file.read())
        runner = compile(job["runner"] or SCRIPT, "<runner>", "exec")
        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((nothing, 0), (printing, 1), (nothing, 2)):
            os.dup2(source, target)
        asking, first = os.dup2(asking, 4), 5
        if rules is not None:
            rules, first = os.dup2(rules, 5), 6
        os.closerange(first, 1024)
        os.chdir(folder)
        os.environ["HOME"] = os.environ["TMPDIR"] = folder
        tempfile.tempdir = folder  # the search for a folder removes a file, which is denied
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
        sys.stdout, sys.stderr = _stream(1), _stream(2)
        confine(folder, job["limits"], parts, rules, asking)
    except BaseException as error:
        _report(ABSENT, str(error) or type(error).__name__, "null")
    os.write(3, BEGUN)
    _report(*_run(job["program"], runner))


def _stream(number: int) -> io.TextIOWrapper:
    binary = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(binary, encoding="utf-8", errors="backslashreplace")


def _run(program: str, runner: CodeType) -> tuple[str, str, str]:
    """Return outcome, error and value as JSON."""
    space: dict[str, Any] = {"__name__": "runner", "program": program}
    try:
        exec(runner, space)  # noqa: S102 - what this process is for
        return "ok", "", json.dumps(space.get("value"), default=_plain)
    except SystemExit as end:
        if end.code in (None, 0):
            return "ok", "", "null"
        return "error", f"SystemExit: {end.code}"[:LONGEST_ERROR], "null"
    except MemoryError:
        space.clear()
        gc.collect()
        return "memory", "MemoryError", "null"
    except BaseException as error:
        return "error", _named(error), "null"


def _named(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:
        text = ""
    return f"{type(error).__name__}: {text}"[:LONGEST_ERROR]


def _plain(value: Any) -> Any:
    """Return a number or array of numpy's as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"its value contains {type(value).__name__}, which JSON does not have")


def _report(outcome: str, error: str, value: str) -> NoReturn:
    with contextlib.suppress(BaseException):  # the outcome is reported even if the output is lost
        sys.stdout.flush()
    message = f"{outcome}\n{json.dumps(error)}\n{value}".encode("ascii", "replace")
    while message:
        message = message[os.write(3, message) :]
    os._exit(0)
