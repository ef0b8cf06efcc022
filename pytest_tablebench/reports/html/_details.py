"""What a page shows of a case that is opened, in blocks of many cases."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.reports.html._drawn import shown_chart
from pytest_tablebench.results import Record

DETAILS = 256
"""Cases in a block."""

_REPLY_LIMITS = (20_000, 8_000, 3_000, 1_200, 500, 200)
_DETAIL_BUDGET = 13_000_000
_STEPS = 80
_OUTCOMES = ("right", "wrong", "no_answer", "scored")


def deflated(value: Any) -> str:
    """Return a value as a block: JSON in ASCII, compressed, in base64."""
    data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    return base64.b64encode(zlib.compress(data)).decode("ascii")


def pack_details(
    records: Sequence[Record], before: Mapping[str, Record]
) -> tuple[dict[str, str], int]:
    """Return the blocks of details, and to how many characters replies were cut to fit.

    `before` holds the records of another run by this run's case ids.
    """
    blocks: dict[str, str] | None = None
    for limit in _REPLY_LIMITS:
        blocks = _details(records, before, limit)
        if blocks is not None:
            return blocks, limit
    # Not even so: the page stays small, and says that nothing of the replies is in it.
    return _details(records, before, 0) or {}, 0


def _details(
    records: Sequence[Record], before: Mapping[str, Record], limit: int
) -> dict[str, str] | None:
    # A first guess without compressing: it halves text at the very least.
    if limit and sum(min(len(r.raw or ""), limit) for r in records) > 6 * _DETAIL_BUDGET:
        return None
    blocks, size = {}, 0
    for number, start in enumerate(range(0, len(records), DETAILS)):
        chunk = [
            _detail(record, before.get(record.case_id), limit)
            for record in records[start : start + DETAILS]
        ]
        block = deflated(chunk)
        size += len(block)
        if limit and size > _DETAIL_BUDGET:
            return None
        blocks[f"d{number}"] = block
    return blocks


class _CutText(str):
    """The beginning of a text, with the length of the whole."""

    __slots__ = ("whole",)
    whole: int


def excerpt(record: Record) -> Record:
    """Return a record with as much of its long texts as a page may show."""
    raw, prediction = _beginning(record.raw), _beginning(record.prediction)
    if raw is record.raw and prediction is record.prediction:
        return record
    return replace(record, raw=raw, prediction=prediction)


def _beginning(text: Any) -> Any:
    if not isinstance(text, str) or len(text) <= _REPLY_LIMITS[0]:
        return text
    beginning = _CutText(text[: _REPLY_LIMITS[0] + 1])
    beginning.whole = len(text)
    return beginning


def _length(text: str) -> int:
    return text.whole if isinstance(text, _CutText) else len(text)


def _detail(record: Record, other: Record | None, limit: int) -> list[Any]:
    parts = {str(name)[:80]: finite(value, 6) for name, value in list(record.parts.items())[:40]}
    cost, latency = finite(record.cost_usd, 8), finite(record.latency_s, 4)
    facts = [record.strategy, record.modality, record.model, record.metric, list(record.flags)]
    checks = list(record.checks.items())[:40]
    return [
        record.case_id,
        *_reply_texts(record, limit),
        [str(reference)[:2000] for reference in record.references[:10]],
        len(record.references),
        parts,
        facts,
        [latency, record.prompt_tokens, record.completion_tokens, cost, record.from_store],
        record.prompt_digest,
        _other(record, other, limit),
        [[str(name)[:200], None if passed is None else bool(passed)] for name, passed in checks],
        shown_chart(record),
        list(_steps(record, limit)),
    ]


def _reply_texts(record: Record, limit: int) -> list[Any]:
    """Return the reply and what was read in it, each with the length of the whole."""
    raw, read = record.raw, text_of(record.prediction)
    return [
        None if raw is None else raw[:limit],
        0 if raw is None else _length(raw),
        None if record.prediction is None else read[:limit],
        _length(read),
    ]


def _steps(record: Record, limit: int) -> Iterator[list[Any]]:
    """Yield the kind of each step (`ask`, `execute`, or `judge`) and what is known of it.

    That is how it ended, who was asked, seconds, tokens of prompt and reply, dollars, whether it
    was known, the file of the picture that was drawn, what a judge said and how long that is.
    """
    for step in record.steps[:_STEPS]:
        if not isinstance(step, Mapping):
            continue
        reply, drawn = step.get("text"), step.get("picture")
        judged = isinstance(reply, str)
        yield [
            "judge" if judged else "execute" if step.get("kind") == "execute" else "ask",
            *(None if (value := step.get(name)) is None else str(value)[:120] for name in _NAMED),
            *(finite(step.get(name), 8) for name in _MEASURED),
            step.get("from_store") is True,
            drawn if isinstance(drawn, str) else None,
            str(reply)[:limit] if judged else None,
            len(str(reply)) if judged else 0,
        ]


_NAMED = ("outcome", "model")
_MEASURED = ("latency_s", "prompt_tokens", "completion_tokens", "cost_usd")


def _other(record: Record, other: Record | None, limit: int) -> list[Any] | None:
    """Return a case as another run has it: outcome, score, reason, what was said, and the picture.

    A reply that is the same is not said again: then 1 stands in its place.
    """
    if other is None:
        return None
    chart = shown_chart(other)
    same = other.raw == record.raw and other.prediction == record.prediction
    return [
        outcome_of(other),
        finite(other.score, 4),
        None if other.score is not None else str(other.reason or "unknown")[:200],
        1 if same else _reply_texts(other, limit),
        None if chart is None else chart[0],
    ]


def outcome_of(record: Record) -> int:
    """Return the number of an outcome: right, wrong, no answer, no verdict.

    Where a record has one that nobody knows, its score tells.
    """
    if record.outcome in _OUTCOMES:
        return _OUTCOMES.index(record.outcome)
    return 2 if record.score is None else 0 if record.passed else 1


def finite(value: Any, digits: int) -> float | str | None:
    """Return a number that JSON has, anything else as text."""
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
