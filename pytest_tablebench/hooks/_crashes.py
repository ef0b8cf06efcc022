"""Records of cases whose xdist worker dies.

A worker announces each case before it runs it, with the record to write if the worker dies.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.hooks.items import case_of, check_of, key_of

if TYPE_CHECKING:
    from pytest_tablebench.session.controller import Controller
    from pytest_tablebench.session.worker import Worker


class RunningCases:
    """In a worker: announces the cases that are about to run."""

    def __init__(self, session: Worker) -> None:
        self._session = session
        self._announced = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Announce the item and the next: a crash between them is reported for the next."""
        if item.nodeid != self._announced:
            self._announce(item)
        if nextitem is not None:
            self._announce(nextitem)
            self._announced = nextitem.nodeid

    def _announce(self, item: pytest.Item) -> None:
        case = case_of(item)
        if case is None:
            return
        from pytest_tablebench.results.message import Finding

        # Broken: the model did not cause the worker's death, so gates must not hide it.
        finding = Finding(key_of(item), check_of(item), None, failed=True, broken=True)
        self._session.announce(item.nodeid, case, finding)


class WorkerDeaths:
    """In the controller: records the case of a dead worker."""

    def __init__(self, session: Controller) -> None:
        self._session = session
        self._is_open = False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Open the run folder when the first case starts: its worker may die without a record."""
        session = self._session
        if self._is_open or "[" not in nodeid or not session.has_selected or not session.ahead:
            return
        self._is_open = True
        writer = session.run.writer
        if "cases" not in writer.facts:
            writer.learn({"cases": next(iter(session.ahead.values()))[-1].cases})
        with contextlib.suppress(OSError, TableBenchError):  # the first record raises it again
            writer.open()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Attach the announced record to the report of the worker's death."""
        session = self._session
        announced = session.ahead.get(report.node.workerinput["workerid"], ())
        case = next((case for case in announced if case.node_id == crashitem), None)
        if case is None or not session.has_selected:
            return
        from pytest_tablebench.session.case_messages import died_message

        message = died_message(case)
        joined = session.run.writer.model_runs[message.model].cases.get(message.case_id)
        if joined is None or message.finding.item not in joined.findings:  # not finished before
            report.tablebench = message
