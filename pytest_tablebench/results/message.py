"""The message of an item about its case, and the findings of several tests over a case.

Every test over a case yields a finding, and so does each rerun. Findings may arrive from several
processes in any order; the result is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from pytest_tablebench.results.record import ASSERTION, Outcome, Record, ScoreRow, row_values
from pytest_tablebench.util.entries import parsed_json

Place = tuple[int, int]


class Finding(NamedTuple):
    """The result of one test over a case.

    Args:
        item: the id of the item; the finding of a rerun replaces the earlier one.
        check: the name of the test.
        passed: None if the test was skipped, or failed because there is no answer.
        failed: whether pytest counts it as a failure or an error.
        broken: whether it failed without an answer, but for another reason.
        last: whether no rerun follows.
    """

    item: str
    check: str
    passed: bool | None
    failed: bool = False
    broken: bool = False
    last: bool = True


def join_checks(findings: Iterable[Finding]) -> dict[str, bool | None]:
    """Return the verdict of each test, sorted by name.

    A test passed if all its items over the case passed. It is None if no item failed and one had
    no answer. A test that was only skipped is left out.
    """
    items: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.passed is not None or finding.failed:
            items.setdefault(finding.check, []).append(finding)
    return {name: _joined(items[name]) for name in sorted(items)}


def _joined(findings: list[Finding]) -> bool | None:
    verdicts = {finding.passed for finding in findings}
    return False if False in verdicts else None if None in verdicts else True


def with_checks(record: Record, checks: Mapping[str, bool | None]) -> Record:
    """Return a record with other checks.

    A case without a metric is right unless a test failed.
    """
    record = replace(record, checks=dict(checks))
    if record.metric != ASSERTION or record.score is None:
        return record
    right = False not in checks.values()
    outcome: Outcome = "right" if right else "wrong"
    return replace(record, outcome=outcome, passed=right, score=float(right))


@dataclass(slots=True)
class JoinedCase:
    """The findings of one case so far, and the place of its record in the file.

    `rank` and `record_item` belong to the finding whose record was kept.
    """

    findings: dict[str, Finding] = field(default_factory=dict)
    rank: tuple[int, ...] | None = None
    record_item: str = ""
    place: Place | None = None
    from_store: bool = False
    stored_at: str | None = None
    reasoning_tokens: int | None = None
    is_extended: bool = False
    served: str | None = None

    def add(self, finding: Finding, rank: tuple[int, ...] | None) -> bool:
        """Add a finding; return whether its record replaces the current one.

        `rank` is the quality of its record, None without one: a record with an answer is better
        than one without, a paid one better than a stored one, then the first in the order of
        items. A rerun always replaces its own record.
        """
        self.findings[finding.item] = finding
        if rank is None:
            return False
        if self.rank is not None and finding.item != self.record_item and rank <= self.rank:
            return False
        self.rank, self.record_item = rank, finding.item
        return True

    @property
    def checks(self) -> dict[str, bool | None]:
        """The verdict of each test."""
        return join_checks(self.findings.values())

    @property
    def finished(self) -> int:
        """The number of finished items."""
        return sum(finding.last for finding in self.findings.values())

    def unseen(self, *, right: bool, gated: frozenset[str]) -> list[str]:
        """Return the tests whose failures neither the record nor their own gate counts.

        `right` is whether the record is right or missing, `gated` are the tests with a gate.
        """
        return [
            finding.check
            for finding in self.findings.values()
            if finding.failed
            and (right or finding.broken)
            and not (finding.passed is False and finding.check in gated)
        ]


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
        return ScoreRow(*row_values(self.record))


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


CaseRecord = MadeRecord | ReadRecord


@dataclass(frozen=True)
class CaseMessage:
    """The result of one item, with facts that the writing process may not have yet.

    Args:
        record: the record of the case; None if the item could not make one.
        calls: the number of calls that were paid for.
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
            fields["record"] = [record.line, row_values(record.row), record.rank]
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
