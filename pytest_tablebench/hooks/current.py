"""Makes the session of a pytest process and registers its hooks."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.hooks._escaping import HarmlessWarnings
from pytest_tablebench.hooks._reporting import AloneReporting, ReportingHooks
from pytest_tablebench.hooks._terminal import TerminalHooks
from pytest_tablebench.hooks.keys import CASE_SESSION, MARKER, SESSION
from pytest_tablebench.session.alone import Alone
from pytest_tablebench.session.base import RunKeeper, Session

REPORTS_BETWEEN_TRIMS = 600
"""The number of reports between two trims."""


class ReportTrimmer:
    """Drops pytest's reports of cases that are not shown at the end.

    pytest keeps three reports of each item to the end, which take kilobytes, and shows only one.
    Without trimming, memory would grow with the number of cases.
    """

    def __init__(self, config: pytest.Config, *, worker: bool) -> None:
        self._config = config
        # The empty category has the reports of setup and teardown, which are not counted. The
        # controller keeps the reports of a worker's passed tests too.
        self._categories = ("", "passed") if worker else ("",)
        self._seen = 0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """Drop the reports at intervals, after all plugins have seen them."""
        self._seen += 1
        if self._seen % REPORTS_BETWEEN_TRIMS:
            return
        terminal: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if terminal is None or getattr(self._config.option, "durations", None) is not None:
            return
        for category in self._categories:
            kept = terminal.stats.get(category)
            if kept:
                kept[:] = [r for r in kept if MARKER not in getattr(r, "keywords", ())]


def _is_controller(config: pytest.Config) -> bool:
    """Whether xdist workers will run the tests of this process."""
    option = config.option
    spread = getattr(option, "dist", "no") != "no" and getattr(option, "tx", None)
    return bool(spread) and not option.collectonly


def make_worker(config: pytest.Config, settings: Settings) -> None:
    """Make the session of a worker. Its hooks are registered on first use."""
    from pytest_tablebench.session.worker import Worker

    def register() -> None:
        from pytest_tablebench.hooks._crashes import RunningCases
        from pytest_tablebench.hooks._xdist import WorkerHooks

        _register(session, in_worker=True)
        config.pluginmanager.register(WorkerHooks(session), "tablebench-worker")
        config.pluginmanager.register(RunningCases(session))

    session = Worker(config, settings, register)
    config.stash[SESSION] = config.stash[CASE_SESSION] = session
    if settings.command_line_keys:
        _ = session.cases  # so that option names are checked even if no case is collected


def make_keeper(config: pytest.Config, settings: Settings) -> None:
    """Make the session and the hooks of a process that keeps the run.

    Raises `SettingsError` for options that cannot work.
    """

    def register() -> None:
        _register(session, in_worker=False)

    def compare_snapshots() -> None:
        if settings.compares_snapshots:
            from pytest_tablebench.hooks._snapshots import SnapshotHooks

            config.pluginmanager.register(SnapshotHooks(session), "tablebench-snapshots")

    session: RunKeeper
    reporting: ReportingHooks
    if _is_controller(config):
        from pytest_tablebench.hooks._xdist import ControllerHooks, ControllerReporting
        from pytest_tablebench.session.controller import Controller

        session = Controller(config, settings, register, compare_snapshots)
        config.pluginmanager.register(ControllerHooks(session), "tablebench-xdist")
        reporting = ControllerReporting(session)
    else:
        session = Alone(config, settings, register, compare_snapshots)
        config.stash[CASE_SESSION] = session
        reporting = AloneReporting(session)
    config.stash[SESSION] = session
    if settings.command_line_keys:
        from pytest_tablebench.hooks._rootdir import check_rootdir
        from pytest_tablebench.hooks.preparation import check_given_names

        check_rootdir(config, settings)
        check_given_names(session)
    config.pluginmanager.register(TerminalHooks(reporting), "tablebench-terminal")
    config.pluginmanager.register(reporting, "tablebench-run")
    if settings.command_line_keys:
        # Last: the snapshot hooks registered here must see a report before `reporting` does.
        session.begin()


def _register(session: Session, *, in_worker: bool) -> None:
    manager = session.config.pluginmanager
    manager.register(HarmlessWarnings())
    if session.settings.explicit:
        manager.register(ReportTrimmer(session.config, worker=in_worker))
