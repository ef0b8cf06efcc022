"""Pytest hooks of the comparison with stored answers (`results/snapshot_comparison.py`).

A changed answer changes no test's outcome and no exit code, except with
`--bench-snapshot-changes=fail`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.hooks._escaping import write_lines, write_title
from pytest_tablebench.hooks.keys import CASE_SESSION
from pytest_tablebench.reports.snapshots import change_kind, change_words, snapshots_report
from pytest_tablebench.results.message import CaseMessage
from pytest_tablebench.results.snapshot_comparison import FOLDER, SnapshotComparison
from pytest_tablebench.session.base import RunKeeper, Session, selected_by

_FAILURES: pytest.StashKey[SnapshotComparison] = pytest.StashKey()


def _comparison(session: Session) -> SnapshotComparison:
    # With defaults, so that this works without syrupy's plugin too.
    update, new_only = (
        bool(session.config.getoption(name, False))
        for name in ("--snapshot-update", "--snapshot-update-new-only")
    )
    root = session.config.rootpath
    return SnapshotComparison(root, session.settings, update=update, new_only=new_only)


def snapshot_failure(item: pytest.Item, message: CaseMessage) -> str | None:
    """Return why a changed answer fails its test; None if it is unchanged or new.

    The process that runs the test compares the answer; it writes nothing.
    """
    session, stash = item.config.stash[CASE_SESSION], item.config.stash
    if _FAILURES not in stash:
        stash[_FAILURES] = _comparison(session)
    comparison = stash[_FAILURES]
    change = comparison.take(item.nodeid, message) if comparison.fails_changes else None
    if change is None:
        return None
    version = session.settings.snapshot_of or "its snapshot"
    return (
        f"changed since {version}: {change_kind(change)}\n"
        f"snapshot: {change['file']}\n"
        f"got:      {change_words(change)}"
    )


class SnapshotHooks:
    """Compares answers with snapshots, in the process that keeps the run.

    Its report hook runs before that of `ReportingHooks`, which removes the message.
    `ReportingHooks` calls `finish`, so that `snapshots.json` exists when the page is written.
    Raises `SettingsError` if the comparison cannot work.
    """

    def __init__(self, session: RunKeeper) -> None:
        self._session = session
        dirname = session.config.getoption("--snapshot-dirname", "")
        if Path(str(dirname)).name == FOLDER:
            raise SettingsError(
                f"--snapshot-dirname: --bench-snapshot keeps answers in {FOLDER}, and syrupy "
                f"would report them as unused snapshots; choose another name"
            )
        self.comparison = _comparison(session)
        folder = self.comparison.folder
        if folder.exists() and not folder.is_dir():
            raise SettingsError(f"--bench-snapshot: {folder} is not a folder; move it away")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Compare the answer of a finished case with the stored one."""
        message: CaseMessage | None = report.__dict__.get("tablebench")
        if message is not None:
            self.comparison.take(report.nodeid, message)

    def finish(self, exit_code: int) -> Mapping[str, dict[str, Any]]:
        """Update the snapshots and write `snapshots.json`; return the comparison by model."""
        config, writer = self._session.config, self._session.run.writer
        is_selected = bool(selected_by(config) or config.getoption("markexpr", None))
        return self.comparison.finish(writer, exit_code, is_selected=is_selected)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """Show the report after the run's table."""
        yield
        document = snapshots_report(self.comparison)
        if document.blocks:
            write_title(terminalreporter, str(document.title))
            write_lines(terminalreporter, terminal_lines(document.blocks))
