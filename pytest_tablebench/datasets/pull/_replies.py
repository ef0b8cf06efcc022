"""What a server's reply means for a pull: the file, another attempt, or the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_tablebench.errors import DataError

if TYPE_CHECKING:
    import httpx

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
GOES_ON = "the same command goes on from here"
PAGE = (
    "a web page came instead of the file (a log-in or proxy page?); "
    "open the address in a browser to see it"
)


class NoAccess(DataError):
    """The server wants a permission that we do not have."""


class NotThere(DataError):
    """The server has no such file."""


class TooLarge(DataError):
    """The server sends more than any file of a dataset holds."""


class TooSlow(DataError):
    """The server sends so slowly that there is no use in waiting."""


class PassingFailure(Exception):
    """An attempt failed in a way that the next one may not; `wait` is the server's wish in s."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True)
class Remote:
    """A file on a server; `headers` may hold a token and are never shown."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def is_page(start: bytes) -> bool:
    """Whether a file that begins so is a web page."""
    head = start[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<!doctype html", b"<html"))


def check_reply(response: httpx.Response, remote: Remote, subject: str, *, page: bool) -> None:
    """Raise unless the response brings the file."""
    status = response.status_code
    if remote.url.startswith("https:") and response.url.scheme != "https":
        raise DataError(f"{subject}: was led to an address that is not encrypted")
    if status in PASSING:
        after = response.headers.get("Retry-After", "")
        raise PassingFailure(
            f"the server answered {status}", float(after) if after.isdecimal() else None
        )
    if status in (401, 403):
        raise NoAccess(f"{subject}: the server answered {status}, access is denied")
    if status in (404, 410):
        raise NotThere(f"{subject}: the server answered {status}, there is no such file (any more)")
    if status not in (200, 206):
        raise DataError(f"{subject}: the server answered {status}")
    if not page and response.headers.get("Content-Type", "").startswith("text/html"):
        raise DataError(f"{subject}: {PAGE}")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise DataError(f"{subject}: the server compressed the file although asked not to")
