"""What each xdist worker is at, so that the case of one that dies is recorded all the same.

A worker writes, into a small file of its own, what is to be recorded should it never come back;
the controller reads it when the worker is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import ModelError, TableBenchError
from pytest_tablebench.hooks.items import case_of, check_of, key_of
from pytest_tablebench.results.checks import Finding
from pytest_tablebench.results.message import CaseMessage
from pytest_tablebench.util.leftovers import RUNNING

if TYPE_CHECKING:
    from pytest_tablebench.session.controller import Controller
    from pytest_tablebench.session.worker import Worker

__all__ = ["RunningCases", "WorkerDeaths"]

NOTE = "tablebench_running"
"""Key of a worker's input: the file in which it notes its case."""

DIED = ModelError("the worker died while it ran the case", reason="worker_died")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class RunningCases:
    """In a worker: notes the case that is about to run.

    Arguments:
        session: of this process.
    """

    def __init__(self, session: Worker) -> None:
        self._session = session
        self._path = Path(session.config.workerinput[NOTE])  # type: ignore[attr-defined]
        self._file: int | None = None
        self._now = self._before = b""
        self._ahead: tuple[str, bytes] = ("", b"")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Note the item's case, where it has one, and those before and after it.

        xdist may not have heard yet that the one before has ended, or hold the next for begun.
        """
        node_id, line = self._ahead
        self._before, self._now = self._now, line if node_id == item.nodeid else self._line(item)
        self._ahead = ("", b"") if nextitem is None else (nextitem.nodeid, self._line(nextitem))
        notes = self._now + self._ahead[1] + self._before
        if not notes:
            return
        with contextlib.suppress(OSError):  # then it is not known, as without this file
            if self._file is None:
                self._file = os.open(self._path, _NEW, 0o600)
            os.lseek(self._file, 0, os.SEEK_SET)
            # One write; what longer notes leave behind the empty line does not count.
            os.write(self._file, notes + b"\n")

    def _line(self, item: pytest.Item) -> bytes:
        """Return what is to be kept of an item that never ends; nothing without a case."""
        case = case_of(item)
        if case is None:
            return b""
        from pytest_tablebench.session.case_messages import case_message

        run = self._session.cases.runner.start(case)
        run.error = DIED
        # Broken: a worker's death is no outcome of the model alone, and gates do not hide it.
        key, check = key_of(item, self._session.cases.item_prefix), check_of(item)
        message = case_message(run, Finding(key, check, None, failed=True, broken=True), DIED)
        note = {
            "nodeid": item.nodeid,
            "cases": self._session.cases.planned,
            "case": message.encode(),
        }
        return json.dumps(note).encode("ascii") + b"\n"

    def pytest_sessionfinish(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        with contextlib.suppress(OSError):
            self._path.unlink()


class WorkerDeaths:
    """In the controller: begins the run with its first case, and ends the case of a dead worker.

    Arguments:
        session: of this process.
    """

    def __init__(self, session: Controller) -> None:
        self._session = session
        self._paths: dict[str, Path] = {}
        self._begun = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where its note belongs."""
        path = Path(tempfile.gettempdir()) / f"{RUNNING}{secrets.token_hex(16)}"
        self._paths[node.workerinput["workerid"]] = path
        node.workerinput[NOTE] = str(path)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin to keep the run as soon as a case runs: its record may never come."""
        if self._begun or "[" not in nodeid or not self._session.has_selected:
            return
        notes_of_workers = map(_read, self._paths.values())
        first_note = next((notes[0] for notes in notes_of_workers if notes), None)
        if first_note is None:
            return
        self._begun = True
        writer = self._session.run.writer
        if "cases" not in writer.facts:
            writer.learn({"cases": first_note["cases"]})
        with contextlib.suppress(OSError, TableBenchError):  # the first record says so
            writer.open()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Give the report of a worker's death the record of the case that it ran."""
        path = self._paths.get(report.node.workerinput["workerid"])
        notes = _read(path) if path is not None else []
        note = next((candidate for candidate in notes if candidate["nodeid"] == crashitem), None)
        if note is None or not self._session.has_selected:
            return
        writer = self._session.run.writer
        message = CaseMessage.decode(note["case"])
        joined = writer.model_runs[message.model].cases.get(message.case_id)
        if joined is None or message.finding.item not in joined.findings:  # it had come to its end
            report.tablebench = message

    def pytest_unconfigure(self) -> None:
        """Remove what workers that were ended from outside have left."""
        for path in self._paths.values():
            with contextlib.suppress(OSError):
                path.unlink()


def _read(path: Path) -> list[dict[str, Any]]:
    """Return a worker's notes, the case that it began last first; only what was written whole."""
    notes = []
    try:
        for line in path.read_bytes().partition(b"\n\n")[0].split(b"\n"):
            note = json.loads(line)
            if isinstance(note, dict):
                notes.append(note)
    except (OSError, ValueError):
        pass
    return notes
