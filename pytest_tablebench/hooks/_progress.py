"""Lines of progress in the terminal: finished cases, and providers that do not answer."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.reports.progress import Progress
    from pytest_tablebench.results.writer import RunWriter


class ProgressLine:
    """Writes a line of counts at intervals, instead of pytest's letters."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._waiting = ""

    @cached_property
    def _progress(self) -> Progress:
        from pytest_tablebench.reports.progress import Progress

        return Progress()

    @property
    def terminal(self) -> Any:
        """Pytest's terminal reporter; None without one."""
        return self._config.pluginmanager.getplugin("terminalreporter")

    @property
    def compact(self) -> bool:
        """Whether lines of counts replace the usual letters."""
        return self.terminal is not None and self._config.get_verbosity() == 0

    def show(self, writer: RunWriter) -> None:
        """Write the next line, if it is due."""
        total = _total(writer)
        if not self.compact or not self._progress.due(writer.done, total):
            return
        terminal, spent = self.terminal, writer.spent_text()
        line = printable(
            self._progress.text(writer.counts, total, spent=spent, waiting=self._waiting)
        )
        # `currentfspath` marks the current line as used. Set it only on a fresh line, or the
        # reporter writes file names again.
        is_fresh = terminal.currentfspath is None
        terminal.write(line if is_fresh else f"\n{line}", flush=True)
        if is_fresh:
            terminal.currentfspath = -2

    def show_waits(self, writer: RunWriter, waits: Sequence[Mapping[str, Any]]) -> None:
        """Write which providers do not answer, when that changes."""
        if not waits and not self._waiting:
            return
        from pytest_tablebench.reports.progress import waiting_text

        text = waiting_text(waits)
        if text == self._waiting:
            return
        self._waiting = text
        terminal = self.terminal
        if not text or terminal is None:
            return
        capture = self._config.pluginmanager.getplugin("capturemanager")
        # An item may be running, whose output pytest captures.
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            terminal.ensure_newline()
            terminal.write_line(printable(f"{writer.done}/{_total(writer)} {text}"), flush=True)


def _total(writer: RunWriter) -> int:
    return sum(writer.facts.get("cases", {}).values())
