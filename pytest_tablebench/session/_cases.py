"""The cases of one process: their runner, and which of them are selected."""

from __future__ import annotations

import atexit
import gc
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.gate_names import check_subjects, check_tests
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.results import MediaFolder
from pytest_tablebench.running.preflight import check_datasets, check_replay, check_threshold
from pytest_tablebench.running.requests import of_metric
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.session._messages import EngineNeeds
from pytest_tablebench.store import may_have_answers

if TYPE_CHECKING:
    from pytest_tablebench.executors.local import Lane
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.session._verdict import Verdicts


@dataclass(frozen=True)
class Selection:
    """The selected cases.

    Arguments:
        cases: each once, in the order of the items.
        items: the number of items of a case, by case id; cases without an entry have one.
        missing: why data is missing, by selected dataset.
    """

    cases: tuple[Case, ...] = ()
    items: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def items_by_model(self) -> dict[str, int]:
        """Return the number of items of each model."""
        counts: Counter[str] = Counter()
        for case in self.cases:
            counts[case.model] += self.items.get(case.case_id, 1)
        return dict(counts)

    def datasets(self) -> list[str]:
        """Return the datasets of the cases, in order."""
        return list(dict.fromkeys(case.dataset for case in self.cases))

    def by_model(self) -> dict[str, list[Case]]:
        """Return the cases of each model."""
        cases: dict[str, list[Case]] = {}
        for case in self.cases:
            cases.setdefault(case.model, []).append(case)
        return cases

    def values(self) -> list[tuple[dict[str, Any], int]]:
        """Return each case's field values and number of items, for a message."""
        return [(case.values(), self.items.get(case.case_id, 1)) for case in self.cases]


class Cases:
    """The runner, the selection and the tests of a process that runs cases.

    Arguments:
        item_prefix: distinguishes items that several xdist workers run under one name.
        run_folder: returns the run folder of a model, which keeps images.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        item_prefix: str,
        run_folder: Callable[[str], Path],
    ) -> None:
        self.settings = settings
        self.item_prefix = item_prefix
        self.runner = Runner(settings, registry)
        self.runner.prefetch.size = 2 * settings.connections
        self.runner.pictures.folder = lru_cache(lambda model: MediaFolder(run_folder(model)))
        self.selection = Selection()
        self.planned: dict[str, int] = {}
        """The number of cases of each model."""
        self.tests: dict[str, list[str]] = {}
        """The names of the tests over each dataset, selected or not."""
        self.limits: dict[str, float] = {}
        """The pass threshold of each dataset."""
        self._has_expected_calls = False
        # A last garbage collection would take as long as writing the report page.
        atexit.register(gc.freeze)

    def select(self, params: Iterable[object]) -> None:
        """Record the selected cases, from the `case` parameter of each item.

        The parameter is a dataset's name, not a case, if the dataset's data is missing.
        """
        params, missing = list(params), self.runner.missing
        cases = [param for param in params if isinstance(param, Case)]
        names = [param for param in params if isinstance(param, str)]
        by_id = {case.case_id: case for case in cases}
        counts = Counter(case.case_id for case in cases) if len(by_id) < len(cases) else {}
        self.selection = Selection(
            tuple(by_id.values()),
            {case_id: count for case_id, count in counts.items() if count > 1},
            {name: missing[name] for name in names if name in missing},
        )
        self.planned = dict(Counter(case.model for case in self.selection.cases))
        # All shards use the same corrections, also those without a case of a dataset.
        self.runner.selected = (*self.selection.datasets(), *self.runner.shards)

    def is_first_with_calls(self, dataset: str) -> bool:
        """Return whether a dataset's cases surely need calls, and no earlier dataset's did."""
        if self._has_expected_calls or not self._surely_needs_calls(dataset):
            return False
        self._has_expected_calls = True
        return True

    @property
    def has_judge(self) -> bool:
        """Whether a judge scores any selected case."""
        if self.settings.judge is None:
            return False
        return bool(self.runner.judged_metrics(self.selection.datasets()))

    def engine_needs(self) -> EngineNeeds:
        """Return what the selected cases need from the engine."""
        if self.settings.replay:
            return EngineNeeds(needed=False)
        lanes = list(self.runner.models.lanes().values())
        judge = [self.settings.judge] if self.has_judge else []
        models = {*self.planned, *judge}
        if not any(lane.model in models for lane in lanes):
            lanes = []
        return EngineNeeds(
            [astuple(lane) for lane in lanes],
            bool(lanes) and self._calls_will_come(lanes),
            bool(lanes) or self._may_run_programs(),
        )

    def open_store(self) -> None:
        """Open the answer store if a model uses it, so that errors appear before any call.

        Raises `SettingsError`.
        """
        models = {case.model for case in self.selection.cases}
        models |= {self.settings.judge} if self.settings.judge and self.has_judge else set()
        if any(self.runner.models.is_stored(model) for model in models):
            self.runner.models.store()

    def refresh_store(self) -> None:
        """Read the answers that batches added since the store was opened."""
        store = self.runner.models.store() if self.settings.executor == "batch" else None
        if store is not None:
            store.refresh()

    def _may_run_programs(self) -> bool:
        """Return whether a case may run a program or be scored in another process."""
        runner, cases = self.runner, self.selection.cases
        strategies = {case.strategy: runner.conversations.strategy_of(case) for case in cases}
        if any(getattr(strategy, "rounds", None) != 1 for strategy in strategies.values()):
            return True
        return any(
            runner.scorer.metrics_with_judge(dataset, strategy, runner.named_metrics(dataset))
            or runner.scorer.sent(dataset, strategy, runner.named_metrics(dataset))
            for dataset, strategy in {(case.dataset, case.strategy) for case in cases}
        )

    def _calls_will_come(self, lanes: Iterable[Lane]) -> bool:
        """Return whether calls will surely come: a model called before may have stored answers."""
        if not self._may_have_answers():
            return True
        lane_models = {lane.model for lane in lanes}
        subjects: set[tuple[str, str | None]]
        subjects = {(case.model, case.dataset) for case in self.selection.cases}
        if (judge := self.settings.judge) is not None:
            judged = self.runner.judged_metrics(self.selection.datasets())
            subjects |= {(judge, of_metric(metric)) for metric in judged}
        return not all(
            self.runner.models.facts_are_stored(model, subject)
            for model, subject in subjects
            if model in lane_models
        )

    def _may_have_answers(self) -> bool:
        settings = self.settings
        return may_have_answers(settings.store_folder(), settings.readonly_stores)

    def _surely_needs_calls(self, dataset: str) -> bool:
        """Return whether a collected dataset surely leads to calls through litellm."""
        settings, models = self.settings, self.runner.models
        if not settings.explicit or settings.plan or settings.replay:
            return False
        if settings.executor != "local":
            return False
        try:
            ours = [model for model in settings.models if model in models.engine_models()]
            stored = self._may_have_answers() and all(
                models.facts_are_stored(model, dataset) for model in ours
            )
        except TableBenchError:  # raised again after collection
            return False
        return bool(ours) and not stored

    def check_selection(self, verdicts: Verdicts | None, thresholds: Mapping[str, object]) -> None:
        """Raise `SettingsError` for thresholds, gates or a replay that do not fit the selection.

        `thresholds` contains the thresholds of markers, by test.
        """
        for location, value in thresholds.items():
            check_threshold(location, value)
        datasets = self.selection.datasets()
        if verdicts is not None:
            meant = "bench_gate" in self.settings.command_line_keys
            verdicts.check_selected(datasets, self.selection.missing, meant=meant)
            check_tests(verdicts.gates, self.tests)
        if datasets:
            check_replay(self.runner)

    def check_data(self, verdicts: Verdicts | None) -> None:
        """Raise `SettingsError` for datasets that cannot run, and for gates on unknown tags.

        This reads the data files, so only one process of a run does it.
        """
        check_datasets(self.runner, self.selection.datasets())
        if self.runner.correcting is not None:
            self.runner.correcting.check(self.selection.cases)
        if verdicts is not None and "bench_gate" in self.settings.command_line_keys:
            check_subjects(self.runner, verdicts.gates, self.selection.cases)
