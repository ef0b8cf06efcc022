"""The cases that one process runs: what runs them, and which were selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.results import MediaFolder
from pytest_tablebench.running.gate_subjects import planned_clusters
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.session.engine_needs import engine_needs, is_surely_asked
from pytest_tablebench.session.garbage import freeze_at_exit
from pytest_tablebench.session.messages import EngineNeeds
from pytest_tablebench.session.selection import Selection

if TYPE_CHECKING:
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.results.gates import PlannedGate
    from pytest_tablebench.session.verdict import Verdicts

__all__ = ["Cases"]


class Cases:
    """What a process that runs cases has of them.

    Arguments:
        settings: of the run.
        registry: the datasets, metrics and so on that are registered.
        item_prefix: what tells items apart that several xdist workers run under one name.
    """

    def __init__(self, settings: Settings, registry: Registry, item_prefix: str = "") -> None:
        self.settings = settings
        self.item_prefix = item_prefix
        self.runner = Runner(settings, registry)
        self.runner.prefetch.size = 2 * settings.connections
        self.selection = Selection()
        self.planned: dict[str, int] = {}
        """How many cases each model has."""
        self.tests: dict[str, list[str]] = {}
        """The names of the tests over each dataset, selected or not."""
        self.limits: dict[str, float] = {}
        """The score from which the cases of each dataset are right."""
        self._is_anticipated = False
        freeze_at_exit()

    def keep_media_in(self, folder: Callable[[str], Path]) -> None:
        """Have images kept in the run folders; `folder` gives that of a model."""
        self.runner.pictures.folder = lru_cache(lambda model: MediaFolder(folder(model)))

    def select(self, params: Iterable[object]) -> None:
        """Take in what was selected: what stands for the case of each item."""
        self.selection = Selection.of(params, self.runner.missing)
        self.planned = self.selection.planned()

    def is_asked_first(self, dataset: str) -> bool:
        """Return whether a case of a dataset surely leads to calls, and is the first to do so."""
        if self._is_anticipated or not is_surely_asked(self.runner, dataset):
            return False
        self._is_anticipated = True
        return True

    @property
    def has_judge(self) -> bool:
        """Whether a judge is asked about cases that were selected."""
        if self.settings.judge is None:
            return False
        return bool(self.runner.judged_metrics(self.selection.datasets()))

    def engine_needs(self) -> EngineNeeds:
        """Return what the engine is needed for."""
        return engine_needs(self.runner, self.selection)

    def open_store(self) -> None:
        """Open the answer store where a model needs it: its errors come up before any call.

        Raises `SettingsError`.
        """
        models = {case.model for case in self.selection.cases}
        models |= {self.settings.judge} if self.settings.judge and self.has_judge else set()
        if any(self.runner.models.is_stored(model) for model in models):
            self.runner.models.store()

    def refresh_store(self) -> None:
        """Read answers that came in from batches since the store was opened."""
        store = self.runner.models.store() if self.settings.executor == "batch" else None
        if store is not None:
            store.refresh()

    def planned_gates(
        self, verdicts: Verdicts | None, folders: Iterable[Path]
    ) -> dict[str, list[PlannedGate]]:
        """Return, by model, what each gate can see with the cases that were selected.

        Arguments:
            verdicts: what judges the run.
            folders: where earlier runs may be.
        """
        if verdicts is None or self.settings.shard is not None:
            return {}
        places = {path.parent for path in folders}
        clusters = partial(planned_clusters, self.runner)
        by_model = self.selection.by_model()
        return {
            model: verdicts.planned(cases, places, clusters(cases))
            for model, cases in by_model.items()
        }
