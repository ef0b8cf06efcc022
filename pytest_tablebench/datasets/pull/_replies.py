"""Checks of a server's response: it brings the file, calls for a retry, or is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_tablebench.errors import DataError

if TYPE_CHECKING:
    import requests

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
RESUME = "run the same command again to continue"
PAGE = (
    "the server sent a web page instead of the file (a log-in or proxy page?); "
    "open the address in a browser to see it"
)


class NoAccess(DataError):
    """The server denies access."""


class NotThere(DataError):
    """The server has no such file."""


class TooLarge(DataError):
    """The server sends more bytes than any dataset file has."""


class PassingFailure(Exception):
    """A failure that a retry may not have; `wait` is the wait in s that the server asks for."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


# The meanings of the Hugging Face hub's header X-Error-Code.
_CODES = {
    "GatedRepo": (NoAccess, "the server gives this only to people who asked for it"),
    "RepoNotFound": (NoAccess, "the dataset does not exist on the server, or is not public"),
    "RevisionNotFound": (DataError, "the server does not know this revision"),
}


@dataclass(frozen=True)
class Remote:
    """A file on a server, with commit and SHA-256 if the server states them.

    `headers` may contain a token and are never shown.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    commit: str | None = None
    sha256: str | None = None


def is_page(start: bytes) -> bool:
    """Return whether a file with these first bytes is a web page."""
    head = start[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))


def check_reply(response: requests.Response, remote: Remote, subject: str, *, page: bool) -> None:
    """Raise unless the response brings the file; `page` accepts a web page."""
    status, headers = response.status_code, response.headers
    if remote.url.startswith("https:") and not response.url.startswith("https:"):
        raise DataError(f"{subject}: the server redirected to an address without encryption")
    kind, meaning = _CODES.get(headers.get("X-Error-Code", ""), (None, ""))
    if kind is not None:
        raise kind(f"{subject}: {meaning}")
    if status in PASSING:
        after = headers.get("Retry-After", "")
        raise PassingFailure(
            f"the server answered {status}", float(after) if after.isdecimal() else None
        )
    if status in (401, 403):
        raise NoAccess(f"{subject}: the server answered {status}, access is denied")
    if status in (404, 410):
        raise NotThere(f"{subject}: the server answered {status}, there is no such file (any more)")
    if status not in (200, 206):
        raise DataError(f"{subject}: the server answered {status}")
    if not page and headers.get("Content-Type", "").startswith("text/html"):
        raise DataError(f"{subject}: {PAGE}")
    if headers.get("Content-Encoding", "identity") != "identity":
        raise DataError(f"{subject}: the server compressed the file although it must not")
