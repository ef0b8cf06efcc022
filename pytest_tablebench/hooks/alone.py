"""Pytest hooks of a process that runs the tests itself and keeps the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.hooks.reporting import ReportingHooks

if TYPE_CHECKING:
    from pytest_tablebench.session.alone import Alone


class AloneReporting(ReportingHooks):
    """Registered where one process does all."""

    def __init__(self, config: pytest.Config, session: Alone) -> None:
        super().__init__(config, session)
        self._cases = session

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say how many cases are ahead, and what is wrong with the data."""
        if not self.session.is_used:
            return []
        from pytest_tablebench.reports.terminal import missing_lines

        cases = self._cases.cases
        if not cases.planned:
            self.is_missing_announced = True
            return missing_lines(cases.selection.missing)
        return self.announcement(sum(cases.planned.values()))

    def pytest_collection_finish(self) -> None:
        """Poll the engine while an item waits for its answer."""
        if self.session.is_used:
            self._cases.cases.runner.prefetch.on_wait = lambda _: self.look()
