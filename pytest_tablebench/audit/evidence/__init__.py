"""Reasons to doubt a gold answer besides the agreement of voters.

Each reason is one function in a module of this folder. It receives an example and the groups of
its answers, and yields `Evidence`. A new reason is one more function in `REASONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.evidence.absence import absence, number_absence
from pytest_tablebench.audit.evidence.broken_tables import broken_tables
from pytest_tablebench.audit.evidence.derivation import derivation
from pytest_tablebench.audit.evidence.other_golds import other_golds
from pytest_tablebench.audit.evidence.programs import programs
from pytest_tablebench.audit.evidence.totals import totals
from pytest_tablebench.audit.evidence.units import units
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence

Reason = Callable[[AuditedExample, Sequence[AnswerGroup]], Iterable[Evidence]]

REASONS: tuple[Reason, ...] = (
    programs,
    derivation,
    absence,
    number_absence,
    other_golds,
    units,
    totals,
    broken_tables,
)
"""All reasons, in the order of `EvidenceKind`."""

__all__ = ["REASONS", "Reason"]
