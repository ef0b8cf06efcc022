"""Letting go of pytest's reports that nobody will look at."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.hooks.keys import MARKER

EVERY = 600
"""Reports after which those in vain are dropped."""


class ReportTrimmer:
    """Drops what pytest keeps of cases that ran without incident.

    It keeps three reports of each item to the end, kilobytes of them, with only one of the three
    on its lists of outcomes: the memory of a run would grow with the number of its cases.

    Arguments:
        config: of the session.
        worker: whether an xdist worker runs here: what it lists, the controller lists again.
    """

    def __init__(self, config: pytest.Config, *, worker: bool) -> None:
        self._config = config
        # Nothing counts the reports of set-up and tear-down, the empty category.
        self._categories = ("", "passed") if worker else ("",)
        self._seen = 0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """Drop them now and then, after all plugins have seen them."""
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
