"""The command `tablebench pull`: fetch missing files, check them, move them into place."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets.files import PULL_RECORD, file_digest, inside
from pytest_tablebench.datasets.pull._files import (
    Lock,
    Unwritable,
    busy,
    os_error,
    read_lock,
    recorded_source,
    unpack,
    write_text,
)
from pytest_tablebench.datasets.pull._servers import FileServer, Hub, ModelScope
from pytest_tablebench.datasets.pull._transfer import (
    NoAccess,
    NotThere,
    Remote,
    Transfer,
)
from pytest_tablebench.datasets.pull._upstream import SERVERS, Upstream
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.names import counted, shortened, unknown_name

LICENCE_NAME = "LICENCE-upstream.txt"
ARCHIVE_NAME = ".tablebench-pull.tar.gz"
STAGING_NAME = ".tablebench-pull.unpacked"

Say = Callable[[str], None]


@dataclass
class SourcePull:
    """The pull of one source into its folder."""

    upstream: Upstream
    folder: Path
    endpoint: str
    transfer: Transfer
    say: Say

    def run(self) -> None:
        """Fetch the missing files, and record their digests."""
        lock = read_lock(self.folder, self.upstream)
        if lock is not None and lock.complete and self._intact(lock):
            (self.folder / ARCHIVE_NAME).unlink(missing_ok=True)
            self._say(
                f"already there, {counted(len(lock.files), 'file')} as recorded ({self.folder})"
            )
            return
        if lock is None:
            lock = Lock(
                source=self.upstream.home,
                revision=self.upstream.revision,
                pinned=self.upstream.pinned,
                licence=asdict(self.upstream.licence),
                endpoint=self.endpoint,
                time=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        self._record_manual_files(lock)
        self._announce()
        if self.upstream.host == "github_archive":
            self._pull_archive(lock)
        else:
            self._pull_files(lock)
        lock.complete = True
        lock.write(self.folder)
        revision = f" at commit {lock.commit}" if lock.commit else ""
        self._say(f"{counted(len(lock.files), 'file')} in {self.folder}{revision}")

    def _say(self, text: str) -> None:
        self.say(f"{self.upstream.name}: {text}")

    def _intact(self, lock: Lock) -> bool:
        """Return whether all recorded files are unchanged; print the names of others."""
        bad = [name for name in sorted(lock.files) if not self._is_recorded(lock, name)]
        for name in bad[:5]:
            exists = (self.folder / name).is_file()
            self._say(f"{name} {'has changed' if exists else 'is missing'}; fetching it again")
        if len(bad) > 5:
            self._say(f"and {counted(len(bad) - 5, 'more file')}")
        return not bad

    def _is_recorded(self, lock: Lock, name: str) -> bool:
        path = self.folder / name
        return name in lock.files and path.is_file() and file_digest(path) == lock.files[name]

    def _record_manual_files(self, lock: Lock) -> None:
        """Record files that users put in place themselves, if the source allows that."""
        if not self.upstream.by_hand:
            return
        for file in self.upstream.files:
            path = inside(self.folder, file.target)
            if file.target not in lock.files and path.is_file():
                lock.files[file.target] = file_digest(path)
                lock.by_hand.append(file.target)
                self._say(f"{file.target} was put there by hand; recorded as it is, not fetched")
        if lock.by_hand:
            lock.write(self.folder)

    def _announce(self) -> None:
        """Print the source and its licence, and write the licence into the folder."""
        upstream = self.upstream
        self._say(f"from {upstream.home} at {upstream.revision}")
        if not upstream.home.startswith(self.endpoint):
            self._say(f"requested from the server {self.endpoint}")
        self._say(f"licence {upstream.licence.name}, {upstream.licence.address}")
        if not upstream.pinned:
            self._say(
                f"warning: {upstream.revision!r} is a branch, not a fixed revision; others may "
                "get other files another day"
            )
        if not any(file.sha256 for file in upstream.files):
            self._say(
                "the source publishes no checksums: the checksums of the first download are "
                f"recorded in {PULL_RECORD}, and later downloads must have the same"
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
        # All files come from one commit: a branch may move between two calls.
        revision = lock.commit or self.upstream.revision
        server = kind(self.upstream, self.endpoint, self.transfer, revision)
        for file in server.files():
            name = file.target
            if self._is_recorded(lock, name):
                continue
            target = inside(self.folder, name)
            try:
                remote = server.remote(file.path)
                lock.commit = lock.commit or remote.commit
                digest = self.transfer.fetch(remote, target)
            except NotThere:
                if not file.optional:
                    raise
                self._say(f"{file.path} does not exist upstream; continuing without it")
                continue
            try:
                self._check(lock, name, digest, [file.sha256, remote.sha256], remote.url)
            except DataError:
                self.transfer.discard(target)
                raise
            # The record comes first, so that this digest is binding if the process ends here.
            lock.files[name] = digest
            lock.write(self.folder)
            self.transfer.settle(target)

    def _check(
        self, lock: Lock, name: str, digest: str, digests: Sequence[str | None], url: str
    ) -> None:
        """Raise `DataError` if a file's digest differs from a stated or a recorded one."""
        path = self.folder / name
        for expected in digests:
            if expected is not None and digest != expected:
                raise DataError(
                    f"{path}: the download from {url} has SHA-256 {digest}, not {expected}; "
                    "it was discarded"
                )
        recorded = lock.files.get(name)
        if recorded is not None and digest != recorded:
            raise DataError(
                f"{path}: the download from {url} has SHA-256 {digest}, but {recorded} was "
                f"recorded {lock.time}; it was discarded. If upstream has changed and you want "
                f"the new files, move {self.folder} away and pull again"
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
        self._say("unpacking")
        try:
            try:
                names, commit = unpack(archive, upstream.files, staging)
            except Unwritable:
                raise  # keep the archive, which is not the cause
            except DataError:
                archive.unlink(missing_ok=True)
                raise
            digests = {name: file_digest(staging / name) for name in names}
            self._check_archive(lock, digests, archive, url)
            lock.files, lock.commit = digests, commit
            lock.write(self.folder)
            for parent in {(self.folder / name).parent for name in names}:
                parent.mkdir(parents=True, exist_ok=True)
            for name in names:
                (staging / name).replace(self.folder / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        # The record comes first: if the process ended between, the archive would be fetched again.
        lock.archive, lock.complete = None, True
        lock.write(self.folder)
        archive.unlink(missing_ok=True)

    def _fetch_archive(self, lock: Lock, url: str, archive: Path) -> None:
        """Download the archive, unless an earlier pull has completed the download."""
        if lock.archive and archive.is_file() and file_digest(archive) == lock.archive:
            return
        lock.archive = self.transfer.fetch(Remote(url), archive)
        lock.write(self.folder)
        self.transfer.settle(archive)

    def _check_archive(self, lock: Lock, digests: dict[str, str], archive: Path, url: str) -> None:
        """Check an archive's files, not its bytes: servers pack the same files differently."""
        expected = {file.path: file.sha256 for file in self.upstream.files}
        try:
            for name in sorted(lock.files.keys() - digests.keys()):
                raise DataError(
                    f"{self.folder / name}: recorded {lock.time}, but no longer in {url}; nothing "
                    f"was changed. If you want the new files, move {self.folder} away and pull "
                    "again"
                )
            for name, digest in digests.items():
                self._check(lock, name, digest, [expected.get(name)], url)
        except DataError:
            archive.unlink(missing_ok=True)
            raise


def known_sources(datasets: Iterable[Dataset]) -> dict[str, Upstream]:
    """Return the sources that datasets name, by the source's name."""
    upstreams: dict[str, Upstream] = {}
    for dataset in datasets:
        source = dataset.upstream
        if source is not None:
            others = upstreams.get(source.name, source).serves
            upstreams[source.name] = replace(source, serves=(*others, dataset.name))
    return upstreams


def sources(names: Iterable[str], upstreams: Mapping[str, Upstream]) -> tuple[Upstream, ...]:
    """Return the sources of datasets, each once; `names` are datasets or sources.

    `upstreams` contains all sources by name. Raises `SettingsError`, with the nearest names, for an
    unknown name.
    """
    by_name = {
        name: source for source in upstreams.values() for name in (source.name, *source.serves)
    }
    chosen: dict[str, Upstream] = {}
    for name in names:
        if name not in by_name:
            raise SettingsError(unknown_name("dataset to pull", name, by_name))
        chosen[by_name[name].name] = by_name[name]
    return tuple(chosen.values())


def pull(
    names: Sequence[str],
    data: Path,
    *,
    say: Say,
    upstreams: Mapping[str, Upstream],
    sleep: Callable[[float], None] = time.sleep,
    bar: bool | None = None,
) -> None:
    """Fetch the missing files of some datasets into `data/<source>/`.

    Arguments:
        names: datasets or sources.
        data: the data folder; created if missing.
        say: shows a line of text.
        upstreams: see `sources`.
        sleep: waits between attempts.
        bar: whether to draw progress bars; None draws them on a terminal.

    Raises `SettingsError` for an unknown name before it fetches anything. Raises `DataError` if a
    source failed, after it tried the others.
    """
    chosen = sources(names, upstreams)
    endpoints = {name: _endpoint(*default) for name, default in SERVERS.items()}
    failures: list[str] = []
    transfer = Transfer(sleep, bar)
    for upstream in chosen:
        folder = data / upstream.name
        pulls = [
            SourcePull(source, folder, endpoints[source.server], transfer, say)
            for source in (upstream, *upstream.mirrors)
        ]
        try:
            with busy(folder):
                _pull_first(pulls, folder, say)
        except (NoAccess, NotThere) as error:
            hint = f"; {upstream.by_hand.format(folder=folder)}" if upstream.by_hand else ""
            failures.append(f"{upstream.name}: {error}{hint}")
        except DataError as error:
            failures.append(f"{upstream.name}: {error}")
        except OSError as error:
            failures.append(f"{upstream.name}: {os_error(folder, error)}")
    if failures:
        raise DataError(" | ".join(failures))


def _pull_first(pulls: Sequence[SourcePull], folder: Path, say: Say) -> None:
    """Pull from the first source that serves any file: the source itself or a mirror.

    A folder that has files of one of them continues with it. Raises the error of the last one.
    """
    begun = recorded_source(folder)
    if begun is not None:
        pulls = [source for source in pulls if source.upstream.home == begun] or pulls[:1]
    for source in pulls:
        try:
            source.run()
        except DataError as error:
            is_last = source is pulls[-1]
            if is_last or isinstance(error, Unwritable) or recorded_source(folder) is not None:
                raise
            say(f"{source.upstream.name}: {error}; trying another source")
        else:
            return


def _endpoint(default: str, variable: str) -> str:
    address = (os.environ.get(variable) or default).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise SettingsError(
            f"{variable} takes an address such as {default}, not {shortened(address, 80)!r}"
        )
    return address
