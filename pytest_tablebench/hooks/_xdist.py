"""Pytest hooks of xdist's workers and of their controller."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.hooks._reporting import ReportingHooks
from pytest_tablebench.session.garbage import resume_collections
from pytest_tablebench.session.pytest_modes import usage_error
from pytest_tablebench.session.worker import PROBLEMS

if TYPE_CHECKING:
    from pytest_tablebench.session.controller import Controller
    from pytest_tablebench.session.worker import Worker


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
        from pytest_tablebench.hooks._scheduling import LateScheduling

        return LateScheduling(config, log, self._scheduler)

    def _scheduler(self) -> Callable[[Any, Any], Any] | None:
        """Return a scheduler factory after collection; None to keep xdist's scheduler."""
        from pytest_tablebench.hooks._scheduling import one_by_one, stealing

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
