"""The details of opened cases, in blocks of many cases, with the expected values of charts.

A chart's shapes are made of numbers alone: the page makes elements of SVG of them.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.config.axes import MODES, values_on
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
    entry = record.corrected
    words = entry and (entry.get("left_out") or VERDICT_TEXTS.get(str(entry.get("verdict")), ""))
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
    } | ({} if entry is None else {"corrected": str(words)[:200]})


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
        reply = step.get("text")
        kind = "execute" if step.get("kind") == "execute" else "ask"
        facts = {
            "kind": kind if reply is None else "judge",
            "outcome": step.get("outcome") and str(step["outcome"])[:120],
            "model": step.get("model") and str(step["model"])[:120],
            "latency": finite(step.get("latency_s"), 8),
            "prompt_tokens": finite(step.get("prompt_tokens"), 8),
            "completion_tokens": finite(step.get("completion_tokens"), 8),
            "cost": finite(step.get("cost_usd"), 8),
            "from_store": step.get("from_store") is True or None,
            "picture": step.get("picture"),
        }
        if reply is not None:
            facts |= {"text": reply[:limit], "length": len(reply)}
        yield {name: value for name, value in facts.items() if value is not None}


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


_PICTURE = re.compile(r"([0-9a-f]{64})\.(?:png|jpg|gif|webp)")

Shape = dict[str, Any]
"""The `name`, `style` and `values` of an element; an element `text` also has its `text`."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 350, 10, 206
"""The frame inside 360 x 216 units."""
_SERIES, _VALUES = 8, 200
"""The largest numbers of series and of values that are drawn."""
_KINDS = ("line", "bar", "waterfall", "hbar", "pie", "scatter", "radar", "area")


def shown_chart(record: Record) -> dict[str, Any] | None:
    """Return the chart of a case; None for a case without a chart.

    It has the file of the `picture` that a program drew (or None), the `kind` of chart, the
    `shapes` of the expected values (empty if they are not numbers), and how many values of their
    `count` are `drawn`. A case has a chart if its metric is of charts or a program drew a picture.
    """
    files = [step.get("picture") for step in record.steps]
    drawn = [name for name in files if name is not None and is_picture(name)]
    if not drawn and not str(record.metric).endswith("_chart"):
        return None
    kind = next(filter(None, map(_kind, record.tags.values())), "bar")
    series = next(filter(None, map(_series, record.references)), [])
    total = sum(map(len, series))
    shown_series = _cut(series)
    shapes = (_wedges(shown_series) if kind == "pie" else None) or (
        _on_axis(shown_series, kind) if shown_series else []
    )
    return {
        "picture": drawn[-1] if drawn else None,
        "kind": kind,
        "shapes": shapes,
        "drawn": sum(map(len, shown_series)),
        "count": total,
    }


def is_picture(name: str) -> bool:
    """Return whether this is a file name of `media/`: a SHA-256 digest with a suffix."""
    return _PICTURE.fullmatch(name) is not None


def _shape(name: str, style: str, values: Mapping[str, Any], text: str | None = None) -> Shape:
    shape = {"name": name, "style": style, "values": values}
    return shape if text is None else {**shape, "text": text}


def _kind(tag: str) -> str | None:
    """Return the kind of chart in a tag such as `bar` or `LineChart Generation`, or None."""
    word = tag.split(" ", 1)[0].lower().removesuffix("chart")
    return word if word in _KINDS else None


def _series(reference: Any) -> list[list[float]]:
    """Return the numbers of a text such as `[[1, 2]]` or `y_references = [1, 2]`, else nothing."""
    from pytest_tablebench.metrics.chart_values import read_values  # only runs with charts need it

    try:
        values = read_values(str(reference).rpartition("=")[2])
        rows = values if all(isinstance(row, list) for row in values) else [values]
        series = [[float(value) for value in row] for row in rows if row]
    except (TypeError, ValueError, OverflowError):
        return []
    return series if all(abs(value) < 1e100 for row in series for value in row) else []


def _cut(series: Sequence[list[float]]) -> list[list[float]]:
    left, shown_series = _VALUES, []
    for values in series[:_SERIES]:
        if left > 0:
            shown_series.append(values[:left])
            left -= len(shown_series[-1])
    return shown_series


def _wedges(series: Sequence[Sequence[float]]) -> list[Shape] | None:
    """Return a pie, counterclockwise from the right; None if the values do not make one."""
    values = [value for row in series for value in row]
    total = math.fsum(values)
    if min(values, default=-1) < 0 or total <= 0:
        return None
    shapes, angle = [], 0.0
    for number, value in enumerate(values):
        turn = 2 * math.pi * value / total
        if turn > 6.28:
            shapes.append(_shape("circle", _tone(number), {"cx": 180, "cy": 108, "r": 96}))
        elif turn:
            start, end = _on_circle(angle), _on_circle(angle + turn)
            path = f"M180 108L{start}A96 96 0 {int(turn > math.pi)} 0 {end}Z"
            shapes.append(_shape("path", _tone(number), {"d": path}))
        angle += turn
    return shapes


def _on_circle(angle: float) -> str:
    return f"{180 + 96 * math.cos(angle):.1f} {108 - 96 * math.sin(angle):.1f}"


def _tone(number: int) -> str:
    return f"t{number % 6}"


def _on_axis(series: Sequence[Sequence[float]], kind: str) -> list[Shape]:
    values = [value for row in series for value in row]
    # Horizontal bars are drawn upright, and values that make no pie as bars.
    bars = kind in {"bar", "waterfall", "hbar", "pie"}
    low, high = min(values), max(values)
    if bars or kind in {"area", "radar"}:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - 1, high + 1

    def up(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low), 1)

    shapes = _scale(low, high, up)
    longest = max(map(len, series))
    room = (_RIGHT - _LEFT) / longest
    for number, row in enumerate(series):
        middles = [round(_LEFT + room * (at + 0.5), 1) for at in range(len(row))]
        if bars:
            wide = room * 0.8 / len(series)
            for at, value in enumerate(row):
                x = round(_LEFT + room * (at + 0.1) + wide * number, 1)
                top, foot = sorted((up(value), up(0.0)))
                size = {"width": round(wide, 1), "height": round(max(foot - top, 0.5), 1)}
                shapes.append(_shape("rect", _tone(number), {"x": x, "y": top, **size}))
            continue
        points = [*zip(middles, map(up, row), strict=True)]
        if kind != "scatter" and len(points) > 1:
            line = " ".join(f"{x},{y}" for x, y in points)
            shapes.append(_shape("polyline", _tone(number), {"points": line}))
        shapes += [_shape("circle", _tone(number), {"cx": x, "cy": y, "r": 2.5}) for x, y in points]
    return shapes


def _scale(low: float, high: float, up: Any) -> list[Shape]:
    """Return lines with numbers at both ends of the axis, and at 0."""
    marks = {low, high, 0.0} if low < 0 < high else {low, high}
    shapes: list[Shape] = []
    for mark in sorted(marks):
        y = up(mark)
        shapes.append(_shape("line", "grid", {"x1": _LEFT, "x2": _RIGHT, "y1": y, "y2": y}))
        shapes.append(_shape("text", "tick", {"x": _LEFT - 6, "y": y + 4}, f"{mark:.6g}"))
    return shapes
