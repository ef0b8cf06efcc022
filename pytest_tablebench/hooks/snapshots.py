"""Pytest hooks of the comparison with stored answers (`results/snapshot_comparison.py`).

A changed answer changes no test's outcome and no exit code, except with
`--bench-snapshot-changes=fail` (`snapshot_checks.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.snapshot_text import change_parts, change_title, counts_line
from pytest_tablebench.results.snapshot_comparison import SnapshotComparison
from pytest_tablebench.results.snapshot_files import FOLDER, SnapshotPlaces
from pytest_tablebench.results.snapshots import diff_line
from pytest_tablebench.session.base import selected_by
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.session.base import RunKeeper

SHOWN = 10
"""The maximum number of changes in the terminal; `snapshots.json` has all."""

_COLORS = {"-": {"red": True}, "+": {"green": True}, "=": {}}


class SnapshotHooks:
    """Compares answers with snapshots, in the process that keeps the run.

    Its report hook runs before that of `ReportingHooks`, which removes the message.
    `ReportingHooks` calls `finish`, so that `snapshots.json` exists when the page is written.
    Raises `SettingsError` if the comparison cannot work.
    """

    def __init__(self, session: RunKeeper) -> None:
        config = session.config
        self._session = session
        dirname = config.getoption("--snapshot-dirname", "")
        if Path(str(dirname)).name == FOLDER:
            raise SettingsError(
                f"--snapshot-dirname: --bench-snapshot keeps answers in {FOLDER}, and syrupy "
                f"would report them as unused snapshots; choose another name"
            )
        self.comparison = SnapshotComparison(
            SnapshotPlaces(config.rootpath, session.settings),
            session.settings,
            # With a default, so that this works without syrupy's plugin too.
            update=bool(config.getoption("--snapshot-update", False)),
            new_only=bool(config.getoption("--snapshot-update-new-only", False)),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Compare the answer of a finished case with the stored one."""
        message: CaseMessage | None = report.__dict__.get("tablebench")
        if message is not None:
            suite, _, test = report.nodeid.partition("::")
            self.comparison.take(suite, test, message)

    def finish(self, exit_code: int) -> Mapping[str, dict[str, Any]]:
        """Update the snapshots and write `snapshots.json`; return the comparison by model."""
        config, writer = self._session.config, self._session.run.writer
        is_selected = bool(selected_by(config) or config.getoption("markexpr", None))
        return self.comparison.finish(writer, exit_code, is_selected=is_selected)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """Show the counts and the first changes, after the run's table."""
        yield
        comparison = self.comparison
        if not comparison.models:
            return
        terminalreporter.write_sep("=", "tablebench: snapshots of answers")
        left = SHOWN
        for model in comparison.models:
            data = comparison.data(model)
            terminalreporter.write_line(counts_line(comparison, model, data))
            changes = data["changes"]
            for change in changes[:left]:
                _write_change(terminalreporter, change)
            more = len(changes) - left
            left = max(0, left - len(changes))
            if more > 0:
                terminalreporter.write_line(
                    f"not shown: {more} more changed; all are in snapshots.json"
                )
        for problem in dict.fromkeys(comparison.problems):
            terminalreporter.write_line(printable(problem), red=True)


def _write_change(terminal: Any, change: Mapping[str, Any]) -> None:
    terminal.write_line(change_title(change), bold=True)
    if parts := change_parts(change):
        terminal.write("  ")
        for part in parts:
            terminal.write(diff_line(part), **_COLORS[part[0]])
        terminal.line("")
