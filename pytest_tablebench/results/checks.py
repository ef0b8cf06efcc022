"""One record of each case, out of what several tests find of it.

Every test over a case, and each attempt of one that runs again, yields a finding. They may come
from several processes and in any order; joined they are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytest_tablebench.results.record import ASSERTION, Outcome, Record

Place = tuple[int, int]


class Finding(NamedTuple):
    """What one test found of a case (a tuple: it travels between processes).

    Arguments:
        item: names the item in the run; a further attempt of it replaces what it found.
        check: the name of its test.
        passed: None where it was skipped, or failed because there is no answer.
        failed: whether pytest counts it as a failure or an error.
        broken: whether it failed without an answer, for a reason of its own.
        last: whether no further attempt follows.
    """

    item: str
    check: str
    passed: bool | None
    failed: bool = False
    broken: bool = False
    last: bool = True


def join_checks(findings: Iterable[Finding]) -> dict[str, bool | None]:
    """Return what is known of each test, by name, in the order of names.

    A test passed where all its items over the case did. Where none failed, but one could not
    tell for want of an answer, nobody knows; a test that was only skipped is left out.
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
    """Return a record with other checks, and what follows from them.

    That is nothing where a metric scored the answer; else it is right unless a test failed.
    """
    record = replace(record, checks=dict(checks))
    if record.metric != ASSERTION or record.score is None:
        return record
    right = False not in checks.values()
    outcome: Outcome = "right" if right else "wrong"
    return replace(record, outcome=outcome, passed=right, score=float(right))


@dataclass(slots=True)
class JoinedCase:
    """The findings of one case so far, and where its record stands in the file.

    `rank` and `record_item` are of the finding that the record was made with.
    """

    findings: dict[str, Finding] = field(default_factory=dict)
    rank: tuple[int, ...] | None = None
    record_item: str = ""
    place: Place | None = None
    from_store: bool = False
    reasoning_tokens: int | None = None
    is_extended: bool = False

    def add(self, finding: Finding, rank: tuple[int, ...] | None) -> bool:
        """Add a finding; return whether the record that comes with it is the better one.

        `rank` tells how good that record is, None where there is none: one with an answer comes
        before one without, one that was paid for before one from the store, then the first in
        the order of items. A further attempt replaces its own record, whatever that was.
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
        """What is known of each test."""
        return join_checks(self.findings.values())

    @property
    def finished(self) -> int:
        """How many items have found what they will find."""
        return sum(finding.last for finding in self.findings.values())

    def unseen(self, *, right: bool, gated: frozenset[str]) -> list[str]:
        """Return the tests whose failures neither the record nor a gate of their own counts.

        `right` tells whether the record is right (or there is none), `gated` names the tests
        with a gate of their own.
        """
        return [
            finding.check
            for finding in self.findings.values()
            if finding.failed
            and (right or finding.broken)
            and not (finding.passed is False and finding.check in gated)
        ]
