"""The judge's part in records: its replies, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.running.answer import TRUNCATED, StepFacts, step_records
from pytest_tablebench.serializers.content import digest_of

if TYPE_CHECKING:
    from pytest_tablebench.results.record import Record

Steps = Sequence[Mapping[str, Any]]

_SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")


def with_judge_steps(record: Record, judging: Sequence[StepFacts]) -> Record:
    """Return a record with other replies of a judge; the steps of the answer stay."""
    answer = [step for step in record.steps if not _is_judges(step)] or [_answer_step(record)]
    # An answer step stands in front because a single step is not recorded.
    replies = step_records([_NO_STEP, *judging])[1:]
    return replace(record, steps=(*answer, *replies))


_NO_STEP = StepFacts("ask", "", None)


def _is_judges(step: Mapping[str, Any]) -> bool:
    """Return whether a step is a judge's reply: only these have their text in the record."""
    return "text" in step


def _answer_step(record: Record) -> dict[str, Any]:
    """Return the one step of an answer, which records do not list without a judge."""
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


def totals_with(
    run: Mapping[str, Any], old: Iterable[Record], new: Iterable[Record]
) -> dict[str, Any]:
    """Return the calls and costs of run.json with the new judge's in place of the old one's.

    A sum with an unknown part is None, as in any run.
    """
    before, after = _paid(old), _paid(new)
    calls = run.get("calls_paid")
    totals: dict[str, Any] = {"calls_paid": _moved(calls, len(before), len(after))}
    for name in _SUMS:
        total = run.get(name)
        if not calls:  # nothing was paid for, so its sums are unknown
            total = 0
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
