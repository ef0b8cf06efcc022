"""The engine of a run: its lifetime in the process that keeps the run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors.local import BrokerProcess, Engine, EngineConfig, LaneConfig
from pytest_tablebench.session._messages import EngineNeeds


class RunEngine:
    """Starts, polls and ends the processes that make the calls of a run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._early: BrokerProcess | None = None
        """The process started during collection, until the engine takes it over."""
        self._engine: Engine | None = None
        self._is_closed = False
        self._is_finished = False

    @property
    def is_running(self) -> bool:
        """Whether the engine was started and not yet finished."""
        return self._engine is not None and not self._is_finished

    def start_early(self) -> None:
        """Start the process that makes calls before the calls are known."""
        with self._lock:
            if self._early is None and self._engine is None and not self._is_closed:
                self._early = BrokerProcess.ahead(self._settings.models, self._settings.transport)

    def start(self, needs: EngineNeeds) -> Engine:
        """Return the engine, started on first use. Raises `SettingsError` if the run is over."""
        settings = self._settings
        with self._lock:  # a worker may send its needs while this process ends
            if self._is_closed:
                raise SettingsError("the run is over")
            if self._engine is None:
                self._engine = Engine(
                    EngineConfig.of(
                        settings,
                        [LaneConfig(*lane) for lane in needs.lanes],
                        eager=needs.eager,
                        sandbox={
                            "container": settings.sandbox_container,
                            "unsafe": settings.sandbox_unsafe,
                        },
                    ),
                    self._early,
                )
                self._early = None
            return self._engine

    @property
    def lost(self) -> str | None:
        """Why the connection to the engine is lost; None if it works, or without an engine."""
        if self._engine is None or self._is_finished:
            return None
        lost = self._engine.executor.lost
        return None if lost is None else str(lost)

    def stop(self, why: str) -> None:
        """Prevent further calls by all processes of the run."""
        if self.is_running and self._engine is not None:
            with contextlib.suppress(SettingsError):  # the engine failed to start
                self._engine.executor.stop(why)

    def poll(self) -> tuple[Mapping[str, Any] | None, Sequence[Mapping[str, Any]]]:
        """Return the totals so far, None if unknown, and the lanes without an answer."""
        if not self.is_running or self._engine is None:
            return None, ()
        try:
            executor = self._engine.executor
        except SettingsError:
            return None, ()  # the engine is lost: the processes with cases get the error
        executor.outcomes(wait=False)  # reads the totals that have arrived
        return executor.totals(), executor.waits

    @property
    def refused(self) -> Mapping[str, Mapping[str, str]]:
        """The parameters that models do not accept, and why, by model and parameter."""
        return self._engine.refused if self._engine is not None else {}

    @property
    def problems(self) -> list[str]:
        """Damage in store files that callers found, and requests that servers refused."""
        return self._engine.problems if self._engine is not None else []

    def finish(self) -> Mapping[str, Any] | None:
        """End all calls, once; return the totals, None if they are unknown."""
        with self._lock:
            self._is_closed = True
        if self._early is not None:
            self._early.hang_up()
        if self._engine is None or self._is_finished:
            return None
        self._is_finished = True
        return self._engine.finish()

    def reap(self) -> None:
        """Wait until the processes have ended."""
        engine, self._engine = self._engine, None
        early, self._early = self._early, None
        if engine is not None:
            engine.reap()
        if early is not None:
            early.reap()
