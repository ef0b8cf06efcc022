"""Upstream sources of datasets: address, revision, files, licence.

So far no source publishes digests: `File.sha256` is always None, and later downloads must equal
the first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from pytest_tablebench.errors import DataError

Host = Literal["github", "github_archive", "hub", "modelscope"]

SERVERS = {
    "github": ("https://github.com", "TABLEBENCH_GITHUB_ENDPOINT"),
    "hub": ("https://huggingface.co", "HF_ENDPOINT"),
    "modelscope": ("https://www.modelscope.cn", "MODELSCOPE_ENDPOINT"),
}
"""The servers' addresses, and the environment variables that replace them."""


@dataclass(frozen=True)
class Licence:
    """A licence as the upstream project states it, and the address of its text."""

    name: str
    address: str


LICENCES = {
    "MIT": "https://opensource.org/license/mit",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "CC BY-SA 4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC BY-NC 4.0 (no commercial use)": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC BY-NC-SA 4.0 (no commercial use)": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
}
"""The addresses of the built-in datasets' licences, by name."""


@dataclass(frozen=True)
class File:
    """A file, or a pattern for several.

    Arguments:
        path: the path upstream; `*` matches any part of one path component.
        local: the path in the dataset's folder. "" for the path upstream; a folder that ends in a
            slash is put before the path upstream.
        sha256: the hexadecimal digest, if published separately from the file.
        optional: whether the file may be missing upstream.
    """

    path: str
    local: str = ""
    sha256: str | None = None
    optional: bool = False

    @property
    def target(self) -> str:
        """The path in the dataset's folder."""
        return self.local + self.path if self.local.endswith("/") else self.local or self.path


@dataclass(frozen=True)
class Upstream:
    """One source of files.

    Arguments:
        name: the name in `tablebench pull NAME`, and of the folder in the data folder.
        host: `github`, `hub` (Hugging Face) and `modelscope` serve single files; `github_archive`
            serves a tarball of the whole repository, of which only `files` are kept.
        repository: `owner/name`.
        revision: a commit if `pinned`, else a branch (`HEAD` is GitHub's default branch).
        files: the files to fetch; patterns are for archives and the hub.
        serves: the datasets that name it as their `upstream`.
        mirrors: other sources of the files, tried in order if the source serves none of them.
        by_hand: how users get the files themselves if the source denies access. Files that they
            put in place are accepted unchecked.
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
    """Return whether the path of a `File` is a pattern."""
    return "*" in path


def matches(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern, component by component."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def chosen(upstream: Upstream, paths: Sequence[str], listing: str) -> tuple[File, ...]:
    """Return the source's files, with each pattern replaced by the matching paths of a listing.

    Raises `DataError`, naming `listing`, if a file that is not optional is missing or all are.
    """
    files: list[File] = []
    for file in upstream.files:
        matching = [path for path in sorted(paths) if matches(path, file.path)]
        if not matching and not file.optional:
            raise DataError(f"{listing} has no {file.path}")
        files += [replace(file, path=path, optional=False) for path in matching]
    if not files:
        raise DataError(f"{listing} has none of the files of {upstream.name}")
    return tuple(files)


def upstream_of(name: str, section: Mapping[str, Any]) -> Upstream:
    """Return the source in a section of `datasets.toml`.

    The keys are the fields of `Upstream`, and `local` and `optional` of `File` for all files. A
    file is its path or a table of its own fields. A mirror replaces some of the fields.
    """
    fields = {"pinned": False, **section}
    mirrors = [upstream_of(name, fields | mirror) for mirror in fields.pop("mirrors", ())]
    shared = {key: fields.pop(key) for key in ("local", "optional") if key in fields}
    paths = [file if isinstance(file, dict) else {"path": file} for file in fields.pop("files")]
    return Upstream(
        name,
        licence=Licence(fields["licence"], LICENCES[fields.pop("licence")]),
        files=tuple(File(**shared | path) for path in paths),
        mirrors=tuple(mirrors),
        **fields,
    )
