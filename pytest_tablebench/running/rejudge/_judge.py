"""The judge of a finished run: its client, its steps in records, and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_tablebench.config.settings import Settings, kept_store
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.answer import TRUNCATED, StepFacts, step_records
from pytest_tablebench.running.asking import ModelClient
from pytest_tablebench.running.scorer import of_metric
from pytest_tablebench.serializers.content import digest_of


def judge_client(
    run: RunFacts,
    registry: Registry,
    judge: str | None,
    *,
    api_base: str | None = None,
    max_cost: float | None = None,
) -> ModelClient:
    """Return what looks the replies of a judge up, and asks a new judge for the missing ones.

    Arguments:
        run: the facts of the run: its judge, parameters and store.
        registry: the providers.
        judge: the new judge; None: the run's own, whose stored replies only are used.
        api_base: the address of the new judge; None: the default.
        max_cost: US dollars after which the new judge is not called any more.
    """
    kept = kept_store(run.store)
    if judge is None:
        is_kept = kept is not None and (not isinstance(kept, Path) or kept.is_dir())
        settings = Settings(
            models=() if run.judge is None else (run.judge,),
            params=run.params,
            api_base=run.api_base,
            fresh=run.fresh,
            replay=True,
            store=kept if is_kept else None,
            stored=is_kept,
            reasoning_tokens=run.reasoning_tokens or 0,
            extend_cut=run.extend_cut,
        )
    else:
        settings = Settings(
            models=(judge,),
            params=run.params,
            api_base=api_base,
            max_cost=max_cost,
            store=kept,
            stored=run.store != "none",
        )
    params_of = {of_metric(name): params for name, params in run.judge_params.items()}
    return ModelClient(
        settings,
        registry,
        lambda about: params_of.get(about) or settings.request_params(judge=True),
    )


Steps = Sequence[Mapping[str, Any]]

_SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")


def with_judge_steps(record: Record, judging: Sequence[StepFacts]) -> Record:
    """Return a record with new replies of a judge and the old steps of the answer."""
    answer = [step for step in record.steps if not _is_judges(step)] or [_answer_step(record)]
    # `_NO_STEP` comes first because `step_records` leaves out a single step.
    replies = step_records([_NO_STEP, *judging])[1:]
    return replace(record, steps=(*answer, *replies))


_NO_STEP = StepFacts("ask", "", None)


def _is_judges(step: Mapping[str, Any]) -> bool:
    """Return whether a step is a judge's reply; only these contain a text."""
    return "text" in step


def _answer_step(record: Record) -> dict[str, Any]:
    """Return the only step of an answer, which records leave out without a judge."""
    return {
        "kind": "ask",
        "digest": digest_of(record.raw or ""),
        "outcome": "length" if TRUNCATED in record.flags else None,
        "model": None,
        "latency_s": record.latency_s,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost_usd": record.cost_usd,
        "from_store": record.from_store,
    }


def totals_with(run: RunFacts, old: Iterable[Record], new: Iterable[Record]) -> dict[str, Any]:
    """Return the calls and costs of run.json with the new judge's in place of the old one's.

    A sum with an unknown part is None, as in any run.
    """
    before, after = _paid(old), _paid(new)
    calls = run.calls_paid
    totals: dict[str, Any] = {"calls_paid": _moved(calls, len(before), len(after))}
    for name in _SUMS:
        total = getattr(run, name) if calls else 0  # without a paid call its sums are unknown
        totals[name] = _moved(total, _sum(before, name), _sum(after, name))
    if not totals["calls_paid"]:
        totals |= dict.fromkeys(_SUMS)
    return totals


def _paid(records: Iterable[Record]) -> list[Mapping[str, Any]]:
    steps = (step for record in records for step in record.steps if _is_judges(step))
    return [step for step in steps if not step.get("from_store")]


def _sum(steps: Steps, name: str) -> Any:
    values = [step.get(name) for step in steps]
    return None if None in values else sum(value for value in values if value is not None)


def _moved(total: Any, before: Any, after: Any) -> Any:
    if not isinstance(total, int | float) or before is None or after is None:
        return None
    return max(total - before, 0) + after
