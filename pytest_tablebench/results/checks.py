"""Join the findings of several tests over a case into one record.

Every test over a case yields a finding, and so does each rerun. Findings may arrive from several
processes in any order; the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytest_tablebench.results.record import ASSERTION, Outcome, Record

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
