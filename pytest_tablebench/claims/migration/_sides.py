"""The figures of one side of a migration, and what differs between the sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.compare import RunComparison
from pytest_tablebench.claims.differences import Difference, sent_differences
from pytest_tablebench.claims.migration._types import Latency, Side
from pytest_tablebench.claims.summary import spent_on
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import counted, out_of

_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")


def side_of(run: Run) -> Side:
    """Return the figures of a run. A run without records has shares of 0."""
    records = run.records
    facts, total = run.facts, max(1, len(records))
    answered = [record for record in records if record.raw is not None]
    spent = spent_on(answered)
    tallies = Counter(name for record in records for name in record.tallies)
    reasons = Counter(str(record.reason) for record in records if record.score is None)
    cost = spent["cost_usd"]
    tokens = {name: spent.get(name) for name in _TOKENS}
    each = max(1, len(answered))
    return Side(
        model=facts.model,
        path=str(run.path),
        ended=ended_of(run),
        cases=len(records),
        stored=sum(record.from_store for record in records),
        no_answer=sum(reasons.values()) / total,
        cut_off=tallies["cut_off"] / total,
        truncated=tallies["truncated"] / total,
        reasons=dict(reasons.most_common()),
        latency=_latency(answered),
        price=None if cost is None else 1000 * cost / each,
        tokens={name: None if count is None else count / each for name, count in tokens.items()},
        calls_paid=facts.calls_paid,
        paid_usd=facts.cost_usd,
    )


def ended_of(run: Run) -> str | None:
    """Return why a run lacks cases that it planned; None if it is complete."""
    facts, recorded = run.facts, len(run.records)
    if facts.ended:
        return facts.ended
    if not facts.is_complete or recorded != facts.cases_planned:
        return f"{out_of(recorded, facts.cases_planned, 'case')} recorded"
    return None


def _latency(answered: Sequence[Record]) -> Latency | None:
    """Return the times of this run's answers, or of the stored ones if it has no other."""
    for is_stored in (False, True):
        times = [
            record.latency_s
            for record in answered
            if record.latency_s is not None and record.from_store is is_stored
        ]
        if times:
            median, p95 = np.quantile(times, (0.5, 0.95)).tolist()
            return Latency(median, p95, len(times), is_stored)
    return None


def differences_of(
    old: Run,
    new: Run,
    comparison: RunComparison,
    plans: Mapping[str, Mapping[str, Any]],
) -> tuple[Difference, ...]:
    """Return what differs in addition to the model: parameters, limits, thinking, settings.

    `plans` are the fields of each model's `ModelPlan`, by model; a model without calls has none.
    """
    sides = old, new
    planned = [plans.get(run.facts.model, {}) for run in sides]
    rows = [
        _row("token limit of replies", [_limits(run.records) for run in sides]),
        _row("context", [_tokens(plan.get("context")) for plan in planned]),
        _row("longest reply", [_tokens(plan.get("longest_reply")) for plan in planned]),
        _row("room for thinking", [_tokens(plan.get("room")) for plan in planned]),
        _row("thinking", [_thinking(run.records) for run in sides]),
        _row("provider", [_text(plan.get("provider")) for plan in planned]),
        _row("transport", [_text(plan.get("transport")) for plan in planned]),
    ]
    further = [item for item in comparison.differences if item.kind != "model"]
    return (*sent_differences(old.facts, new.facts), *filter(None, rows), *further)


def _row(name: str, texts: Sequence[str]) -> Difference | None:
    old, new = texts
    # A fact that one side does not have cannot be compared.
    if old == new or not old or not new:
        return None
    return Difference(name, "parameter", (old, new))


def _limits(records: Iterable[Record]) -> str:
    limits = sorted({record.reply_limit for record in records if record.reply_limit is not None})
    if not limits:
        return ""
    return _tokens(limits[0]) if len(limits) == 1 else f"{limits[0]:,} to {_tokens(limits[-1])}"


def _thinking(records: Sequence[Record]) -> str:
    """Return the mean tokens of thinking per answer that has a count."""
    tokens = [record.reasoning_tokens for record in records if record.reasoning_tokens is not None]
    if not any(tokens):
        return "none counted" if any(record.raw is not None for record in records) else ""
    return f"{sum(tokens) / len(tokens):,.0f} tokens an answer"


def _tokens(number: Any) -> str:
    return counted(number, "token") if isinstance(number, int) else ""


def _text(value: Any) -> str:
    return "" if value is None else str(value)
