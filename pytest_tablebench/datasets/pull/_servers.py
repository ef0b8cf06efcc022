"""Addresses, commits and digests of files on GitHub, Hugging Face and ModelScope."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, urlencode

from pytest_tablebench.config.addresses import header_fault
from pytest_tablebench.datasets.pull._transfer import NotThere, Remote, Transfer
from pytest_tablebench.datasets.pull._upstream import File, Upstream, chosen, is_pattern
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.entries import parsed_json

MAX_NAME = 500
"""Most characters of a path in a listing."""


@dataclass
class FileServer:
    """A server of single files that states nothing about them, such as GitHub.

    Arguments:
        revision: a commit, or a branch.
    """

    upstream: Upstream
    endpoint: str
    transfer: Transfer
    revision: str

    def files(self) -> tuple[File, ...]:
        """Return the files of the source, with each pattern replaced by the matching files."""
        return self.upstream.files

    def remote(self, path: str) -> Remote:
        """Return the address of a file."""
        return Remote(f"{self.endpoint}/{self.upstream.repository}/raw/{self.revision}/{path}")


class Hub(FileServer):
    """Hugging Face.

    huggingface_hub gives addresses, the user's token, and the meaning of replies. Its own requests
    do not fit: since version 1.18 its downloads cannot be resumed by a later call, and it reads
    replies of any length, at any speed.
    """

    def files(self) -> tuple[File, ...]:
        """Return the files; the listing is requested only if there is a pattern."""
        if not any(is_pattern(file.path) for file in self.upstream.files):
            return self.upstream.files
        location = f"{self.endpoint}/datasets/{self.upstream.repository} at {self.revision}"
        return chosen(self.upstream, list(self._listing[1]), location)

    def remote(self, path: str) -> Remote:
        """Return the address of a file, with its facts in the listing."""
        from huggingface_hub import hf_hub_url

        commit, digests = self._listing
        url = hf_hub_url(
            self.upstream.repository,
            path,
            repo_type="dataset",
            revision=commit or self.revision,
            endpoint=self.endpoint,
        )
        if path not in digests:
            raise NotThere(f"{url}: there is no such file (any more)")
        return Remote(url, _headers(), commit, digests[path])

    @cached_property
    def _listing(self) -> tuple[str | None, dict[str, str | None]]:
        """The commit, and the SHA-256 of each file by path; None if the server states none."""
        from huggingface_hub import DatasetInfo, constants

        dataset = f"{self.endpoint}/api/datasets/{self.upstream.repository}"
        url = f"{dataset}/revision/{quote(self.revision, safe='')}?blobs=true"
        if constants.HF_HUB_OFFLINE:
            raise DataError(f"{url}: not requested, because HF_HUB_OFFLINE is set")
        body = self.transfer.read(Remote(url, _headers()))
        with _answer_of("Hugging Face", url):
            info = DatasetInfo(**parsed_json(body))  # type: ignore[no-untyped-call]
            digests = {
                checked_name(file.rfilename): hex_digest(file.lfs.sha256, 64) if file.lfs else None
                for file in info.siblings or ()
            }
            return hex_digest(self.revision, 40) or hex_digest(info.sha or "", 40), digests


@contextmanager
def _answer_of(service: str, url: str) -> Iterator[None]:
    """Raise `DataError` if the block cannot read a service's answer."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        kind = type(error).__name__
        message = f"{url}: the server does not answer as {service} does ({kind})"
        raise DataError(message) from None


def checked_name(path: str) -> str:
    """Return a path in a listing. Raises `ValueError` for one that no dataset has."""
    if not isinstance(path, str) or len(path) > MAX_NAME:
        raise ValueError("not a path")
    return path


def hex_digest(text: str, length: int) -> str | None:
    """Return a digest of `length` hexadecimal digits, or None if it is none."""
    return text if re.fullmatch(rf"[0-9a-f]{{{length}}}", text) else None


def _headers() -> dict[str, str]:
    """Return the headers of a request, with the user's token."""
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    headers: dict[str, str] = build_hf_headers(library_name="pytest-tablebench")
    for value in headers.values():
        fault = header_fault(value)
        if fault is not None:
            raise DataError(f"HF_TOKEN contains {fault}, which HTTP cannot send; remove it")
    return headers


MAX_PAGES, PAGE_SIZE = 100, 200


@dataclass
class ModelScope(FileServer):
    """ModelScope, whose listing states the SHA-256 of each file."""

    _digests: dict[str, str | None] = field(default_factory=dict)

    def files(self) -> tuple[File, ...]:
        """Read the listing, and return the source's files with patterns replaced."""
        url = f"{self.endpoint}/datasets/{self.upstream.repository}"
        for page in range(1, MAX_PAGES + 1):
            if self._read_page(page) < PAGE_SIZE:
                return chosen(self.upstream, list(self._digests), f"{url} at {self.revision}")
        raise DataError(f"{url}: the listing has more than {MAX_PAGES} pages")

    def remote(self, path: str) -> Remote:
        """Return a file's address, and its digest in the listing."""
        query = urlencode({"Revision": self.revision, "FilePath": path}, quote_via=quote)
        url = f"{self.endpoint}/api/v1/datasets/{self.upstream.repository}/repo?{query}"
        return Remote(url, sha256=self._digests.get(path))

    def _read_page(self, page: int) -> int:
        """Record the digests on a page of the listing; return its number of entries."""
        query = {
            "Revision": self.revision,
            "Recursive": "true",
            "PageSize": PAGE_SIZE,
            "PageNumber": page,
        }
        listing = f"{self.endpoint}/api/v1/datasets/{self.upstream.repository}/repo/tree"
        url = f"{listing}?{urlencode(query)}"
        body = self.transfer.read(Remote(url))
        with _answer_of("ModelScope", url):
            entries = parsed_json(body)["Data"]["Files"] or []
            self._digests |= {
                checked_name(entry["Path"]): hex_digest(str(entry.get("Sha256")).lower(), 64)
                for entry in entries
                if entry["Type"] != "tree"
            }
            return len(entries)
