"""Cases whose conversations a prefetch window ends."""

from __future__ import annotations

from pytest_tablebench.datasets.case import Case
from pytest_tablebench.running._prefetch import PrefetchWindow
from pytest_tablebench.running.case import CaseRun


def completed(window: PrefetchWindow, case: Case, position: int | None = None) -> CaseRun:
    """Return a case after its conversation; `position` is its place in the plan."""
    run = window.case(case, position)
    window.complete(run)
    return run
