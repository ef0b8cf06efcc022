"""Keys under which pytest's config and items hold what is ours, and the name of our marker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_tablebench.running.case_run import CaseRun
    from pytest_tablebench.session.alone import Alone
    from pytest_tablebench.session.base import Session
    from pytest_tablebench.session.worker import Worker

MARKER = "tablebench"

SESSION: pytest.StashKey[Session] = pytest.StashKey()
"""What this process has of ours."""
CASE_SESSION: pytest.StashKey[Alone | Worker] = pytest.StashKey()
"""The same, in a process that collects and runs tests: all but the controller of workers."""
RUN: pytest.StashKey[CaseRun] = pytest.StashKey()
"""Of an item: its case."""
CALLED = pytest.StashKey[bool]()
"""Of an item: set when its test has run to its end."""
