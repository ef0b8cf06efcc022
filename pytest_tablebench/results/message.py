"""What one item tells of its case, from the process that ran it to the one that keeps the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from pytest_tablebench.results.checks import Finding
from pytest_tablebench.results.record import Record, ScoreRow, row_values


class AnswerCost(NamedTuple):
    """What the answer to a case has cost: tokens, and USD; None where that is unknown."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


class CaseRecord(Protocol):
    """The record that an item makes of its case. It is an object, a line, or both."""

    @property
    def record(self) -> Record:
        """The record."""

    @property
    def line(self) -> str:
        """Its line of `records.jsonl`."""

    @property
    def row(self) -> ScoreRow:
        """Its row of the score table."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields of `row`, in their order."""

    @property
    def rank(self) -> tuple[int, ...]:
        """How good the record is; the best one of several is kept."""


@dataclass(frozen=True)
class MadeRecord:
    """A record that was made in this process; encoded where it is written or sent."""

    record: Record
    rank: tuple[int, ...]

    @cached_property
    def line(self) -> str:
        """Its line of `records.jsonl`."""
        return self.record.to_line()

    @cached_property
    def row(self) -> ScoreRow:
        """Its row of the score table."""
        return ScoreRow(*self.values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields of `row`, in their order."""
        return row_values(self.record)


@dataclass(frozen=True)
class ReadRecord:
    """A record that came from another process or from a file; decoded where somebody asks."""

    line: str
    row: ScoreRow
    rank: tuple[int, ...]

    @cached_property
    def record(self) -> Record:
        """The record."""
        return Record.from_line(self.line)

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields of `row`, in their order."""
        return row_values(self.row)


@dataclass(frozen=True)
class CaseMessage:
    """What an item has found of its case, and what the keeping process may not know yet.

    Arguments:
        case_id: of the case.
        model: its name.
        repeat: the how-manieth time the case is asked, from 1.
        finding: what the test found.
        record: the record; None where nothing can be said of the case.
        calls: calls that were paid for.
        from_store: whether the answer was stored.
        spent: what was paid; None without an answer.
        prompt: digest and text of the prompt.
        transcript: digest of what was said behind the prompt, and its turns.
        example: key, question and tables of the example; told now and then.
        facts: what the process knows of data and plan; told where it is new.
        problems: all that the process has read past; told where there is more.
        judged: what each call of a judge has cost.
        reasoning_tokens: tokens of thinking in the answer; None when unknown.
        is_extended: whether a reply was cut off and asked for again with a higher limit.
    """

    case_id: str
    model: str
    repeat: int
    finding: Finding
    record: CaseRecord | None = None
    calls: int = 0
    from_store: bool = False
    spent: AnswerCost | None = None
    prompt: tuple[str, str] | None = None
    transcript: tuple[str, Sequence[Sequence[str]]] | None = None
    example: tuple[str, str, Sequence[Mapping[str, Any]]] | None = None
    facts: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    judged: tuple[AnswerCost, ...] = ()
    reasoning_tokens: int | None = None
    is_extended: bool = False

    def encode(self) -> str:
        """Return the message as ASCII JSON: xdist sends no lone surrogates."""
        fields = {name: value for name, value in vars(self).items() if value is not None}
        if self.record is not None:
            record = self.record
            fields["record"] = [record.line, record.values, record.rank]
        return json.dumps(fields, default=str)

    @classmethod
    def decode(cls, text: str) -> CaseMessage:
        """Return the message that was encoded."""
        fields = json.loads(text)
        fields["finding"] = Finding(*fields["finding"])
        fields["problems"] = tuple(fields["problems"])
        if "record" in fields:
            line, row, rank = fields["record"]
            fields["record"] = ReadRecord(line, ScoreRow(*row), tuple(rank))
        if "spent" in fields:
            fields["spent"] = AnswerCost(*fields["spent"])
        fields["judged"] = tuple(AnswerCost(*spent) for spent in fields["judged"])
        for name in ("prompt", "transcript", "example"):
            if name in fields:
                fields[name] = tuple(fields[name])
        return cls(**fields)
