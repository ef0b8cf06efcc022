"""Stash keys in pytest's config and items, and the name of the marker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_tablebench.running.case import CaseRun
    from pytest_tablebench.session.alone import Alone
    from pytest_tablebench.session.base import Session
    from pytest_tablebench.session.worker import Worker

MARKER = "tablebench"

SESSION: pytest.StashKey[Session] = pytest.StashKey()
"""The session of this process."""
CASE_SESSION: pytest.StashKey[Alone | Worker] = pytest.StashKey()
"""The session of a process that runs tests; not set in the controller."""
RUN: pytest.StashKey[CaseRun] = pytest.StashKey()
"""The case of an item."""
CALLED = pytest.StashKey[bool]()
"""Whether the test of an item has ended."""
HAS_MARKED = pytest.StashKey[bool]()
"""Whether a test with the marker was collected."""
