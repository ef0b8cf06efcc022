"""Fails tests of changed answers with syrupy's assertion, in the process that runs them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.hooks.keys import CASE_SESSION
from pytest_tablebench.results.snapshot_files import (
    SnapshotFile,
    SnapshotPlaces,
    amber_extension,
    answer_of,
)
from pytest_tablebench.results.snapshots import Entry, diff_line, excerpt, shorten, word_diff
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.results.message import CaseMessage

_CHECKS: pytest.StashKey[SnapshotChecks] = pytest.StashKey()


def check_snapshot(item: pytest.Item, message: CaseMessage) -> str | None:
    """Return why a changed answer fails its test; None if it is unchanged or new."""
    stash = item.config.stash
    if _CHECKS not in stash:
        stash[_CHECKS] = SnapshotChecks(item.config)
    return stash[_CHECKS].failure(item, message)


class SnapshotChecks:
    """The snapshots to compare with in this process, read-only."""

    def __init__(self, config: pytest.Config) -> None:
        new_only = bool(config.getoption("--snapshot-update-new-only", False))
        update = bool(config.getoption("--snapshot-update", False))
        self._records_changes = update and not new_only
        settings = config.stash[CASE_SESSION].settings
        self._places = SnapshotPlaces(config.rootpath, settings)
        self._version = settings.snapshot_of
        self._files: dict[tuple[str, str], SnapshotFile] = {}

    def failure(self, item: pytest.Item, message: CaseMessage) -> str | None:
        """Return the text of a failure, None without one."""
        answer = answer_of(message)
        if self._records_changes or answer is None:
            return None
        suite, _, test = item.nodeid.partition("::")
        key = suite, message.model
        if key not in self._files:
            self._files[key] = self._places.load(*key)
        file = self._files[key]
        name = self._places.entry_name(test, message)
        stored = file.stored.get(name)
        try:
            old = None if stored is None else Entry.decode(stored)
        except ValueError:  # a damaged entry: reported with its file at the end of the run
            old = None
        if old is None or _is_equal(item, file, name, answer):
            return None
        version = self._version or "its snapshot"
        return _failure_text(version, file, old, answer)


def _is_equal(item: pytest.Item, file: SnapshotFile, name: str, answer: Entry) -> bool:
    """Return whether syrupy's assertion accepts an answer."""
    from syrupy.assertion import SnapshotAssertion
    from syrupy.location import PyTestLocation

    snapshot = SnapshotAssertion(
        session=_session_type()(item.session, file.stored),
        extension_class=amber_extension(),
        test_location=PyTestLocation(item),
        update_snapshots=False,
    )
    return bool(snapshot(name=name) == answer.encode())


@cache
def _session_type() -> Any:
    """Return a syrupy session class over one file in memory.

    It is separate from the session of syrupy's plugin, which would report answers of deselected
    cases as unused, and remove them with --snapshot-update.
    """
    from syrupy.session import SnapshotSession as Base

    class AnswerSession(Base):
        def __init__(self, session: pytest.Session, stored: dict[str, str]) -> None:
            super().__init__(session)
            self._stored = stored

        def register_request(self, assertion: Any) -> None:
            """Search for no other snapshots."""

        def recall_snapshot(self, *where: Any) -> str | None:
            _, _, index = where
            return self._stored.get(str(index))

    return AnswerSession


def _failure_text(version: str, file: SnapshotFile, old: Entry, new: Entry) -> str:
    """Return three printable lines: the kind of change, the snapshot's file, and the diff."""
    kind = "reworded" if old.verdict == new.verdict else f"{old.verdict} -> {new.verdict}"
    shown = excerpt(old.text, new.text, 600)
    parts = shorten(word_diff(shown.old, shown.new))
    return (
        f"changed since {printable(version, 100)}: {kind}\n"
        f"snapshot: {printable(file.path.name, 200)}\n"
        f"got:      {''.join(map(diff_line, parts))}"
    )
