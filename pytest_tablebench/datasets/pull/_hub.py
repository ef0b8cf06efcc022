"""Addresses, commits and digests of files on GitHub and Hugging Face."""

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
"""Most bytes of one page of a listing, which has up to a thousand files."""

MAX_PAGES = 20
MAX_NAME = 500
"""Most characters of a path in a listing."""

_STRANGE = "the server does not answer as Hugging Face does"


@dataclass(frozen=True)
class Facts:
    """A file on a server, with commit and SHA-256 if the server states them."""

    remote: Remote
    commit: str | None = None
    sha256: str | None = None


@dataclass
class FileServer:
    """A server of single files that states nothing about them, such as GitHub."""

    upstream: Upstream
    endpoint: str
    transfer: Transfer

    def files(self, revision: str) -> tuple[File, ...]:  # noqa: ARG002 - there is no pattern
        """Return the files of the source, with each pattern replaced by the matching files."""
        return self.upstream.files

    def facts(self, path: str, revision: str) -> Facts:
        """Return the facts about a file."""
        return Facts(Remote(f"{self.endpoint}/{self.upstream.repository}/raw/{revision}/{path}"))


class Hub(FileServer):
    """Hugging Face.

    Only the user's token comes from huggingface_hub. Its own downloads discard unfinished files
    when the process ends, and send the token to other hosts.
    """

    def facts(self, path: str, revision: str) -> Facts:
        """Request the facts about a file."""
        url = (
            f"{self.endpoint}/datasets/{self.upstream.repository}/resolve/"
            f"{quote(revision, safe='')}/{quote(path)}"
        )
        remote = Remote(url, _headers())
        response = _request("HEAD", remote, self.transfer)
        # The tag of a large file is its SHA-256; the tag of a small file is git's digest.
        etag = response.headers.get("x-linked-etag") or response.headers.get("etag", "")
        etag = etag.removeprefix("W/").strip('"')
        sha256 = etag if re.fullmatch(r"[0-9a-f]{64}", etag) else None
        commit = response.headers.get("x-repo-commit", "")
        return Facts(remote, commit if re.fullmatch(r"[0-9a-f]{40}", commit) else None, sha256)

    def files(self, revision: str) -> tuple[File, ...]:
        """Return the files; the listing is requested only if there is a pattern."""
        if not any(is_pattern(file.path) for file in self.upstream.files):
            return self.upstream.files
        place = f"{self.endpoint}/datasets/{self.upstream.repository} at {revision}"
        return chosen(self.upstream, self._listed(revision), place)

    def _listed(self, revision: str) -> list[str]:
        """Return the paths of all files; all pages of the listing must be on one server."""
        import httpx

        url = (
            f"{self.endpoint}/api/datasets/{self.upstream.repository}/tree/"
            f"{quote(revision, safe='')}?recursive=true"
        )
        paths: list[str] = []
        page = url
        for _ in range(MAX_PAGES):
            response = _request("GET", Remote(page, _headers()), self.transfer)
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
                raise DataError(f"{url}: the listing continues at another server; not followed")
            page = str(following)
        raise DataError(f"{url}: the listing has more than {MAX_PAGES} pages")


def _headers() -> dict[str, str]:
    """Return the headers of a request, with the user's token."""
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    headers: dict[str, str] = build_hf_headers(library_name="pytest-tablebench")
    for value in headers.values():
        fault = header_fault(value)
        if fault is not None:
            raise DataError(f"HF_TOKEN contains {fault}, which HTTP cannot send; remove it")
    return headers


def _request(method: str, remote: Remote, transfer: Transfer) -> ServerResponse:
    import httpx
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise DataError(f"{remote.url}: not requested, because HF_HUB_OFFLINE is set")

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
    """Raise for an error response; the header `x-error-code` has its meaning."""
    if response.status < 400:
        return
    code = response.headers.get("x-error-code")
    if code == "GatedRepo":
        raise NoAccess(f"{url}: the server gives this only to people who asked for it")
    if code == "RevisionNotFound":
        raise DataError(f"{url}: the server does not know this revision")
    if code == "EntryNotFound":
        raise NotThere(f"{url}: there is no such file (any more)")
    # The hub also answers 401 if the dataset does not exist.
    if code == "RepoNotFound" or (response.status == 401 and code is None):
        raise NoAccess(f"{url}: the dataset does not exist on the server, or is not public")
    if response.status in PASSING:
        raise PassingFailure(f"the server answered {response.status}")
    kind = NoAccess if response.status in (401, 403) else DataError
    raise kind(f"{url}: the server answered {response.status}")
