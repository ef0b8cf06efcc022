"""What one item tells of its case, from the process that ran it to the one that keeps the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_tablebench.results.checks import Finding
from pytest_tablebench.results.record import Outcome, ScoreRow, row_values

__all__ = ["AnswerCost", "CaseMessage", "EncodedRecord"]


class AnswerCost(NamedTuple):
    """What the answer to a case has cost: tokens, and USD; None where that is unknown."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True)
class EncodedRecord:
    """The record that an item makes of its case, as it travels between processes.

    Arguments:
        line: of `records.jsonl`.
        row: its small part.
        outcome: as people are shown it.
        rank: how good the record is; the best one of several is kept.
    """

    line: str
    row: ScoreRow
    outcome: Outcome
    rank: tuple[int, ...]


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
    record: EncodedRecord | None = None
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
            fields["record"] = vars(self.record) | {"row": row_values(self.record.row)}
        return json.dumps(fields, default=str)

    @classmethod
    def decode(cls, text: str) -> CaseMessage:
        """Return the message that was encoded."""
        fields = json.loads(text)
        fields["finding"] = Finding(*fields["finding"])
        fields["problems"] = tuple(fields["problems"])
        if "record" in fields:
            record = fields["record"]
            row, rank = ScoreRow(*record["row"]), tuple(record["rank"])
            fields["record"] = EncodedRecord(record["line"], row, record["outcome"], rank)
        if "spent" in fields:
            fields["spent"] = AnswerCost(*fields["spent"])
        fields["judged"] = tuple(AnswerCost(*spent) for spent in fields["judged"])
        for name in ("prompt", "transcript", "example"):
            if name in fields:
                fields[name] = tuple(fields[name])
        return cls(**fields)
