"""The message that an item sends about its case to the process that writes the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pytest_tablebench.results.checks import Finding
from pytest_tablebench.results.record import Record, ScoreRow, row_values
from pytest_tablebench.util.entries import parsed_json


class AnswerCost(NamedTuple):
    """The cost of an answer, in tokens and USD; None if unknown."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True)
class MadeRecord:
    """A record that this process made; encoded when it is written or sent."""

    record: Record
    rank: tuple[int, ...]
    """The quality of the record; of several records the best is kept."""

    @cached_property
    def line(self) -> str:
        """The line of `records.jsonl`."""
        return self.record.to_line()

    @cached_property
    def row(self) -> ScoreRow:
        """The row of the score table."""
        return ScoreRow(*self.values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields of `row`, in order."""
        return row_values(self.record)


@dataclass(frozen=True)
class ReadRecord:
    """A record from another process or a file; decoded when it is needed."""

    line: str
    row: ScoreRow
    rank: tuple[int, ...]

    @cached_property
    def record(self) -> Record:
        """The record."""
        return Record.from_line(self.line)

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields of `row`, in order."""
        return row_values(self.row)


CaseRecord = MadeRecord | ReadRecord


@dataclass(frozen=True)
class CaseMessage:
    """The result of one item, with facts that the writing process may not have yet.

    Args:
        case_id: the id of the case.
        model: the name of the model.
        repeat: the number of the repeat, from 1.
        finding: the result of the test.
        record: the record of the case; None if the item could not make one.
        calls: the number of calls that were paid for.
        from_store: whether the answer is from the store.
        spent: the cost of the calls; None without an answer.
        prompt: digest and text of the prompt.
        transcript: digest and turns of the conversation after the prompt.
        example: key, question and tables of the example, if not sent before.
        facts: facts about data and plan, if new.
        problems: all unusable rows that the process skipped, if there are new ones.
        judged: the cost of each judge call.
        reasoning_tokens: tokens of thinking in the answer; None if unknown.
        is_extended: whether a reply was cut off and asked again with a higher limit.
        served: what answered, by the reply; None if unknown.
        stored_at: when the newest stored reply of the answer was written.
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
    served: str | None = None
    stored_at: str | None = None

    def encode(self) -> str:
        """Return the message as ASCII JSON, since xdist cannot send lone surrogates."""
        fields = {name: value for name, value in vars(self).items() if value is not None}
        if self.record is not None:
            record = self.record
            fields["record"] = [record.line, record.values, record.rank]
        return json.dumps(fields, default=str)

    @classmethod
    def decode(cls, text: str) -> CaseMessage:
        """Return the encoded message."""
        fields = parsed_json(text)
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
