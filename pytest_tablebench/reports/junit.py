"""JUnit: what of a record stands as properties of its test case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_tablebench.results import Record
from pytest_tablebench.util.names import printable

__all__ = ["junit_properties", "pass_rates", "replace_properties"]

PREFIX = "tablebench."

TEXT_SHOWN = 300
"""Characters of a reply or reference; all of it is in records.jsonl."""


_CHECKS = {True: "passed", False: "failed", None: "not told"}


def replace_properties(own: list[tuple[str, object]], new: list[tuple[str, str]]) -> None:
    """Put properties on an item in place of those that an earlier attempt of it left."""
    own[:] = [entry for entry in own if not str(entry[0]).startswith(PREFIX)]
    own.extend(new)


def pass_rates(summaries: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each test's pass rate in each model's run, as properties of the whole suite.

    They are named as gates name them, behind the model where there are several.
    """
    for model, summary in summaries.items():
        place = f"{model}: " if len(summaries) > 1 else ""
        for benchmark in summary["benchmarks"].values():
            for dataset, scope in benchmark["datasets"].items():
                for name, check in scope.get("checks", {}).items():
                    if check["pass_rate"] is not None:
                        key = printable(f"{place}{dataset}::{name}.pass_rate", TEXT_SHOWN)
                        yield f"{PREFIX}{key}", f"{check['pass_rate']:.6g}"


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
        **{f"check.{name}": _CHECKS[passed] for name, passed in record.checks.items()},
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
        (f"{PREFIX}{printable(name, TEXT_SHOWN)}", printable(str(value), TEXT_SHOWN))
        for name, value in facts.items()
        if value is not None
    ]
