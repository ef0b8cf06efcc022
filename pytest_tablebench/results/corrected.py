"""Figures by the corrected gold, and the corrections that a run has used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

CHANGING = ("wrong", "several")
"""The verdicts of corrections that change the gold of an example that is not left out."""

VERDICT_TEXTS = {
    "right": "people confirmed the gold",
    "wrong": "the gold was wrong",
    "several": "several answers are right",
}
"""The verdicts of corrections that leave no example out, in words."""


class CorrectedCase(NamedTuple):
    """A case with a correction; `entry` is the `corrected` of its record."""

    benchmark: str
    dataset: str
    example: str
    entry: Mapping[str, Any]


def corrected_outcome(entry: Mapping[str, Any]) -> str:
    """Return the outcome of a case by the corrected gold, from the `corrected` of its record.

    It is `right`, `wrong`, `no_answer`, `scored` (no verdict) or `left_out`.
    """
    if entry.get("left_out") is not None:
        return "left_out"
    if entry.get("score") is None:
        return "no_answer"
    passed = entry.get("passed")
    return "scored" if passed is None else "right" if passed else "wrong"


def corrected_cases(records: Iterable[Any]) -> list[CorrectedCase]:
    """Return the cases with a correction, of records or rows."""
    return [
        CorrectedCase(record.benchmark, record.dataset, record.example_id, record.corrected)
        for record in records
        if record.corrected is not None
    ]


def corrected_counts(cases: Iterable[CorrectedCase]) -> dict[str, Any]:
    """Return the numbers of examples that corrections changed and left out, and the reasons.

    An example of which only some cases are left out counts in both numbers.
    """
    changed: set[tuple[str, str]] = set()
    left_out: dict[tuple[str, str], str] = {}
    for case in cases:
        example, reason = (case.dataset, case.example), case.entry.get("left_out")
        if reason is not None:
            left_out[example] = min(reason, left_out.get(example, reason))
        elif case.entry.get("verdict") in CHANGING:
            changed.add(example)
    reasons = sorted(Counter(left_out.values()).items(), key=lambda item: (-item[1], item[0]))
    return {"changed": len(changed), "left_out": len(left_out), "reasons": dict(reasons)}


def corrections_entry(file: str, digest: str, cases: Iterable[CorrectedCase]) -> dict[str, Any]:
    """Return the entry `corrections` of `run.json`.

    `file` is the name of the file, without its folder; `digest` identifies its content.
    """
    counts = corrected_counts(cases)
    del counts["reasons"]
    return {"file": file, "digest": digest, **counts}
