"""What Hugging Face says of a file: its address, its commit, its digest."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import quote

from pytest_tablebench.config.addresses import header_fault
from pytest_tablebench.datasets.pull._replies import (
    PASSING,
    NoAccess,
    NotThere,
    PassingFailure,
    Remote,
)
from pytest_tablebench.datasets.pull._transfer import ServerResponse, Transfer, same_server
from pytest_tablebench.datasets.pull._upstream import File, Upstream, chosen, is_pattern
from pytest_tablebench.errors import DataError

MAX_LISTING = 4_000_000
"""Bytes of one page of a listing: the hub puts a thousand files on it."""

MAX_PAGES = 20
MAX_NAME = 500
"""Characters of a path in a listing."""

_STRANGE = "the server does not answer as Hugging Face does"


@dataclass(frozen=True)
class Facts:
    """A file on a server: where its bytes are; the commit and its SHA-256 where they are stated."""

    remote: Remote
    commit: str | None = None
    sha256: str | None = None


@dataclass
class FileServer:
    """What gives a source's files one by one; GitHub says nothing of them."""

    upstream: Upstream
    endpoint: str
    transfer: Transfer

    def files(self, revision: str) -> tuple[File, ...]:  # noqa: ARG002 - there is no pattern
        """Return the files of the table of sources, patterns replaced by what is there."""
        return self.upstream.files

    def facts(self, path: str, revision: str) -> Facts:
        """Return what is said of a file; its bytes are fetched by `Transfer`."""
        return Facts(Remote(f"{self.endpoint}/{self.upstream.repository}/raw/{revision}/{path}"))


class Hub(FileServer):
    """Hugging Face.

    huggingface_hub itself throws an unfinished file away when its process ends, and follows links
    to other hosts with the token; it only says what the token of the user's log-in is.
    """

    def facts(self, path: str, revision: str) -> Facts:
        """Ask for a file's metadata."""
        url = (
            f"{self.endpoint}/datasets/{self.upstream.repository}/resolve/"
            f"{quote(revision, safe='')}/{quote(path)}"
        )
        remote = Remote(url, _headers())
        response = _ask("HEAD", remote, self.transfer)
        # The tag of a large file is its SHA-256; that of a small one is git's own digest.
        etag = response.headers.get("x-linked-etag") or response.headers.get("etag", "")
        etag = etag.removeprefix("W/").strip('"')
        sha256 = etag if re.fullmatch(r"[0-9a-f]{64}", etag) else None
        commit = response.headers.get("x-repo-commit", "")
        return Facts(remote, commit if re.fullmatch(r"[0-9a-f]{40}", commit) else None, sha256)

    def files(self, revision: str) -> tuple[File, ...]:
        """Return the files; a listing is asked for only where there is a pattern."""
        if not any(is_pattern(file.path) for file in self.upstream.files):
            return self.upstream.files
        place = f"{self.endpoint}/datasets/{self.upstream.repository} at {revision}"
        return chosen(self.upstream, self._listed(revision), place)

    def _listed(self, revision: str) -> list[str]:
        """Return the paths of all files; pages of the listing come from the one server alone."""
        import httpx

        url = (
            f"{self.endpoint}/api/datasets/{self.upstream.repository}/tree/"
            f"{quote(revision, safe='')}?recursive=true"
        )
        paths: list[str] = []
        page = url
        for _ in range(MAX_PAGES):
            response = _ask("GET", Remote(page, _headers()), self.transfer)
            try:
                entries = json.loads(response.body)
                paths += [entry["path"] for entry in entries if entry["type"] == "file"]
                sound = all(isinstance(path, str) and len(path) <= MAX_NAME for path in paths)
                following = httpx.URL(response.url).join(response.next) if response.next else None
            except (ValueError, LookupError, TypeError, RecursionError, httpx.InvalidURL) as error:
                raise DataError(f"{url}: {_STRANGE} ({type(error).__name__})") from None
            if not sound or response.status != 200:
                raise DataError(f"{url}: {_STRANGE}")
            if following is None:
                return paths
            if not same_server(httpx.URL(response.url), following):
                raise DataError(f"{url}: the listing goes on at another server; it is not followed")
            page = str(following)
        raise DataError(f"{url}: the listing has more than {MAX_PAGES} pages")


def _headers() -> dict[str, str]:
    """Return the headers of a request, with the token of the user's log-in."""
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    headers: dict[str, str] = build_hf_headers(library_name="pytest-tablebench")
    for value in headers.values():
        fault = header_fault(value)
        if fault is not None:
            raise DataError(f"HF_TOKEN holds {fault}, which HTTP cannot send; set it without")
    return headers


def _ask(method: str, remote: Remote, transfer: Transfer) -> ServerResponse:
    import httpx
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise DataError(f"{remote.url}: HF_HUB_OFFLINE is set, so nothing is asked for")

    def attempt() -> ServerResponse:
        try:
            response = transfer.ask(method, remote, MAX_LISTING)
        except httpx.TransportError:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise DataError(f"{remote.url}: {_STRANGE} ({type(error).__name__})") from None
        _check(response, remote.url)
        return response

    return transfer.retry(attempt, remote.url, lambda: 0)


def _check(response: ServerResponse, url: str) -> None:
    """Raise unless the answer is one; the hub says by a code what it means."""
    if response.status < 400:
        return
    code = response.headers.get("x-error-code")
    if code == "GatedRepo":
        raise NoAccess(f"{url}: the server gives this only to people who asked for it")
    if code == "RevisionNotFound":
        raise DataError(f"{url}: the server does not know this revision")
    if code == "EntryNotFound":
        raise NotThere(f"{url}: there is no such file (any more)")
    # It also says 401 of what is not there at all.
    if code == "RepoNotFound" or (response.status == 401 and code is None):
        raise NoAccess(f"{url}: the server has no such dataset, or not for everybody")
    if response.status in PASSING:
        raise PassingFailure(f"the server answered {response.status}")
    kind = NoAccess if response.status in (401, 403) else DataError
    raise kind(f"{url}: the server answered {response.status}")
