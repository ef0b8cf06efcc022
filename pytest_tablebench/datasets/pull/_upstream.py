"""Where a dataset lives upstream: address, revision, files, licence.

The SHA-256 of no file is known from elsewhere so far: `File.sha256` is None throughout, and the
digest of the first download is what later ones are held to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from pytest_tablebench.errors import DataError

Host = Literal["github", "github_archive", "hub", "modelscope"]

SERVERS = {
    "github": ("https://github.com", "TABLEBENCH_GITHUB_ENDPOINT"),
    "hub": ("https://huggingface.co", "HF_ENDPOINT"),
    "modelscope": ("https://www.modelscope.cn", "MODELSCOPE_ENDPOINT"),
}
"""The servers' addresses, and the environment variables that name others in their place."""


@dataclass(frozen=True)
class Licence:
    """A licence as the upstream project states it, and where its text is."""

    name: str
    address: str


MIT = Licence("MIT", "https://opensource.org/license/mit")
APACHE = Licence("Apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0")
CC_BY_SA = Licence("CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/")
CC_BY_NC = Licence(
    "CC BY-NC 4.0 (no commercial use)", "https://creativecommons.org/licenses/by-nc/4.0/"
)
CC_BY_NC_SA = Licence(
    "CC BY-NC-SA 4.0 (no commercial use)", "https://creativecommons.org/licenses/by-nc-sa/4.0/"
)


@dataclass(frozen=True)
class File:
    """A file, or a pattern that stands for several.

    Arguments:
        path: where it lies upstream; `*` stands for any part of one path component.
        local: where it goes inside the dataset's folder; empty for the same path, and one that
            ends in a stroke is the folder in which it has the same path.
        sha256: hexadecimal digest where it is known from a source other than the download.
        optional: whether the dataset can do without the file, should upstream not have it.
    """

    path: str
    local: str = ""
    sha256: str | None = None
    optional: bool = False

    @property
    def target(self) -> str:
        """The path inside the dataset's folder."""
        return self.local + self.path if self.local.endswith("/") else self.local or self.path


@dataclass(frozen=True)
class Upstream:
    """One source of files.

    Arguments:
        name: what people type, and the folder's name inside the data folder.
        host: `github`, `hub` (Hugging Face) and `modelscope` give single files,
            `github_archive` a tarball of the whole repository of which `files` are kept.
        repository: `owner/name`.
        revision: a commit where `pinned`, else a branch (`HEAD` is GitHub's name for the
            default branch).
        files: what is fetched; patterns are for archives and the hub.
        serves: the datasets that read these files: those that name it as their `upstream`.
        mirrors: where else the files are, asked where the source itself gives none of them.
        by_hand: how people get the files themselves where the source may not give them; files
            they put in place are then taken as they are.
    """

    name: str
    host: Host
    repository: str
    revision: str
    pinned: bool
    licence: Licence
    files: tuple[File, ...]
    serves: tuple[str, ...] = ()
    by_hand: str = ""
    mirrors: tuple[Upstream, ...] = ()

    @property
    def server(self) -> str:
        """The name of its server."""
        return self.host.removesuffix("_archive")

    @property
    def home(self) -> str:
        """The page of the source."""
        folder = "" if self.server == "github" else "/datasets"
        return f"{SERVERS[self.server][0]}{folder}/{self.repository}"


def is_pattern(path: str) -> bool:
    """Tell whether a path of the table stands for several files."""
    return "*" in path


def matches(path: str, pattern: str) -> bool:
    """Tell whether a path fits a pattern, component by component."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def chosen(upstream: Upstream, paths: Sequence[str], place: str) -> tuple[File, ...]:
    """Return the files of the table of sources, patterns replaced by what a listing has.

    Optional ones that it has not got are left out. Raises `DataError` naming `place` for others,
    and where nothing is left.
    """
    files: list[File] = []
    for file in upstream.files:
        matching = [path for path in sorted(paths) if matches(path, file.path)]
        if not matching and not file.optional:
            raise DataError(f"{place} has no {file.path}")
        files += [replace(file, path=path, optional=False) for path in matching]
    if not files:
        raise DataError(f"{place} has none of the files of {upstream.name}")
    return tuple(files)


def files_at(*paths: str, below: str = "") -> tuple[File, ...]:
    """Return the files at these paths, which stay as they are, in the folder `below/`."""
    return tuple(File(path, below) for path in paths)
