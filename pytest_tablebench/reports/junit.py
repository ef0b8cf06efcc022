"""JUnit: what of a record stands as properties of its test case."""

from __future__ import annotations

from pytest_tablebench.names import printable
from pytest_tablebench.results import Record

__all__ = ["junit_properties"]

TEXT_SHOWN = 300
"""Characters of a reply or reference; all of it is in records.jsonl."""


def junit_properties(record: Record) -> list[tuple[str, str]]:
    """Return names and values for a report's `user_properties`, in a fixed order.

    Plain text only, so that they survive the way from an xdist worker; characters that XML
    cannot hold, and those that a viewer would act on, are shown as escapes. What is not known is
    left out. Names begin with `tablebench.`.
    """
    facts: dict[str, object] = {
        "case": record.case_id,
        "model": record.model,
        "benchmark": record.benchmark,
        "dataset": record.dataset,
        "example": record.example_id,
        "serializer": record.serializer,
        "perturbation": record.perturbation,
        "outcome": record.outcome,
        "reason": record.reason,
        "flags": ",".join(record.flags) or None,
        "metric": record.metric,
        "score": None if record.score is None else f"{record.score:.6g}",
        "expected": " | ".join(record.references) or None,
        "reply": record.raw,
        "prompt_digest": record.prompt_digest,
        "latency_s": record.latency_s,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost_usd": record.cost_usd,
        "from_store": "true" if record.from_store else None,
    }
    return [
        (f"tablebench.{name}", printable(str(value), TEXT_SHOWN))
        for name, value in facts.items()
        if value is not None
    ]
