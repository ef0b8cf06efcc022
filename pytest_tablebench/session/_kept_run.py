"""The run in the process that keeps it: its folders, records, engine and batches."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import case_ids
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors.local import BrokerProcess, Engine, Lane
from pytest_tablebench.results.writer import RunWriter
from pytest_tablebench.session._messages import EngineNeeds, RunPlace
from pytest_tablebench.session.garbage import freeze_garbage

if TYPE_CHECKING:
    from pytest_tablebench.executors.batch import Batches
    from pytest_tablebench.reports.html import PageAhead
    from pytest_tablebench.results.message import CaseMessage, CaseRecord
    from pytest_tablebench.store.shared import SharedStores


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay an interrupt until the block has ended.

    A compiled package whose import was interrupted cannot be imported again in this process, so the
    end of the run would fail.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


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
        with self._lock:  # a worker may send its needs while this process ends
            if self._is_closed:
                raise SettingsError("the run is over")
            if self._engine is None:
                lanes = [Lane(*lane) for lane in needs.lanes]
                self._engine = Engine(self._settings, lanes, eager=needs.eager, started=self._early)
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


APART_S = 0.2
"""Seconds between two preparations for the end."""


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
        self.pages: dict[str, PageAhead] = {}
        """What is packed of the page of each model."""
        self._shared: SharedStores | None = None
        self._lock = threading.Lock()
        self._preparations: deque[Callable[[], object]] = deque(
            [partial(import_module, name) for name in ("numpy", "scipy.special")]
        )
        if settings.page:
            self._preparations.append(self._prepare_page)
        self._preparations.append(freeze_garbage)
        self._prepare_at = 0.0

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
                lanes = [Lane(*lane) for lane in needs.lanes]
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

    def add_to_page(self, message: CaseMessage, record: CaseRecord | None) -> None:
        """Pack a recorded case for the page, unless a comparison changes what the page shows."""
        if not self.settings.page or self.settings.baseline is not None:
            return
        ahead = self.pages.get(message.model)
        if ahead is None:
            from pytest_tablebench.reports.html import PageAhead

            ahead = self.pages[message.model] = PageAhead(self.paths[message.model])
        ahead.add(message, record)

    def prepare_end(self) -> None:
        """Import and compile the next part of what the end needs, while calls are in flight.

        One part at a time, because on a busy machine the calls wait meanwhile.
        """
        if not self._preparations or not self.engine.is_running:
            return
        now = time.monotonic()
        if now < self._prepare_at:
            return
        # An error is raised again when the module is needed. Others' warnings may be errors here.
        with uninterrupted(), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            self._preparations.popleft()()
        self._prepare_at = time.monotonic() + APART_S

    def _prepare_page(self) -> None:
        from pytest_tablebench.reports.html import page_preparations

        self._preparations.extendleft(reversed(page_preparations()))

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
