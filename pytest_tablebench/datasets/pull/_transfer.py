"""Download of a file by pooch: resumed, retried, bounded in size and time.

pooch follows redirects and copies the body to a file. It has no limit of size or time and starts a
broken download from zero, so this module passes it a file object and a response hook.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, TypeVar

from pytest_tablebench.datasets.files import file_digest
from pytest_tablebench.datasets.pull._files import os_error
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    import requests
    from tenacity import RetryCallState

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


MAX_BYTES = 2 * 1024**3
"""Most bytes of a file; the files of all sources are far smaller."""

MAX_LISTING = 10_000_000
"""Most bytes of a page of a listing."""

CHUNK = 16 * 1024
"""Bytes that pooch reads at a time; less than that is lost when a connection breaks."""

STALLS = 5
"""Most attempts in a row without new bytes."""

ATTEMPTS = 50
"""Most attempts in all."""

CONNECT_S, READ_S = 10.0, 30.0

LEAST_SPEED, SPEED_S = 1000, 60.0
"""A download fails below this many bytes a second, measured over this many seconds."""

FILE_S = 3600.0
"""Most seconds for a file, over all attempts."""

MAX_WAIT_S = 30.0
T = TypeVar("T")


def part_of(target: Path) -> Path:
    """Return the file that collects the bytes of `target` until it is complete."""
    return target.with_name(target.name + ".part")


def _tag_of(target: Path) -> Path:
    return target.with_name(target.name + ".part.etag")


@dataclass
class Transfer:
    """Downloads files.

    Arguments:
        sleep: waits between attempts, for a number of seconds.
        bar: whether to draw progress bars; None draws them on a terminal only.
    """

    sleep: Callable[[float], None] = time.sleep
    bar: bool | None = None

    def read(self, remote: Remote) -> bytes:
        """Return the body of a short response. Raises `DataError`, naming the address."""

        def attempt() -> bytes:
            stream = io.BytesIO()
            _download(_PartWriter(stream, remote, remote.url, MAX_LISTING))
            return stream.getvalue()

        return self._retry(attempt, remote.url, lambda: 0)

    def fetch(self, remote: Remote, target: Path) -> str:
        """Download into `part_of(target)`, resuming an earlier call, and return the SHA-256.

        Raises `DataError`, naming file and address.
        """
        part = part_of(target)
        end = time.monotonic() + FILE_S

        def length() -> int:
            return part.stat().st_size if part.is_file() else 0

        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            self._retry(
                lambda: self._attempt(remote, target, end), f"{target}: {remote.url}", length
            )
            return file_digest(part)
        except DataError as error:
            if isinstance(error, TooLarge) or length() == 0:
                self.discard(target)
            raise
        except OSError as error:
            raise os_error(target, error) from None

    def discard(self, target: Path) -> None:
        """Remove the part of a file."""
        part_of(target).unlink(missing_ok=True)
        _tag_of(target).unlink(missing_ok=True)

    def settle(self, target: Path) -> None:
        """Move the finished part into place."""
        try:
            part_of(target).replace(target)
            _tag_of(target).unlink(missing_ok=True)
        except OSError as error:
            raise os_error(target, error) from None

    def _attempt(self, remote: Remote, target: Path, end: float) -> None:
        from tqdm import tqdm

        tag = _tag_of(target)
        etag = tag.read_text(encoding="ascii", errors="replace") if tag.is_file() else ""
        subject = f"{target}: {remote.url}"
        hidden = not (sys.stderr.isatty() if self.bar is None else self.bar)
        with (
            part_of(target).open("ab" if etag else "wb") as stream,
            tqdm(desc=target.name, unit="B", unit_scale=True, disable=hidden) as bar,
        ):
            if stream.tell():
                ranges = {"Range": f"bytes={stream.tell()}-", "If-Range": etag}
                remote = replace(remote, headers={**remote.headers, **ranges})
            _download(_PartWriter(stream, remote, subject, MAX_BYTES, target, bar), end)
            os.fsync(stream.fileno())

    def _retry(self, attempt: Callable[[], T], subject: str, length: Callable[[], int]) -> T:
        """Call `attempt` until it raises no `PassingFailure`, at last a `DataError`.

        An attempt that adds to `length`, the number of bytes so far, does not count to `STALLS`.
        """
        from tenacity import Retrying, retry_if_exception_type, wait_random_exponential

        jitter = wait_random_exponential(max=MAX_WAIT_S)
        furthest, stalls = length(), 0

        def stop(state: RetryCallState) -> bool:
            nonlocal furthest, stalls
            stalls = 0 if length() > furthest else stalls + 1
            furthest = max(furthest, length())
            return stalls >= STALLS or state.attempt_number >= ATTEMPTS

        def pause(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome is not None else None
            if isinstance(error, PassingFailure) and error.wait is not None:
                return min(error.wait, MAX_WAIT_S)
            return float(jitter(state))

        passing = retry_if_exception_type(PassingFailure)
        try:
            return Retrying(stop=stop, wait=pause, sleep=self.sleep, retry=passing, reraise=True)(
                attempt
            )
        except PassingFailure as error:
            raise DataError(f"{subject}: {error}; {RESUME}") from None


@dataclass
class _PartWriter:
    """The file that pooch writes a response to; it checks the response and every chunk.

    Arguments:
        stream: takes the bytes; if it has some already, the download continues behind them.
        subject: the start of all messages.
        most: the largest number of bytes accepted.
        target: the path of the complete file, None for a listing.
        bar: the progress bar, None for a listing.
    """

    stream: IO[bytes]
    remote: Remote
    subject: str
    most: int
    target: Path | None = None
    bar: Any = None
    response: requests.Response | None = None
    total: int | None = None
    """The number of bytes of the complete file, if the server states it."""

    def __post_init__(self) -> None:
        self.size = self.stream.tell()
        self.page = self.target is not None and self.target.suffix.lower() in (".html", ".htm")

    def begin(self, response: requests.Response, **_: Any) -> None:
        """Check the head of a response; requests calls this for redirects too."""
        self.response = response
        if response.is_redirect:
            response.close()  # requests would read a body of any length into memory
            return
        status, headers = response.status_code, response.headers
        is_rest = headers.get("Content-Range", "").startswith(f"bytes {self.size}-")
        if status == 416 or (status == 206 and not is_rest):
            self._restart("")
            raise PassingFailure("the server could not resume the download")
        check_reply(response, self.remote, self.subject, page=self.page)
        if status == 200:
            self._restart(headers.get("ETag", ""))
        length = headers.get("Content-Length", "")
        self.total = self.size + int(length) if length.isdecimal() else None
        self._check_size(self.total or 0)
        if self.bar is not None:
            self.bar.reset(self.total)
            self.bar.update(self.size)

    def write(self, chunk: bytes) -> None:
        """Append a chunk."""
        if self.size == 0 and not self.page and is_page(chunk):
            raise DataError(f"{self.subject}: {PAGE}")
        self._check_size(self.size + len(chunk))
        self.stream.write(chunk)
        self.size += len(chunk)
        if self.bar is not None:
            self.bar.update(len(chunk))

    def flush(self) -> None:
        """Keep the bytes if the process ends suddenly."""
        self.stream.flush()

    def _check_size(self, size: int) -> None:
        if size > self.most:
            raise TooLarge(f"{self.subject}: more than the {self.most} bytes allowed")

    def _restart(self, etag: str) -> None:
        """Remove the bytes, and keep the tag that a request for the rest will need."""
        if self.size:
            self.stream.truncate(0)
            self.size = 0
        # Only a strong tag may be used to resume (RFC 9110, section 13.1.5).
        if self.target is not None and etag.startswith('"') and etag.isascii():
            _tag_of(self.target).write_text(etag, encoding="ascii")
        elif self.target is not None:
            _tag_of(self.target).unlink(missing_ok=True)


def _download(body: _PartWriter, end: float = float("inf")) -> None:
    """Let pooch write a response, in a thread that is abandoned if the server is too slow.

    requests limits the time of each read, which does not stop a server that sends a byte now and
    then. The thread ends at its next write, because the caller closes the file.

    Raises `PassingFailure` and `DataError`.
    """
    importlib.import_module("pooch")  # an error of the import is raised in this thread
    done: Future[None] = Future()
    Thread(target=_run, args=(body, done), daemon=True).start()
    last = body.size
    while not wait([done], min(SPEED_S, max(0.0, end - time.monotonic()))).done:
        if time.monotonic() >= end:
            raise DataError(f"{body.subject}: not complete after {FILE_S:g} s; {RESUME}")
        gain, last = body.size - last, body.size
        if gain < LEAST_SPEED * SPEED_S:
            raise DataError(f"{body.subject}: {gain} bytes in {SPEED_S:g} s are too slow; {RESUME}")
    done.result()


def _run(body: _PartWriter, done: Future[None]) -> None:
    import requests
    from pooch import HTTPDownloader

    # Lengths and ranges count the bytes sent, so the response must not be compressed.
    headers = {"User-Agent": "pytest-tablebench", "Accept-Encoding": "identity"}
    downloader = HTTPDownloader(
        chunk_size=CHUNK,
        headers={**headers, **body.remote.headers},
        timeout=(CONNECT_S, READ_S),
        hooks={"response": body.begin},
        auth=lambda request: request,  # without it, ~/.netrc would replace the token
    )
    try:
        downloader(body.remote.url, body, None)
        if body.total not in (None, body.size):  # urllib3 before 2 reports no early end
            raise requests.exceptions.ChunkedEncodingError
        done.set_result(None)
    except requests.exceptions.ChunkedEncodingError:
        done.set_exception(PassingFailure("the connection broke off"))
    except (requests.ConnectionError, requests.Timeout) as error:
        # The innermost reason comes last, such as `[Errno 111] Connection refused`.
        reason = shortened(str(error).rpartition(": ")[2].strip("\"')"), 200)
        late = "timed out" in str(error)
        message = "no answer in time" if late else f"the connection failed: {reason}"
        done.set_exception(PassingFailure(message))
    except (requests.RequestException, ValueError) as error:
        done.set_exception(DataError(f"{body.subject}: {shortened(str(error), 200)}"))
    except BaseException as error:
        done.set_exception(error)
    finally:
        if body.response is not None:
            body.response.close()
