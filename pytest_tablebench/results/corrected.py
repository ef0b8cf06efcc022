"""Figures by the corrected gold, and the corrections that a run has used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pytest_tablebench.util.entries import mapping

CHANGING = ("wrong", "several")
"""The verdicts of corrections that change the gold of an example that is not left out."""


class CorrectedCounts(NamedTuple):
    """The numbers of examples whose gold was changed, and that were left out, by reason."""

    changed: int
    left_out: int
    reasons: Mapping[str, int]


def corrected_counts(records: Iterable[Any]) -> CorrectedCounts:
    """Count the corrected examples of records or rows.

    An example of which only some cases are left out counts in both numbers.
    """
    changed: set[tuple[str, str]] = set()
    left_out: dict[tuple[str, str], str] = {}
    for record in records:
        entry = record.corrected
        if entry is None:
            continue
        example, reason = (record.dataset, record.example_id), entry.get("left_out")
        if reason is not None:
            left_out[example] = min(reason, left_out.get(example, reason))
        elif entry["verdict"] in CHANGING:
            changed.add(example)
    reasons = Counter(left_out.values())
    ordered = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return CorrectedCounts(len(changed), len(left_out), ordered)


def corrections_entry(file: str, digest: str, records: Iterable[Any]) -> dict[str, Any]:
    """Return the entry `corrections` of `run.json`.

    `file` is the name of the file, without its folder; `digest` identifies its content.
    """
    counts = corrected_counts(records)
    facts = {"file": file, "digest": digest, "changed": counts.changed, "left_out": counts.left_out}
    return {"corrections": facts}


def overlay_of(run: Mapping[str, Any]) -> str | None:
    """Return the digest of the corrections of a run, from its `run.json`; None without any."""
    digest = mapping(run, "corrections").get("digest")
    return digest if isinstance(digest, str) else None
