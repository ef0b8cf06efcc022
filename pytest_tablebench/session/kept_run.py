"""The run, in the process that keeps it: its folders, its records, its engine and its batches."""

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
    """Return the run folder of each model: the one asked for, or a name by time and model.

    Nothing is made, and such a name may be taken: `RunWriter.claim` finds one that is free.
    """
    names = case_ids(settings.models, 40, digest=False)
    if settings.results is not None:
        if len(settings.models) == 1:
            return {settings.models[0]: settings.results}
        return {model: settings.results / name for model, name in names.items()}
    folder, time = base / "tablebench-results", f"{now:%Y%m%d-%H%M%S}"
    return {model: folder / f"{time}-{name}" for model, name in names.items()}


class KeptRun:
    """What the process that keeps the run has of it.

    Arguments:
        settings: of the run.
        paths: the run folder of each model, as `run_paths` names it.
    """

    def __init__(self, settings: Settings, paths: Mapping[str, Path]) -> None:
        self.settings = settings
        self.writer = RunWriter(settings, paths)
        self.engine = RunEngine(settings)
        self.batches: Batches | None = None
        """The batches of a run that asks by a batch service."""
        self._shared: SharedStores | None = None
        self._lock = threading.Lock()
        self._is_prepared = False

    @property
    def paths(self) -> dict[str, Path]:
        """The run folder of each model."""
        return {model: run.path for model, run in self.writer.model_runs.items()}

    @property
    def problems(self) -> list[str]:
        """What was damaged in stores and read past; only grows."""
        shared = self._shared.warnings if self._shared is not None else []
        return [*shared, *self.engine.problems]

    # Before the run.

    def fetch_stores(self) -> None:
        """Copy new answers of shared stores to this machine. Raises `SettingsError`."""
        places = self.settings.shared_stores()
        if places and self._shared is None:
            from pytest_tablebench.store.shared import SharedStores

            self._shared = SharedStores(places)
            self._shared.fetch()

    def start_sharing(self) -> None:
        """Copy new answers to shared stores from time to time."""
        if self._shared is not None:
            self._shared.start(self.settings.store_every)

    def claim(self) -> None:
        """Make the run folders. Raises `SettingsError`."""
        with self._lock:
            self.writer.claim()

    def collect_batches(self, needs: EngineNeeds) -> None:
        """Take in the answers of batches that were handed in before. Raises `SettingsError`."""
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
        """Make the run folders, and start the engine where it is needed; return where they are.

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
        """Load what the end of the run needs, once, while calls are under way."""
        if self._is_prepared or not self.engine.is_running:
            return
        self._is_prepared = True
        # An error comes up again when the module is needed; warnings of others may be errors here.
        with uninterrupted(), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            import scipy.special  # noqa: F401 - for the intervals

            if self.settings.page:
                from pytest_tablebench.reports.html import prepare_page

                prepare_page()
        freeze_garbage()

    def poll_engine(self) -> Sequence[Mapping[str, Any]]:
        """Learn what has been paid so far; return which lanes get no answer at the moment."""
        totals, waits = self.engine.poll()
        if totals is not None:
            self.writer.learn_totals(totals)
        if self.engine.is_running:
            self.writer.refused = self.engine.refused
        return waits

    # At its end.

    def hand_in(self) -> None:
        """Hand in the requests that have no answer yet, where the run asks by batches."""
        if self.batches is not None:
            self.batches.hand_in()
            if self.batches.under_way():
                self.writer.open()  # it names them, even if nothing is recorded yet

    def close(self) -> None:
        """End the calls, and learn what they have cost."""
        totals = self.engine.finish()
        self.writer.refused = self.engine.refused or self.writer.refused
        if totals is not None:
            if self.batches is not None:
                for model, paid in self.batches.totals().items():
                    totals["models"][model] = {**totals["models"].get(model, {}), **paid}
            self.writer.learn_totals(totals)

    def close_stores(self) -> None:
        """Copy the last answers to shared stores; to be called when nothing stores any more."""
        if self._shared is not None:
            self._shared.close()

    def reap(self) -> None:
        """Wait for the processes that were told to end while reports were written; tidy up."""
        if self.batches is not None:
            self.batches.close()
        self.writer.remove_unused()
        self.engine.reap()
