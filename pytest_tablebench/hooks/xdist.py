"""Pytest hooks on both sides of xdist: its workers, and their controller."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.session.roles import Controller
    from pytest_tablebench.session.state import Session

__all__ = ["ControllerHooks", "WorkerHooks"]


class WorkerHooks:
    """What goes from a worker to the controller is encoded here."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Put what a case has come to on the report in a form that can be sent."""
        data = yield
        message = vars(report).get("tablebench")
        if data is not None and message is not None:
            data["tablebench"] = message.encode()
        return data


class ControllerHooks:
    """Hooks of the controller. Without xdist none of them is ever called.

    Arguments:
        settings: of the run.
        role: of this process.
        state: returns the session's state, made on first use; safe to call from any thread.
        unsure: whether a conftest.py that workers have yet to read may register what options name.
    """

    def __init__(
        self, settings: Settings, role: Controller, state: Callable[[], Session], *, unsure: bool
    ) -> None:
        self._settings = settings
        self._role = role
        self._state = state
        self._unsure = unsure

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(
        self,
    ) -> Generator[None, Any, pytest.CollectReport | pytest.TestReport | None]:
        """Read what a worker has put on a report."""
        report: pytest.CollectReport | pytest.TestReport | None = yield
        sent = vars(report).get("tablebench") if report is not None else None
        if isinstance(sent, str):
            from pytest_tablebench.results.message import CaseMessage

            vars(report)["tablebench"] = CaseMessage.decode(sent)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker its channel, before it is started."""
        self._role.greet(node, self._state, unsure=self._unsure)
        manager = node.config.pluginmanager
        if not manager.hasplugin("tablebench-workers"):
            from pytest_tablebench.hooks.crashes import WorkerDeaths

            deaths = WorkerDeaths(lambda: self._state() if self._role.selected else None)
            manager.register(deaths, "tablebench-workers")
            deaths.pytest_configure_node(node)  # later ones pytest tells it itself

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Hand out cases so that they can be asked ahead, where the user has chosen no way."""
        if not self._settings.explicit or config.getvalue("dist") != "load":
            return None
        if config.getvalue("maxschedchunk") is not None:
            return None
        from pytest_tablebench.hooks.scheduling import LateScheduling

        return LateScheduling(config, log, self._way)

    def _way(self) -> Callable[[Any, Any], Any] | None:
        """Return how the items are handed out, when all are collected; None: xdist's own way."""
        from pytest_tablebench.hooks.scheduling import one_by_one, stealing

        if not self._role.selected:
            return None
        if self._settings.stop_rule is not None:
            return one_by_one
        return stealing if self._state().engine is not None else None
