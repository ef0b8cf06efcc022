"""How far the run is, and who is waited for: one line, kept by the process that keeps the run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_tablebench.reports.progress_text import Progress
    from pytest_tablebench.results.writer import RunWriter

__all__ = ["ProgressLine"]

PERCENT = 8
"""Columns that pytest's own ` [100%]` needs behind the line, and one that stays empty."""


class ProgressLine:
    """The line of counts in the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._progress: Progress | None = None
        self._waiting = ""

    @property
    def _terminal(self) -> Any:
        return self._config.pluginmanager.getplugin("terminalreporter")

    @property
    def compact(self) -> bool:
        """Whether one live line stands for the usual letters."""
        return self._terminal is not None and self._config.get_verbosity() == 0

    @property
    def _live(self) -> bool:
        """Whether the line is written over itself."""
        terminal = self._terminal
        return bool(self.compact and terminal.isatty and terminal.hasmarkup)

    def show(self, writer: RunWriter) -> None:
        """Show how far the run is, if it is time to."""
        if not self.compact:
            return
        if self._progress is None:
            from pytest_tablebench.reports.progress_text import Progress

            self._progress = Progress()
        if self._progress.due(writer.done, _total(writer), live=self._live):
            self._write(writer, self._progress)

    def _write(self, writer: RunWriter, progress: Progress) -> None:
        terminal, total = self._terminal, _total(writer)
        line = progress.text(writer.counts, total, spent=writer.spent_text(), waiting=self._waiting)
        # `currentfspath` tells the reporter that something stands on the line; setting it
        # only where nothing does keeps file names from being written again.
        fresh = terminal.currentfspath is None
        if self._live:
            line = line[: max(1, terminal._tw.fullwidth - PERCENT)]  # a second line would stay
            # The reporter remembers a line until its end: end it, and go back up.
            back = "" if writer.done == total else "\n\x1b[1A"
            terminal.write(f"\r{line}\x1b[K{back}", flush=True)
        else:
            terminal.write(line if fresh else f"\n{line}", flush=True)
        if fresh:
            terminal.currentfspath = -2

    def tell_waits(self, writer: RunWriter, waits: Sequence[Mapping[str, Any]]) -> None:
        """Say who answers nothing at the moment, once for each time that changes."""
        if not waits and not self._waiting:
            return
        from pytest_tablebench.reports.progress_text import Progress, waiting_text

        text = waiting_text(waits)
        if text == self._waiting:
            return
        self._waiting = text
        if not text or self._terminal is None:
            return
        with self._uncaptured():
            if self._live:
                self._progress = self._progress or Progress()
                self._write(writer, self._progress)
            else:
                self._terminal.ensure_newline()
                self._terminal.write_line(f"{writer.done}/{_total(writer)} {text}", flush=True)

    @contextlib.contextmanager
    def _uncaptured(self) -> Iterator[None]:
        """Write to the terminal from within an item."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            yield


def _total(writer: RunWriter) -> int:
    return sum(writer.facts.get("cases", {}).values())
