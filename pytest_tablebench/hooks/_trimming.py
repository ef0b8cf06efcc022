"""Frees the memory of pytest's reports that are not shown."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.hooks.keys import MARKER

EVERY = 600
"""The number of reports between two trims."""


class ReportTrimmer:
    """Drops pytest's reports of cases that are not shown at the end.

    pytest keeps three reports of each item to the end, which take kilobytes, and shows only one.
    Without trimming, memory would grow with the number of cases.
    """

    def __init__(self, config: pytest.Config, *, worker: bool) -> None:
        self._config = config
        # The empty category has the reports of setup and teardown, which are not counted. The
        # controller keeps the reports of a worker's passed tests too.
        self._categories = ("", "passed") if worker else ("",)
        self._seen = 0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """Drop the reports at intervals, after all plugins have seen them."""
        self._seen += 1
        if self._seen % EVERY:
            return
        terminal: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if terminal is None or getattr(self._config.option, "durations", None) is not None:
            return
        for category in self._categories:
            kept = terminal.stats.get(category)
            if kept:
                kept[:] = [r for r in kept if MARKER not in getattr(r, "keywords", ())]
