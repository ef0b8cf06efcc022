"""Replays of judged replies: whether our verdict contradicts the one of a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_tablebench import Table, score
from pytest_tablebench.datasets.folder._answers import answer_context

from .replay import Record, replays, summarizes

_MOST_UNCLEAR = 0.08
_ALLOWED = {
    "right": {"right"},
    "wrong": {"wrong"},
    "not right": {"wrong"},
    "not wrong": {"right"},
}


def verdict_on(record: Record) -> str:
    """Return our verdict on the reply of a record: right, wrong or unclear."""
    tables = [Table(record["table"][0], record["table"][1:])] if "table" in record else []
    settings = dict(record["settings"])
    stated = {name: settings.pop(name, None) for name in ("metric", "tolerance", "unit")}
    context: dict[str, Any] = answer_context(tables, record["answers"], **stated)
    context |= {**settings, **{f"table {n}": table for n, table in enumerate(tables, 1)}}
    scored = score("typed_answer", record["reply"], record["answers"], **context)
    return "unclear" if scored.unclear else "right" if scored.value == 1 else "wrong"


@replays("verdict")
def replay_verdict(record: Record) -> Iterator[str]:
    """Yield a contradiction; an unclear reply contradicts nothing."""
    verdict = verdict_on(record)
    if verdict not in {"unclear", *_ALLOWED[record["verdict"]]}:
        yield f"{record['reply']!r} is {verdict} instead of {record['verdict']}: {record['why']}"


@summarizes("verdict")
def count_unclear(records: Sequence[Record]) -> tuple[str, Iterable[str]]:
    """Return the number of unclear replies, and a difference if there are too many."""
    count = sum(verdict_on(record) == "unclear" for record in records)
    too_many = count > _MOST_UNCLEAR * len(records)
    differing = [f"more than {_MOST_UNCLEAR:.0%} of the replies are unclear"] if too_many else []
    return f"{count} unclear", differing
