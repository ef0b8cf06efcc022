"""The details of opened cases, in blocks of many cases."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.config.axes import MODES, values_on
from pytest_tablebench.reports.html._drawn import shown_chart
from pytest_tablebench.results import Record
from pytest_tablebench.results.corrected import VERDICT_TEXTS

DETAILS = 256
"""Cases in a block."""

REPLY_LIMIT = 20_000
"""Characters of a reply on a page whose replies all fit."""
DETAIL_BUDGET = 13_000_000
"""Characters of all blocks."""

_REPLY_LIMITS = (REPLY_LIMIT, 8_000, 3_000, 1_200, 500, 200)
_STEPS = 80
_OUTCOMES = ("right", "wrong", "no_answer", "scored")


def deflated(value: Any) -> str:
    """Return a value as a block: JSON in ASCII, compressed, in base64."""
    data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    return base64.b64encode(zlib.compress(data)).decode("ascii")


def pack_details(
    records: Sequence[Record], before: Mapping[str, Record]
) -> tuple[dict[str, str], int]:
    """Return the blocks of details, and the number of characters to which replies were cut.

    `before` has the records of another run, by this run's case ids.
    """
    blocks: dict[str, str] | None = None
    for limit in _REPLY_LIMITS:
        blocks = _details(records, before, limit)
        if blocks is not None:
            return blocks, limit
    # Even the smallest limit does not fit: the page has no replies and says so.
    return _details(records, before, 0) or {}, 0


def packed_details(records: Iterable[Record]) -> str:
    """Return the block of some cases, with replies of the largest length."""
    return deflated([_detail(record, None, REPLY_LIMIT) for record in records])


def _details(
    records: Sequence[Record], before: Mapping[str, Record], limit: int
) -> dict[str, str] | None:
    # An estimate that saves compressing: compression rarely gains more than a factor of 6.
    if limit and sum(min(len(r.raw or ""), limit) for r in records) > 6 * DETAIL_BUDGET:
        return None
    blocks, size = {}, 0
    for number, start in enumerate(range(0, len(records), DETAILS)):
        chunk = [
            _detail(record, before.get(record.case_id), limit)
            for record in records[start : start + DETAILS]
        ]
        block = deflated(chunk)
        size += len(block)
        if limit and size > DETAIL_BUDGET:
            return None
        blocks[f"d{number}"] = block
    return blocks


class _CutText(str):
    """The beginning of a text, with the length of the whole."""

    __slots__ = ("whole",)
    whole: int


def excerpt(record: Record) -> Record:
    """Return a record with its long texts cut to what a page may show."""
    raw, prediction = _beginning(record.raw), _beginning(record.prediction)
    if raw is record.raw and prediction is record.prediction:
        return record
    return replace(record, raw=raw, prediction=prediction)


def _beginning(text: Any) -> Any:
    if not isinstance(text, str) or len(text) <= REPLY_LIMIT:
        return text
    beginning = _CutText(text[: REPLY_LIMIT + 1])
    beginning.whole = len(text)
    return beginning


def _length(text: str) -> int:
    return text.whole if isinstance(text, _CutText) else len(text)


def _detail(record: Record, other: Record | None, limit: int) -> dict[str, Any]:
    parts = {str(name)[:80]: finite(value, 6) for name, value in list(record.parts.items())[:40]}
    checks = list(record.checks.items())[:40]
    return {
        "id": record.case_id,
        **_reply_texts(record, limit),
        "references": [str(reference)[:2000] for reference in record.references[:10]],
        "reference_count": len(record.references),
        "parts": parts,
        **values_on(record, MODES),
        "model": record.model,
        "metric": record.metric,
        "flags": list(record.flags),
        **({} if record.why is None else {"why": record.why[:400]}),
        "latency": finite(record.latency_s, 4),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost": finite(record.cost_usd, 8),
        "from_store": record.from_store,
        "prompt_digest": record.prompt_digest,
        "before": _before(record, other, limit),
        "checks": [
            {"name": str(name)[:200], "passed": None if passed is None else bool(passed)}
            for name, passed in checks
        ],
        "chart": shown_chart(record),
        "steps": list(_steps(record, limit)),
        **_corrected(record.corrected),
    }


def _corrected(entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the words on a correction that the page shows; empty without one."""
    if entry is None:
        return {}
    words = entry.get("left_out") or VERDICT_TEXTS.get(str(entry.get("verdict")), "")
    return {"corrected": str(words)[:200]}


def _reply_texts(record: Record, limit: int) -> dict[str, Any]:
    """Return the reply and the prediction, each with the length of the whole text."""
    raw, read = record.raw, text_of(record.prediction)
    return {
        "reply": None if raw is None else raw[:limit],
        "reply_length": 0 if raw is None else _length(raw),
        "prediction": None if record.prediction is None else read[:limit],
        "prediction_length": _length(read),
    }


def _steps(record: Record, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the kind of each step (`ask`, `execute` or `judge`) and its facts.

    `text` is a judge's reply, `length` its length, `picture` the file that a program drew. Unknown
    facts are left out.
    """
    for step in record.steps[:_STEPS]:
        if not isinstance(step, Mapping):
            continue
        reply, drawn = step.get("text"), step.get("picture")
        judged = isinstance(reply, str)
        facts = {
            "kind": "judge" if judged else "execute" if step.get("kind") == "execute" else "ask",
            **{name: str(step[name])[:120] for name in _NAMED if step.get(name) is not None},
            **{name: finite(step.get(measure), 8) for name, measure in _MEASURED.items()},
            "from_store": step.get("from_store") is True or None,
            "picture": drawn if isinstance(drawn, str) else None,
        }
        if judged:
            facts |= {"text": str(reply)[:limit], "length": len(str(reply))}
        yield {name: value for name, value in facts.items() if value is not None}


_NAMED = ("outcome", "model")
_MEASURED = {
    "latency": "latency_s",
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "cost": "cost_usd",
}


def _before(record: Record, other: Record | None, limit: int) -> dict[str, Any] | None:
    """Return the case in the other run, without its reply if that is the same."""
    if other is None:
        return None
    chart = shown_chart(other)
    same = other.raw == record.raw and other.prediction == record.prediction
    return {
        "outcome": outcome_of(other),
        "score": finite(other.score, 4),
        "reason": None if other.score is not None else str(other.reason or "unknown")[:200],
        "is_same": same,
        "picture": None if chart is None else chart["picture"],
        **({} if same else _reply_texts(other, limit)),
    }


def outcome_of(record: Record) -> int:
    """Return the number of an outcome: right, wrong, no answer, no verdict.

    An unknown outcome is derived from the score.
    """
    if record.outcome in _OUTCOMES:
        return _OUTCOMES.index(record.outcome)
    return 2 if record.score is None else 0 if record.passed else 1


def finite(value: Any, digits: int) -> float | str | None:
    """Return a finite number rounded to so many digits, any other value as text."""
    if value is None:
        return None
    if isinstance(value, int | float) and abs(value) < 1e300:  # also false for NaN
        return round(float(value), digits)
    return str(value)[:200]


def text_of(value: Any) -> str:
    """Return a prediction as text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str)
