"""Replays of judged replies: whether our verdict contradicts the one of a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_tablebench.running.judged_replies import verdict_of

from .replay import Record, replays, summarizes

_MOST_UNCLEAR = 0.08
_ALLOWED = {
    "right": {"right"},
    "wrong": {"wrong"},
    "not right": {"wrong"},
    "not wrong": {"right"},
}


@replays("verdict")
def replay_verdict(record: Record) -> Iterator[str]:
    """Yield a contradiction; an unclear reply contradicts nothing."""
    _, verdict = verdict_of(record)
    if verdict not in {"unclear", *_ALLOWED[record["verdict"]]}:
        yield f"{record['reply']!r} is {verdict} instead of {record['verdict']}: {record['why']}"


@summarizes("verdict")
def count_unclear(records: Sequence[Record]) -> tuple[str, Iterable[str]]:
    """Return the number of unclear replies, and a difference if there are too many."""
    count = sum(verdict_of(record)[1] == "unclear" for record in records)
    too_many = count > _MOST_UNCLEAR * len(records)
    differing = [f"more than {_MOST_UNCLEAR:.0%} of the replies are unclear"] if too_many else []
    return f"{count} unclear", differing
