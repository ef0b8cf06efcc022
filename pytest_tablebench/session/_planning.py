"""The plan of a session: the calls of each model, and whether the settings allow them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models import GGUFModel
from pytest_tablebench.running.judge_plan import JudgeQuestions
from pytest_tablebench.running.plan import ModelPlan, plan_judge, plan_model
from pytest_tablebench.running.preflight import (
    check_efforts,
    check_models,
    check_served,
    check_sight,
    check_tools,
)

if TYPE_CHECKING:
    from pytest_tablebench.session._cases import Cases
    from pytest_tablebench.session._verdict import Verdicts


def model_plans(cases: Cases) -> list[ModelPlan]:
    """Return the planned calls of each model whose answers are stored. Makes no call.

    Raises `SettingsError` if a budget could not be kept or no model can be called.
    """
    runner = cases.runner
    by_model, exact = cases.selection.by_model(), cases.settings.plan
    engine_models, in_process = runner.models.engine_models(), runner.models.in_process()
    lanes = [*runner.models.lanes(), *in_process]
    judge_name = str(cases.settings.judge)
    has_judge = cases.has_judge and judge_name in lanes
    judge = JudgeQuestions(runner, judge_name) if has_judge else None
    plans = []
    try:
        check_models(runner, by_model)
        check_sight(runner, by_model)
        check_tools(runner, by_model)
        check_efforts(runner, by_model)
        for model in dict.fromkeys([*lanes, *(by_model if judge is not None else ())]):
            if model in by_model:
                plan = plan_model(runner, model, by_model[model], exact=exact, judge=judge)
                plans += [plan] if model in lanes else []
        if judge is not None and judge.cases:
            plans.append(plan_judge(runner, judge, exact=exact))
    except ModelError as error:
        raise SettingsError(str(error)) from None
    _check_batches(cases, [plan.model for plan in plans])
    paid = cases.settings.max_cost is not None and not cases.settings.replay
    for plan in plans:
        if paid and plan.calls and plan.model in in_process:
            raise SettingsError(
                f"--bench-max-cost: {plan.model} answers inside the test process, "
                f"where no budget applies. Register its provider as a function or class of a "
                f"module, without `in_process`, or omit the option"
            )
        unpriced = plan.calls and plan.cost_usd is None and not plan.judges
        if paid and unpriced and plan.model in engine_models:
            raise SettingsError(
                f"--bench-max-cost: the price of {plan.model} is unknown, so a "
                f"budget cannot be kept; omit the option"
            )
    if paid and cases.has_judge:
        _check_price_of_judge(cases)
    return [replace(plan, priced_by_reply=plan.model not in engine_models) for plan in plans]


def served_checks(
    cases: Cases, verdicts: Verdicts | None, plans: Iterable[ModelPlan]
) -> dict[str, Any]:
    """Return the fact `server_check`: what serves each model whose answers are all stored.

    Makes one call for each. Without gates, in a replay, with a store that is only read, and by
    batches it makes none.
    """
    settings, models = cases.settings, cases.runner.models
    if verdicts is None or not verdicts.gates or settings.replay:
        return {}
    if not settings.stored or settings.executor == "batch":
        return {}
    by_model, remote = cases.selection.by_model(), models.engine_models()
    checks = {
        plan.model: check_served(cases.runner, by_model[plan.model])
        for plan in plans
        if plan.hits and not plan.calls and not plan.judges
        if plan.model in remote and not isinstance(remote[plan.model], GGUFModel)
    }
    return {"server_check": checks} if checks else {}


def _check_batches(cases: Cases, planned: Iterable[str]) -> None:
    """Raise `SettingsError` for a model whose provider is known to have no batch service."""
    models, judge = cases.runner.models, cases.settings.judge
    if cases.settings.executor != "batch" or cases.settings.replay:
        return
    from pytest_tablebench.models import BATCH_PROVIDERS

    for model in [*planned, *([str(judge)] if cases.has_judge else [])]:
        facts = models.facts_about(model) if model in models.engine_models() else None
        if facts is not None and facts.provider not in BATCH_PROVIDERS:
            raise SettingsError(
                f"--bench-executor batch: no batch service for {model}; only "
                f"models of {', '.join(sorted(BATCH_PROVIDERS))} have one"
            )


def _check_price_of_judge(cases: Cases) -> None:
    models, judge = cases.runner.models, str(cases.settings.judge)
    if judge not in models.engine_models():
        return
    facts = models.facts_about(judge)
    if facts is None or facts.input_cost_per_token is None:
        raise SettingsError(
            f"--bench-max-cost: the price of the judge {judge} is unknown, so a "
            f"budget cannot be kept; omit the option"
        )
