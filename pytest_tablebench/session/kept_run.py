"""The run in the process that keeps it: its folders, records, engine and batches."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import case_ids
from pytest_tablebench.executors.local import LaneConfig
from pytest_tablebench.results.writer import RunWriter
from pytest_tablebench.session.garbage import freeze_garbage
from pytest_tablebench.session.messages import EngineNeeds, RunPlace
from pytest_tablebench.session.run_engine import RunEngine
from pytest_tablebench.util.interrupts import uninterrupted

if TYPE_CHECKING:
    from pytest_tablebench.executors.batch import Batches
    from pytest_tablebench.store.shared import SharedStores


def run_paths(settings: Settings, base: Path, now: datetime) -> dict[str, Path]:
    """Return the run folder of each model: from `--bench-results`, or named by time and model.

    Creates nothing. A folder named by time may already exist; `RunWriter.claim` finds a free name.
    """
    names = case_ids(settings.models, 40, digest=False)
    if settings.results is not None:
        if len(settings.models) == 1:
            return {settings.models[0]: settings.results}
        return {model: settings.results / name for model, name in names.items()}
    folder, time = base / "tablebench-results", f"{now:%Y%m%d-%H%M%S}"
    return {model: folder / f"{time}-{name}" for model, name in names.items()}


class KeptRun:
    """The run writer, the engine, the batches and the shared stores of a run.

    `paths` contains the run folder of each model, from `run_paths`.
    """

    def __init__(self, settings: Settings, paths: Mapping[str, Path]) -> None:
        self.settings = settings
        self.writer = RunWriter(settings, paths)
        self.engine = RunEngine(settings)
        self.batches: Batches | None = None
        """The batches of a run with `--bench-executor batch`; else None."""
        self._shared: SharedStores | None = None
        self._lock = threading.Lock()
        self._is_prepared = False

    @property
    def paths(self) -> dict[str, Path]:
        """The run folder of each model."""
        return {model: run.path for model, run in self.writer.model_runs.items()}

    @property
    def problems(self) -> list[str]:
        """Warnings, such as damage that was skipped in stores; only grows."""
        shared = self._shared.warnings if self._shared is not None else []
        return [*shared, *self.engine.problems]

    # Before the run.

    def fetch_stores(self) -> None:
        """Copy new answers of shared stores to this machine; unless planning, copy back too.

        Raises `SettingsError`.
        """
        places = self.settings.shared_stores()
        if places and self._shared is None:
            from pytest_tablebench.store.shared import SharedStores

            self._shared = SharedStores(places)
            self._shared.fetch()
            if not self.settings.plan:
                self._shared.start(self.settings.store_every)

    def claim(self) -> None:
        """Create the run folders. Raises `SettingsError`."""
        with self._lock:
            self.writer.claim()

    def collect_batches(self, needs: EngineNeeds) -> None:
        """Collect the answers of batches submitted earlier. Raises `SettingsError`."""
        if self.settings.executor != "batch" or not needs.lanes:
            return
        from pytest_tablebench.executors.batch import Batches

        with self._lock:
            if self.batches is None:
                lanes = [LaneConfig(*lane) for lane in needs.lanes]
                models = [(lane.model, lane.api_base) for lane in lanes if lane.reference is None]
                batches = Batches(self.settings, models)
                batches.collect()
                self.batches = batches

    def place(self, needs: EngineNeeds) -> RunPlace:
        """Create the run folders, start the engine if it is needed, and return both places.

        Raises `SettingsError`.
        """
        self.claim()
        self.collect_batches(needs)
        engine = None
        if needs.needed:
            address = self.engine.start(needs).address
            engine = address.port, address.token
        return RunPlace({model: str(path) for model, path in self.paths.items()}, engine)

    # While it runs.

    def prepare_end(self) -> None:
        """Import the modules for the end of the run, once, while calls are in flight."""
        if self._is_prepared or not self.engine.is_running:
            return
        self._is_prepared = True
        # An error is raised again when the module is needed. Others' warnings may be errors here.
        with uninterrupted(), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            import scipy.special  # noqa: F401 - intervals need it

            if self.settings.page:
                from pytest_tablebench.reports.html import prepare_page

                prepare_page()
        freeze_garbage()

    def poll_engine(self) -> Sequence[Mapping[str, Any]]:
        """Record the totals so far; return the lanes that are without an answer at the moment."""
        totals, waits = self.engine.poll()
        if totals is not None:
            self.writer.learn_totals(totals)
        if self.engine.is_running:
            self.writer.refused = self.engine.refused
        return waits

    # At its end.

    def hand_in(self) -> None:
        """Submit the requests without an answer, if the run uses batches."""
        if self.batches is not None:
            self.batches.hand_in()
            if self.batches.under_way():
                self.writer.open()  # the run folder lists the batches, even without a record

    def close(self) -> None:
        """End the calls, record their totals, and copy the last answers to shared stores."""
        totals = self.engine.finish()
        self.writer.refused = self.engine.refused or self.writer.refused
        if totals is not None:
            if self.batches is not None:
                for model, paid in self.batches.totals().items():
                    totals["models"][model] = {**totals["models"].get(model, {}), **paid}
            self.writer.learn_totals(totals)
        if self._shared is not None:
            self._shared.close()  # last: the engine may have stored further answers

    def reap(self) -> None:
        """Wait until the processes of the engine have ended, and remove unused files."""
        if self.batches is not None:
            self.batches.close()
        self.writer.remove_unused()
        self.engine.reap()
