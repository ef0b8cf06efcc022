"""One source on its way into its folder: what is missing is fetched, checked and put in place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pytest_tablebench.datasets.files import PULL_RECORD, file_digest, inside
from pytest_tablebench.datasets.pull._archive import unpack
from pytest_tablebench.datasets.pull._hub import FileServer, Hub
from pytest_tablebench.datasets.pull._lock import Lock, Unwritable, read_lock, write_text
from pytest_tablebench.datasets.pull._modelscope import ModelScope
from pytest_tablebench.datasets.pull._replies import NotThere, Remote
from pytest_tablebench.datasets.pull._transfer import Transfer, part_of
from pytest_tablebench.datasets.pull._upstream import Upstream
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import counted

LICENCE_NAME = "LICENCE-upstream.txt"
ARCHIVE_NAME = ".tablebench-pull.tar.gz"
STAGING_NAME = ".tablebench-pull.unpacked"

Say = Callable[[str], None]


@dataclass
class SourcePull:
    """One source on its way into its folder."""

    upstream: Upstream
    folder: Path
    endpoint: str
    transfer: Transfer
    say: Say

    def run(self) -> None:
        lock = read_lock(self.folder, self.upstream)
        if lock is not None and lock.complete and self._intact(lock):
            (self.folder / ARCHIVE_NAME).unlink(missing_ok=True)
            self._tell(
                f"already there, {counted(len(lock.files), 'file')} as recorded ({self.folder})"
            )
            return
        if lock is None:
            lock = self._new_lock()
        self._adopt(lock)
        self._announce()
        if self.upstream.host == "github_archive":
            self._pull_archive(lock)
        else:
            self._pull_files(lock)
        lock.complete = True
        lock.write(self.folder)
        shown = f" at commit {lock.commit}" if lock.commit else ""
        self._tell(f"{counted(len(lock.files), 'file')} in {self.folder}{shown}")

    def _tell(self, text: str) -> None:
        self.say(f"{self.upstream.name}: {text}")

    def _new_lock(self) -> Lock:
        return Lock(
            source=self.upstream.home,
            revision=self.upstream.revision,
            pinned=self.upstream.pinned,
            licence=asdict(self.upstream.licence),
            endpoint=self.endpoint,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _intact(self, lock: Lock) -> bool:
        """Tell whether every recorded file is as recorded; name the ones that are not."""
        bad = [name for name in sorted(lock.files) if not self._is_recorded(lock, name)]
        for name in bad[:5]:
            exists = (self.folder / name).is_file()
            self._tell(f"{name} {'is not as recorded' if exists else 'is gone'}; fetched again")
        if len(bad) > 5:
            self._tell(f"and {counted(len(bad) - 5, 'more file')}")
        return not bad

    def _is_recorded(self, lock: Lock, name: str) -> bool:
        path = self.folder / name
        return name in lock.files and path.is_file() and file_digest(path) == lock.files[name]

    def _adopt(self, lock: Lock) -> None:
        """Record files that people put there themselves, where the source may not give them."""
        if not self.upstream.by_hand:
            return
        for file in self.upstream.files:
            path = inside(self.folder, file.target)
            if file.target not in lock.files and path.is_file():
                lock.files[file.target] = file_digest(path)
                lock.by_hand.append(file.target)
                self._tell(f"{file.target} was put there by hand; recorded as it is, not fetched")
        if lock.by_hand:
            lock.write(self.folder)

    def _announce(self) -> None:
        """Say what comes under which terms, and keep the terms beside the data."""
        upstream = self.upstream
        self._tell(f"from {upstream.home} at {upstream.revision}")
        if not upstream.home.startswith(self.endpoint):
            self._tell(f"asked of the server {self.endpoint}")
        self._tell(f"licence {upstream.licence.name}, {upstream.licence.address}")
        if not upstream.pinned:
            self._tell(
                f"warning: {upstream.revision!r} is a branch, not a fixed revision; others may "
                "get other files another day"
            )
        if not any(file.sha256 for file in upstream.files):
            self._tell(
                "checksums are not known beforehand: those of the first download are kept in "
                f"{PULL_RECORD}, and later downloads must have the same"
            )
        write_text(
            self.folder / LICENCE_NAME,
            f"Source: {upstream.home}\nRevision: {upstream.revision}\n"
            f"Licence, as stated there: {upstream.licence.name}\n"
            f"Text of the licence: {upstream.licence.address}\n",
        )

    # Single files

    def _pull_files(self, lock: Lock) -> None:
        kind = {"hub": Hub, "modelscope": ModelScope}.get(self.upstream.host, FileServer)
        server = kind(self.upstream, self.endpoint, self.transfer)
        for file in server.files(lock.commit or self.upstream.revision):
            name = file.target
            if self._is_recorded(lock, name) or self._finished_part(lock, name):
                continue
            target = inside(self.folder, name)
            try:
                facts = server.facts(file.path, lock.commit or self.upstream.revision)
                # The commit of the first file is that of all: a branch may move in between.
                lock.commit = lock.commit or facts.commit
                digest = self.transfer.fetch(facts.remote, target)
            except NotThere:
                if not file.optional:
                    raise
                self._tell(f"there is no {file.path} upstream; goes without")
                continue
            try:
                self._judge(lock, name, digest, [file.sha256, facts.sha256], facts.remote.url)
            except DataError:
                self.transfer.discard(target)
                raise
            # Recorded first: whatever happens next, this digest is the one that counts.
            lock.files[name] = digest
            lock.write(self.folder)
            self.transfer.settle(target)

    def _finished_part(self, lock: Lock, name: str) -> bool:
        """Put a part in place that was recorded just before an earlier pull ended."""
        target = self.folder / name
        part = part_of(target)
        if name not in lock.files or not part.is_file() or file_digest(part) != lock.files[name]:
            return False
        self.transfer.settle(target)
        return True

    def _judge(
        self, lock: Lock, name: str, digest: str, digests: Sequence[str | None], url: str
    ) -> None:
        """Raise `DataError` for bytes that are not what they must be."""
        path = self.folder / name
        for expected in digests:
            if expected is not None and digest != expected:
                raise DataError(
                    f"{path}: what came from {url} has SHA-256 {digest}, not {expected}; "
                    "it was thrown away"
                )
        recorded = lock.files.get(name)
        if recorded is not None and digest != recorded:
            raise DataError(
                f"{path}: what came from {url} has SHA-256 {digest}, but {recorded} was recorded "
                f"{lock.time}; it was thrown away. If upstream has changed and you want the new "
                f"files, move {self.folder} away and pull again"
            )
        if recorded is None and path.is_file() and file_digest(path) != digest:
            raise DataError(
                f"{path} was not put there by this command and differs from {url}; nothing was "
                f"changed. Move {self.folder} away and pull again"
            )

    # Archives

    def _pull_archive(self, lock: Lock) -> None:
        upstream = self.upstream
        url = f"{self.endpoint}/{upstream.repository}/archive/{upstream.revision}.tar.gz"
        archive, staging = self.folder / ARCHIVE_NAME, self.folder / STAGING_NAME
        self._fetch_archive(lock, url, archive)
        shutil.rmtree(staging, ignore_errors=True)
        self._tell("unpacking")
        try:
            try:
                names, commit = unpack(archive, upstream.files, staging)
            except Unwritable:
                raise  # the archive is not to blame, and need not be fetched again
            except DataError:
                archive.unlink(missing_ok=True)
                raise
            digests = {name: file_digest(staging / name) for name in names}
            self._judge_archive(lock, digests, archive, url)
            lock.files, lock.commit = digests, commit
            lock.write(self.folder)
            for parent in {(self.folder / name).parent for name in names}:
                parent.mkdir(parents=True, exist_ok=True)
            for name in names:
                (staging / name).replace(self.folder / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        # The record first: without the archive it would have to come again.
        lock.archive, lock.complete = None, True
        lock.write(self.folder)
        archive.unlink(missing_ok=True)

    def _fetch_archive(self, lock: Lock, url: str, archive: Path) -> None:
        """Download the archive, unless an earlier pull ended after it had come in whole."""
        if lock.archive and archive.is_file() and file_digest(archive) == lock.archive:
            return
        lock.archive = self.transfer.fetch(Remote(url), archive)
        lock.write(self.folder)
        self.transfer.settle(archive)

    def _judge_archive(self, lock: Lock, digests: dict[str, str], archive: Path, url: str) -> None:
        """Compare an archive's files, not its bytes: servers pack the same files differently."""
        expected = {file.path: file.sha256 for file in self.upstream.files}
        try:
            for name in sorted(lock.files.keys() - digests.keys()):
                raise DataError(
                    f"{self.folder / name}: recorded {lock.time}, but no longer in {url}; nothing "
                    f"was changed. If you want the new files, move {self.folder} away and pull "
                    "again"
                )
            for name, digest in digests.items():
                self._judge(lock, name, digest, [expected.get(name)], url)
        except DataError:
            archive.unlink(missing_ok=True)
            raise
