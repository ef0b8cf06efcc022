"""State of one pytest process: what it is to run, and the run it keeps, as its role has it.

What a case yields travels as a `CaseMessage` on its test report.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import case_ids
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors.local import (
    Address,
    BrokerProcess,
    Engine,
    EngineConfig,
    LaneConfig,
)
from pytest_tablebench.results import MediaFolder
from pytest_tablebench.results.writer import RunWriter
from pytest_tablebench.running.gate_subjects import planned_clusters
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.session.messages import EngineWanted, RunPlace
from pytest_tablebench.session.selection import Selection
from pytest_tablebench.session.telling import Telling
from pytest_tablebench.session.wanted import engine_wanted, surely_asked
from pytest_tablebench.util.interrupts import uninterrupted
from pytest_tablebench.util.notices import Notices

if TYPE_CHECKING:
    from pytest_tablebench.executors.batch import Batches
    from pytest_tablebench.results.gates import PlannedGate
    from pytest_tablebench.session.roles import Role
    from pytest_tablebench.session.verdict import Verdicts
    from pytest_tablebench.store.shared import SharedStores

__all__ = ["RunWriter", "Session", "run_paths"]


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


class Session:
    """One process's state. `runner` where cases run, `writer` where the run is kept."""

    def __init__(self, settings: Settings, role: Role, paths: Mapping[str, Path]) -> None:
        self.settings = settings
        self.role = role
        self._paths = dict(paths)
        self.runner: Runner | None = None
        self.writer = RunWriter(settings, paths) if role.keeps_run else None
        self._notices = Notices()
        self.telling = Telling(self)
        self.selection = Selection()
        self.planned: dict[str, int] = {}
        """How many cases each model has."""
        self.engine: Engine | None = None
        self._ahead: BrokerProcess | None = None
        """Started while tests were collected, until the engine takes it over."""
        self._anticipated = False
        self.batches: Batches | None = None
        """Where the run is kept, and asks by batches."""
        self.verdicts: Verdicts | None = None
        self.tests: dict[str, list[str]] = {}
        """The names of the tests over each dataset, selected or not."""
        self.limits: dict[str, float] = {}
        """What the cases of each dataset are judged by."""
        self._prepared = False
        self._ended: Engine | None = None
        self._closed = False
        self._starting = threading.Lock()
        self._shared: SharedStores | None = None

    def serve(self, runner: Runner) -> None:
        """Take the runner of this process."""
        self.runner = runner
        runner.prefetch.size = 2 * self.settings.connections
        runner.prefetch.media = lru_cache(lambda model: MediaFolder(self.paths[model]))
        # What is loaded from here on ends with the process: looking it through for garbage once
        # more, as the interpreter does at its end, takes as long as writing a page.
        atexit.register(gc.freeze)

    def take_verdicts(self) -> Verdicts | None:
        """Return what judges the run, made on first use; None where nothing is to be judged.

        Raises `SettingsError` for gates that cannot be read, and for a baseline that cannot.
        """
        settings, runner = self.settings, self.require_runner()
        wanted = settings.gates or settings.baseline or settings.stop_rule
        if self.verdicts is None and wanted:
            from pytest_tablebench.session.verdict import Verdicts

            verdicts = Verdicts(settings, runner.registry, runner.axes)
            if self.role.keeps_run:
                verdicts.read_baseline()
            self.verdicts = verdicts
        return self.verdicts

    # The engine: started by the process that keeps the run, once a case is selected.

    def wanted_engine(self) -> EngineWanted:
        """Return what the engine is needed for."""
        return engine_wanted(self.require_runner(), self.selection)

    @property
    def judges(self) -> bool:
        """Whether a judge is asked about cases that were selected."""
        if self.settings.judge is None:
            return False
        runner = self.require_runner()
        return bool(runner.judged_metrics(self.selection.datasets()))

    def anticipate(self, dataset: str) -> None:
        """Have litellm imported while the rest is collected: a case of a dataset will be asked.

        Where its answers may all be stored, nothing is done.
        """
        if not self._anticipated and surely_asked(self.require_runner(), dataset):
            self._anticipated = True
            self.role.anticipate(self)

    def import_ahead(self) -> None:
        """Start what makes the calls, before it is known what they are."""
        with self._starting:
            if self._ahead is None and self.engine is None and not self._closed:
                self._ahead = BrokerProcess.ahead()

    def start_engine(self, wanted: EngineWanted) -> Engine:
        """Start the engine, once. Raises `SettingsError` when the run is over already."""
        settings = self.settings
        with self._starting:  # a worker may ask while this process comes to its end
            if self._closed:
                raise SettingsError("the run is over")
            if self.engine is None:
                self.engine = Engine(
                    EngineConfig.of(
                        settings,
                        [LaneConfig(*lane) for lane in wanted.lanes],
                        eager=wanted.eager,
                        sandbox={
                            "container": settings.sandbox_container,
                            "unsafe": settings.sandbox_unsafe,
                        },
                    ),
                    self._ahead,
                )
                self._ahead = None
            return self.engine

    def collect_batches(self, wanted: EngineWanted) -> None:
        """Take in what was handed in before and is answered, once. Raises `SettingsError`."""
        if self.settings.executor != "batch" or not wanted.lanes:
            return
        from pytest_tablebench.executors.batch import Batches

        with self._starting:
            if self.batches is None:
                lanes = [LaneConfig(*lane) for lane in wanted.lanes]
                asked = [(lane.model, lane.api_base) for lane in lanes if lane.reference is None]
                batches = Batches(self.settings, asked)
                batches.collect()
                self.batches = batches

    def hand_in(self) -> None:
        """Hand in what the cases of this run have to be answered yet."""
        if self.batches is not None:
            self.batches.hand_in()
            if self.batches.under_way():
                self.require_writer().open()  # it names them, even if nothing is recorded yet

    def prepare(self) -> None:
        """Load what the end of the run needs, once, while calls are under way."""
        if self._prepared or self.engine is None or self.writer is None:
            return
        self._prepared = True
        # What goes wrong is said when it is needed; warnings of others may be errors here.
        with uninterrupted(), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            import scipy.special  # noqa: F401 - for the intervals

            if self.settings.page:
                from pytest_tablebench.reports.html import prepare_page

                prepare_page()
        self.settle()

    def settle(self) -> None:
        """Have what is loaded by now looked through for garbage for the last time.

        It stays to the end of the process, at which pytest looks three times: that takes longer
        than a page, and here it is done while calls are under way.
        """
        if gc.isenabled():
            gc.collect()
            gc.freeze()

    def place(self, wanted: EngineWanted) -> RunPlace:
        """Make the run folders, and start the engine where it is needed; return where they are.

        Raises `SettingsError`.
        """
        self.claim()
        self.collect_batches(wanted)
        engine = None
        if wanted.needed:
            address = self.start_engine(wanted).address
            engine = address.port, address.token
        return RunPlace({model: str(path) for model, path in self.paths.items()}, engine)

    def join(self, place: RunPlace, workers: int) -> None:
        """Take note of where another process keeps the run, and have the engine there asked."""
        self._paths = {model: Path(path) for model, path in place.folders.items()}
        if place.engine is not None:
            address, runner = Address(*place.engine), self.require_runner()
            runner.models.address = lambda: address
            runner.prefetch.size = max(4, 2 * self.settings.connections // workers)
        self.look_again()

    def look_again(self) -> None:
        """Look at answers that came in from batches since the store was opened."""
        store = self.require_runner().models.store() if self.settings.executor == "batch" else None
        if store is not None:
            store.refresh()

    @property
    def paths(self) -> dict[str, Path]:
        """The run folder of each model."""
        if self.writer is None:
            return self._paths
        return {model: kept.path for model, kept in self.writer.model_runs.items()}

    @property
    def writes_allure(self) -> bool:
        """Whether we write Allure results of our cases, where there is a place for them.

        Asked for, or because so many would make a site that nobody can open.
        """
        from pytest_tablebench.reports.allure import ALL_UP_TO

        planned = self.planned
        if self.writer is not None:
            planned = self.writer.facts.get("cases", planned)
        return self.settings.allure is not None or sum(planned.values()) > ALL_UP_TO

    def stop_asking(self, why: str) -> None:
        """Have no further call started, by any process of the run."""
        if self.engine is not None:
            with contextlib.suppress(SettingsError):  # it did not start
                self.engine.client.stop(why)

    def look_at_totals(self) -> Sequence[Mapping[str, Any]]:
        """Learn what the engine says has been paid so far; return who answers nothing now."""
        if self.engine is None or self.writer is None:
            return ()
        try:
            told = self.engine.client
        except SettingsError:
            return ()  # it is gone: who asks is told so
        told.look()
        if told.totals is not None:
            self.writer.learn_totals(told.totals)
        self.writer.refused = self.engine.refused
        return told.waits

    @property
    def problems(self) -> list[str]:
        """What was read past in this process: damaged lines of stores and records; only grows."""
        stored = self.runner.models.store_problems if self.runner is not None else []
        engine = self.engine or self._ended
        of_calls = engine.problems if engine is not None else []
        shared = self._shared.warnings if self._shared is not None else []
        return [*stored, *shared, *of_calls, *self._notices.texts]

    def close(self) -> None:
        """End what is open: connections, the store, the engine's calls."""
        with self._starting:
            self._closed = True
        if self._ahead is not None:
            self._ahead.hang_up()
        if self.runner is not None:
            self.runner.close()
        if self.engine is not None:
            totals, self._ended, self.engine = self.engine.finish(), self.engine, None
            if self.writer is not None:
                self.writer.refused = self._ended.refused
            if totals is not None and self.writer is not None:
                if self.batches is not None:
                    for model, paid in self.batches.totals().items():
                        totals["models"][model] = {**totals["models"].get(model, {}), **paid}
                self.writer.learn_totals(totals)
        if self._shared is not None:
            self._shared.close()  # last: the engine may have stored further answers

    def reap(self) -> None:
        """Wait for the processes that were told to end while reports were written; tidy up."""
        if self.batches is not None:
            self.batches.close()
        self._notices.close()
        if self.writer is not None:
            self.writer.remove_unused()
        if self._ended is not None:
            self._ended.reap()
            self._ended = None
        if self._ahead is not None:
            self._ahead.reap()
            self._ahead = None

    def fetch_stores(self) -> None:
        """Bring what shared stores hold to this machine. Raises `SettingsError`."""
        places = self.settings.shared_stores()
        if places and self._shared is None:
            from pytest_tablebench.store.shared import SharedStores

            self._shared = SharedStores(places)
            self._shared.fetch()

    def preflight(self) -> None:
        """Make the run folders, and check the store. Raises `SettingsError`."""
        if self._shared is not None:
            self._shared.start(self.settings.store_every)
        if self.runner is not None and (self.settings.store or self.settings.readonly_stores):
            self.runner.models.store()  # what is wrong with a folder, it says itself
        self.claim()

    def claim(self) -> None:
        """Make the run folders, where the run is kept. Raises `SettingsError`."""
        with self._starting:
            if self.writer is not None:
                self.writer.claim()

    def open_store(self) -> None:
        """Open the answers kept, where any model needs them: what is wrong is said before a call.

        Raises `SettingsError`.
        """
        runner = self.require_runner()
        asked = {case.model for case in self.selection.cases}
        asked |= {self.settings.judge} if self.settings.judge and self.judges else set()
        if any(runner.models.is_stored(model) for model in asked):
            runner.models.store()

    def check_baseline(self) -> None:
        """Raise `SettingsError` when the baseline differs in more than the model.

        To be called where the datasets are open: each process that asks sees to it by itself,
        so that none asks in vain.
        """
        if self.verdicts is None or self.settings.baseline is None:
            return
        about = self.writer
        if about is None:
            about = RunWriter(self.settings, self.paths)
            about.learn(self.telling.all_facts())
        for model in self.planned:
            self.verdicts.check_baseline(about.run_data(model))

    def require_writer(self) -> RunWriter:
        """Return the run writer of a process that keeps the run."""
        if self.writer is None:
            raise RuntimeError("this process keeps no run")
        return self.writer

    def require_runner(self) -> Runner:
        """Return the runner of a process that runs cases."""
        if self.runner is None:
            raise RuntimeError("no case was collected in this process")
        return self.runner

    def plan(self, params: Iterable[object]) -> None:
        """Take note of what was selected: what stands for the case of each item."""
        self.selection = Selection.of(params, self.require_runner().missing)
        self.planned = self.selection.planned()

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, what each gate can see with the cases that were selected."""
        if self.verdicts is None or self.settings.shard is not None:
            return {}
        places = {path.parent for path in self.paths.values()}
        tables, planned = partial(planned_clusters, self.require_runner()), self.verdicts.planned
        by_model = self.selection.by_model()
        return {model: planned(own, places, tables(own)) for model, own in by_model.items()}
