"""What the engine of a run is needed for, by what was selected and what is stored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.running.judging import of_metric
from pytest_tablebench.session.messages import EngineNeeds

if TYPE_CHECKING:
    from pytest_tablebench.executors.local import LaneConfig
    from pytest_tablebench.running.runner import Runner
    from pytest_tablebench.session.selection import Selection


def engine_needs(runner: Runner, selection: Selection) -> EngineNeeds:
    """Return what the engine is needed for."""
    settings = runner.settings
    if settings.replay:
        return EngineNeeds(needed=False)
    lanes = list(runner.models.lanes().values())
    judged = runner.judged_metrics(selection.datasets()) if settings.judge is not None else ()
    models = {*selection.planned(), *([settings.judge] if judged else [])}
    if not any(lane.model in models for lane in lanes):
        lanes = []
    return EngineNeeds(
        [lane.values() for lane in lanes],
        bool(lanes) and _calls_will_come(runner, selection, lanes),
        bool(lanes) or _may_need_it(runner, selection),
    )


def _may_need_it(runner: Runner, selection: Selection) -> bool:
    """Whether a program may be run for a selected case, or an answer be scored elsewhere."""
    cases = selection.cases
    strategies = {case.strategy: runner.conversations.strategy_of(case) for case in cases}
    judging = runner.judging
    has_rounds = any(getattr(strategy, "rounds", None) != 1 for strategy in strategies.values())
    return has_rounds or any(
        judging.metrics_with_judge(dataset, strategy, metrics := runner.named_metrics(dataset))
        or judging.sent(dataset, strategy, metrics)
        for dataset, strategy in {(case.dataset, case.strategy) for case in cases}
    )


def _calls_will_come(runner: Runner, selection: Selection, lanes: Iterable[LaneConfig]) -> bool:
    """Whether calls will surely come: who was asked before may have all answers stored."""
    lane_models = {lane.model for lane in lanes}
    subjects: set[tuple[str, str | None]]
    subjects = {(case.model, case.dataset) for case in selection.cases}
    if (judge := runner.settings.judge) is not None:
        judged = runner.judged_metrics(selection.datasets())
        subjects |= {(judge, of_metric(metric)) for metric in judged}
    return not all(
        runner.models.facts_are_stored(model, subject)
        for model, subject in subjects
        if model in lane_models
    )


def is_surely_asked(runner: Runner, dataset: str) -> bool:
    """Whether a case of a dataset that is collected leads to calls through litellm."""
    settings, models = runner.settings, runner.models
    if not settings.explicit or settings.plan or settings.replay or settings.executor != "local":
        return False
    try:
        ours = [model for model in settings.models if model in models.engine_models()]
        folder = settings.store_folder()
        kept = settings.readonly_stores or (folder is not None and os.path.lexists(folder))
        stored = kept and all(models.facts_are_stored(model, dataset) for model in ours)
    except TableBenchError:  # what is wrong is said when all is collected
        return False
    return bool(ours) and not stored
