"""Convert rows of other tools into the fields of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._evaluation import Evaluation, EvaluationRow
from pytest_tablebench.interchange._row_check import is_number
from pytest_tablebench.util.names import printable, slug

UNKNOWN_SERIALIZER = "unknown"
"""The serializer of cases without one in their rows."""

_LONGEST_TAG = 60


@dataclass(frozen=True)
class _Metric:
    """The metric of an aggregate result: the name and the range of its rows' scores."""

    name: str
    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    def scaled(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


def name_of(text: object) -> str:
    """Return the name of a dataset: slugs separated by slashes."""
    parts = [slug(part) for part in str(text).split("/") if part.strip()]
    return "/".join(parts) or "unnamed"


def foreign_fields(evaluation: Evaluation) -> Iterable[tuple[EvaluationRow, dict[str, Any]]]:
    """Yield a row of each case of an evaluation, and the fields of its record.

    The rows of one sample for several results are one case: all are its parts, and the first
    result with usable scores is its score. Several rows of a sample for one result are repeats.
    """
    metrics = _metrics(evaluation.facts)
    cases: dict[tuple[str, str, int], list[tuple[str, EvaluationRow]]] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for row in evaluation.rows:
        name, sample = str(row.data["evaluation_name"]), str(row.data["sample_id"])
        result = str(row.data.get("evaluation_result_id") or name)
        seen[name, sample, result] = repeat = seen.get((name, sample, result), 0) + 1
        cases.setdefault((name, sample, repeat), []).append((result, row))
    usable = _usable_results(cases.values(), metrics)
    for (name, sample, repeat), rows in cases.items():
        yield rows[0][1], _case(evaluation, (name, sample, repeat), rows, metrics, usable)


def _metrics(facts: Mapping[str, Any]) -> dict[str, _Metric]:
    metrics = {}
    for result in facts.get("evaluation_results") or ():
        config = result.get("metric_config") if isinstance(result, dict) else None
        if not isinstance(config, dict):
            continue
        mark = str(result.get("evaluation_result_id") or result.get("evaluation_name"))
        low: Any = config.get("min_score")
        high: Any = config.get("max_score")
        has_bounds = is_number(low) and is_number(high) and high > low
        metrics[mark] = _Metric(
            slug(str(config.get("metric_name") or config.get("metric_id") or mark)),
            *((float(low), float(high)) if has_bounds else (0.0, 1.0)),
            lower_is_better=config.get("lower_is_better") is True,
        )
    return metrics


def _usable_results(
    cases: Iterable[Sequence[tuple[str, EvaluationRow]]], metrics: Mapping[str, _Metric]
) -> frozenset[str]:
    """Return the results whose scores are within their bounds, with higher scores as better."""
    usable: dict[str, bool] = {}
    for rows in cases:
        for result, row in rows:
            metric = metrics.get(result, _Metric(result))
            inside = 0 <= metric.scaled(row.data["evaluation"]["score"]) <= 1
            usable[result] = usable.get(result, not metric.lower_is_better) and inside
    return frozenset(result for result, is_usable in usable.items() if is_usable)


def _case(
    evaluation: Evaluation,
    key: tuple[str, str, int],
    rows: Sequence[tuple[str, EvaluationRow]],
    metrics: Mapping[str, _Metric],
    usable: frozenset[str],
) -> dict[str, Any]:
    name, sample, repeat = key
    named = {result: metrics.get(result, _Metric(slug(result))) for result, _ in rows}
    chosen = next(((result, row) for result, row in rows if result in usable), None)
    result, row = chosen or rows[0]
    data = row.data
    answered = not (data.get("error") and not _has_reply(data))
    if answered and chosen is None:
        raise DataError(
            f"{row.place}: none of its scores ({', '.join(map(printable, named))}) is usable; a "
            f"score must be from 0 to 1 or within the bounds of its metric, and higher must be "
            f"better"
        )
    dataset, example = name_of(name), slug(sample)
    case = "/".join((dataset, example, UNKNOWN_SERIALIZER, "none"))
    metadata = data.get("metadata") or {}
    fields: dict[str, Any] = {
        "case_id": f"{case}/r{repeat}" if repeat > 1 else case,
        "benchmark": name_of(str(evaluation.facts["evaluation_id"]).partition("/")[0]),
        "dataset": dataset,
        "example_id": example,
        "serializer": UNKNOWN_SERIALIZER,
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
        "repeat": repeat,
        "metric": named[result].name if answered else None,
        "tags": {name: text for name, text in metadata.items() if _is_tag(text)},
    }
    if not answered:
        return fields | {"outcome": "no_answer"}
    passed = data["evaluation"]["is_correct"]
    return fields | {
        "outcome": "right" if passed else "wrong",
        "score": named[result].scaled(data["evaluation"]["score"]),
        "part": named[result].name,
        "parts": {
            named[mark].name: named[mark].scaled(other.data["evaluation"]["score"])
            if mark in usable
            else other.data["evaluation"]["score"]
            for mark, other in rows
        },
        "flags": ["error"] if data.get("error") else [],
    }


def _is_tag(text: str) -> bool:
    """Return whether a metadata entry can be a tag: short and no JSON."""
    return len(text) <= _LONGEST_TAG and not text.startswith(("{", "["))


def _has_reply(data: Mapping[str, Any]) -> bool:
    output, messages = data.get("output"), data.get("messages")
    if output is not None:
        return any(output["raw"])
    return any(
        message["role"] == "assistant" and message.get("content") for message in messages or ()
    )
