"""The plan of a session: what each model is going to be asked, and whether it may be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.running.plan import ModelPlan, plan_model
from pytest_tablebench.running.preflight import check_sight
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.session.state import Session

__all__ = ["model_plans"]


def model_plans(session: Session) -> list[ModelPlan]:
    """Return what each model behind the engine is going to be asked; makes no call.

    Raises `SettingsError` for a budget that could not be kept, and when nothing can be
    asked at all.
    """
    runner = session.require_runner()
    by_model, exact = session.selection.by_model(), session.settings.plan
    known = runner.models.engine_models()
    asked = [model for model in runner.models.lanes() if model in by_model]
    try:
        check_sight(runner, by_model)
        plans = [plan_model(runner, model, by_model[model], exact=exact) for model in asked]
    except ModelError as error:
        raise SettingsError(str(error)) from None
    paid = session.settings.max_cost is not None and not session.settings.replay
    for plan in plans:
        if paid and plan.calls and plan.cost_usd is None and plan.model in known:
            raise SettingsError(
                f"--bench-max-cost: the price of {printable(plan.model, 80)} is unknown, so a "
                f"budget cannot be kept; leave the option out"
            )
    if paid and session.judges:
        _check_price_of_judge(session)
    return [
        replace(plan, judge=_judge_of(session, plan.model), priced_by_reply=plan.model not in known)
        for plan in plans
    ]


def _judge_of(session: Session, model: str) -> str | None:
    """Return who judges a model's answers, where anybody does."""
    runner = session.require_runner()
    datasets = {case.dataset for case in session.selection.cases if case.model == model}
    judged = runner.judges(datasets)
    return session.settings.judge if judged else None


def _check_price_of_judge(session: Session) -> None:
    """Raise `SettingsError` where what the judge costs cannot be held against a budget."""
    models, judge = session.require_runner().models, str(session.settings.judge)
    if judge not in models.engine_models():
        return
    facts = models.facts_about(judge)
    if facts is None or facts.input_cost_per_token is None:
        raise SettingsError(
            f"--bench-max-cost: the price of the judge {printable(judge, 80)} is unknown, so a "
            f"budget cannot be kept; leave the option out"
        )
