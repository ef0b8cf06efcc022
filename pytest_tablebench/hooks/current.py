"""What a pytest session has of ours: made on first use, found by its config."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.hooks.escaping import HarmlessWarnings
from pytest_tablebench.hooks.keys import ROLE, SESSION, SETTINGS
from pytest_tablebench.session.roles import Worker

if TYPE_CHECKING:
    from pytest_tablebench.running.runner import Runner
    from pytest_tablebench.session.state import Session

__all__ = ["begin", "runner_of", "session_of"]

_BEGUN = pytest.StashKey[bool]()
_MAKING = threading.Lock()


def begin(config: pytest.Config) -> None:
    """Make ready for a run, once: something is asked for, or a case is selected.

    Raises `SettingsError` for what cannot work, now rather than after an hour.
    """
    if config.stash.get(_BEGUN, False):
        return
    config.stash[_BEGUN] = True
    settings, state = config.stash[SETTINGS], session_of(config)
    if settings.explicit:
        runner_of(config)
        state.take_verdicts()
    if not config.option.collectonly:
        state.fetch_stores()
    if not config.option.collectonly and not settings.plan:
        state.preflight()
        if settings.compares_snapshots:
            from pytest_tablebench.hooks.snapshots import SnapshotHooks

            hooks = SnapshotHooks(config)
            config.pluginmanager.register(hooks, "tablebench-snapshots")


def session_of(config: pytest.Config) -> Session:
    """Return the session's state, made on first use."""
    with _MAKING:  # the controller of workers is asked from other threads too
        if SESSION not in config.stash:
            from pytest_tablebench.session.state import Session, run_paths

            settings = config.stash[SETTINGS]
            paths = run_paths(
                settings, config.invocation_params.dir, datetime.now(UTC).astimezone()
            )
            state = config.stash[SESSION] = Session(settings, config.stash[ROLE], paths)
            if state.writer is not None:
                from pytest_tablebench.hooks.selection import named_by, selected_by

                state.writer.named_by = named_by(config)
                state.writer.selected_by = selected_by(config)
            config.pluginmanager.register(HarmlessWarnings())
        return config.stash[SESSION]


def runner_of(config: pytest.Config) -> Runner:
    """Return what runs cases in this process. Raises `SettingsError` for a name used twice."""
    session = session_of(config)
    if session.runner is None:
        from pytest_tablebench.registry import Registry
        from pytest_tablebench.running.runner import Runner

        data = session.settings.data_folder()
        session.serve(Runner(session.settings, Registry.from_hooks(config.hook, data=data)))
        if session.settings.explicit:
            from pytest_tablebench.hooks.trimming import ReportTrimmer

            trimmer = ReportTrimmer(config, worker=session.role.sends)
            config.pluginmanager.register(trimmer)
        if isinstance(session.role, Worker):
            from pytest_tablebench.hooks.crashes import RunningCases
            from pytest_tablebench.hooks.xdist import WorkerHooks

            config.pluginmanager.register(WorkerHooks())
            config.pluginmanager.register(RunningCases(session, session.role.note))
    return session.require_runner()
