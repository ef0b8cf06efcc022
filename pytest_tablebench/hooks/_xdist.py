"""Pytest hooks of xdist's workers and of their controller."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling, WorkStealingScheduling

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.hooks._reporting import ReportingHooks
from pytest_tablebench.session.controller import Controller
from pytest_tablebench.session.garbage import resume_collections
from pytest_tablebench.session.pytest_modes import usage_error
from pytest_tablebench.session.worker import PROBLEMS, Worker


class LateScheduling:
    """xdist's scheduler for `--dist=load`, which may be replaced once all workers have collected.

    Only then is it known whether cases are selected. Without cases xdist's scheduler stays.
    `choose` returns a scheduler factory, or None to keep xdist's scheduler.
    """

    def __init__(
        self, config: Any, log: Any, choose: Callable[[], Callable[[Any, Any], Any] | None]
    ) -> None:
        self._config, self._log, self._choose = config, log, choose
        self._chosen = False
        self._now: Any = LoadScheduling(config, log)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now, name)

    @property  # type: ignore[misc]  # xdist shows the name of the class
    def __class__(self) -> Any:
        return type(self._now)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Add a worker's collection; after the last one, choose the scheduler."""
        self._now.add_node_collection(node, collection)
        if self._chosen or not self._now.collection_is_completed:
            return
        self._chosen = True
        make = self._choose()
        if make is not None:
            self._replace(make(self._config, self._log))

    def _replace(self, other: Any) -> None:
        collected = self._now.node2collection
        # Only workers that have collected: one that died must not be waited for.
        other.numnodes = sum(node in collected for node in self._now.nodes)
        for node in self._now.nodes:
            other.add_node(node)
            if node in collected:
                other.add_node_collection(node, collected[node])
        self._now = other


stealing = WorkStealingScheduling
"""Gives each worker a block of items, so that it can prefetch; idle workers take over items."""


def one_by_one(config: Any, log: Any) -> Any:
    """Return a scheduler that distributes items one by one, which keeps their order."""
    scheduler = LoadScheduling(config, log)
    scheduler.maxschedchunk = 1
    return scheduler


class WorkerHooks:
    """Hooks of a worker."""

    def __init__(self, session: Worker) -> None:
        self._session = session
        self._item: dict[str, Any] = {}
        self._waits: Sequence[Mapping[str, Any]] = []

    def pytest_collection_finish(self) -> None:
        """Make the controller poll the engine when an item waits for its answer."""
        self._session.cases.runner.prefetch.on_wait = self._report_waits

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Begin the first cases while xdist waits for the other workers' collections."""
        self._session.begin_first()

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """Keep the name of the running item."""
        self._item = {"nodeid": nodeid, "location": location}

    def _report_waits(self, waits: Sequence[Mapping[str, Any]]) -> None:
        """Report the start of the running item again when the waits change.

        Workers reach their controller only through pytest's hooks. A repeated start has no effect
        except that the controller polls the engine.
        """
        if waits != self._waits and self._item:
            self._waits = waits
            self._session.config.hook.pytest_runtest_logstart(**self._item)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Encode the message of a case on a report, for sending."""
        data = yield
        message = vars(report).get("tablebench")
        if data is not None and message is not None:
            data["tablebench"] = message.encode()
        return data


class ControllerHooks:
    """Hooks of the controller."""

    def __init__(self, session: Controller) -> None:
        self._settings = session.settings
        self._session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(
        self,
    ) -> Generator[None, Any, pytest.CollectReport | pytest.TestReport | None]:
        """Decode the message of a case on a worker's report."""
        report: pytest.CollectReport | pytest.TestReport | None = yield
        sent = vars(report).get("tablebench") if report is not None else None
        if isinstance(sent, str):
            from pytest_tablebench.results.message import CaseMessage

            vars(report)["tablebench"] = CaseMessage.decode(sent)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker its channel before it starts."""
        self._session.connect(node)
        manager = node.config.pluginmanager
        if not manager.hasplugin("tablebench-workers"):
            from pytest_tablebench.hooks._crashes import WorkerDeaths

            manager.register(WorkerDeaths(self._session), "tablebench-workers")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Return a scheduler that lets workers prefetch, unless the user chose another one."""
        if not self._settings.explicit or config.getvalue("dist") != "load":
            return None
        if config.getvalue("maxschedchunk") is not None:
            return None
        return LateScheduling(config, log, self._scheduler)

    def _scheduler(self) -> Callable[[Any, Any], Any] | None:
        """Return a scheduler factory after collection; None to keep xdist's scheduler."""
        if not self._session.has_selected:
            return None
        if self._settings.stop_rule is not None:
            return one_by_one
        return stealing if self._session.run.engine.is_running else None


class ControllerReporting(ReportingHooks):
    """Reporting in the controller of workers."""

    session: Controller

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin the run with the first worker that selected cases; show the plan."""
        session = self.session
        resume_collections()
        if session.refusal is not None:
            raise usage_error(session.refusal)
        if not session.has_selected:
            return
        try:
            session.begin()
        except SettingsError as error:
            raise usage_error(error) from None
        selected = session.start_run()
        if selected is None or selected.cases is None or self.is_announced:
            return
        self.add_problems(selected.problems)
        self.announce(sum(selected.cases.values()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add a worker's warnings."""
        output = getattr(node, "workeroutput", None) or {}
        self.add_problems(output.get(PROBLEMS, []))

    def pytest_runtest_logstart(self) -> None:
        """Poll the engine when an item starts, or a worker requests it."""
        self.poll()
