"""Download of a file: streamed, resumed, retried, bounded in size and time.

An asyncio client can limit the time of a whole response. Others limit the time of each read, which
does not stop a server that sends a byte now and then. huggingface_hub and pooch do not fit either:
huggingface_hub follows listings without end, and sends the token to any server that they name.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from pytest_tablebench.datasets.files import file_digest
from pytest_tablebench.datasets.pull._lock import os_error
from pytest_tablebench.datasets.pull._replies import (
    PAGE,
    RESUME,
    PassingFailure,
    Remote,
    TooLarge,
    TooSlow,
    check_reply,
    is_page,
)
from pytest_tablebench.errors import DataError

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

MAX_BYTES = 2 * 1024**3
"""Most bytes of a file; the files of all sources are far smaller."""

STALLS = 5
"""Most attempts in a row without new bytes."""

ATTEMPTS = 50
"""Most attempts in all."""

CONNECT_S, READ_S = 10.0, 30.0
HEAD_S = 60.0
"""Most seconds until a response begins, or until a short one ends, with all redirects."""

LEAST_SPEED, SPEED_S = 1000, 30.0
"""A download fails below this many bytes a second, measured over this many seconds."""

FILE_S = 3600.0
"""Most seconds for a file, over all attempts."""

MAX_WAIT_S = 30.0
MAX_REDIRECTS = 5
T = TypeVar("T")


@dataclass(frozen=True)
class ServerResponse:
    """A short response: its status, headers (names in lower case), and body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    next: str | None
    """Address of the next page, if the server names one."""


def part_of(target: Path) -> Path:
    """Return the file that collects the bytes of `target` until it is complete."""
    return target.with_name(target.name + ".part")


def same_server(url: httpx.URL, other: httpx.URL) -> bool:
    """Return whether two addresses have the same scheme, host and port."""
    return (url.scheme, url.host, url.port) == (other.scheme, other.host, other.port)


def _tag_of(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


class Transfer:
    """Downloads files over one pool of connections.

    Arguments:
        sleep: waits between attempts, for a number of seconds.
        bar: whether to draw progress bars; None draws them on a terminal only.
        max_bytes: the largest file accepted.
        clock: returns the time in seconds, from any start.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], None] = time.sleep,
        bar: bool | None = None,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._runner = asyncio.Runner()  # makes its event loop on first use
        self._sleep = sleep
        self._bar = sys.stderr.isatty() if bar is None else bar
        self._max_bytes = max_bytes
        self._client: httpx.AsyncClient | None = None

    def __enter__(self) -> Transfer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._runner.run(self._client.aclose())
        self._runner.close()

    @property
    def client(self) -> httpx.AsyncClient:
        """The HTTP client, made on first use."""
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
                headers={"User-Agent": "pytest-tablebench"},
            )
        return self._client

    def retry(self, attempt: Callable[[], T], subject: str, length: Callable[[], int]) -> T:
        """Call `attempt` until it succeeds or fails permanently.

        Arguments:
            attempt: raises `PassingFailure` or an httpx transport error if a retry may succeed.
            subject: the start of the message of the final `DataError`.
            length: returns the number of bytes so far; an attempt that adds bytes does not count
                towards `STALLS`.
        """
        import httpx
        from tenacity import Retrying, retry_if_exception_type, wait_random_exponential

        jitter = wait_random_exponential(max=MAX_WAIT_S)
        furthest, stalls = length(), 0

        def stop(state: RetryCallState) -> bool:
            nonlocal furthest, stalls
            now = length()
            stalls = 0 if now > furthest else stalls + 1
            furthest = max(furthest, now)
            return stalls >= STALLS or state.attempt_number >= ATTEMPTS

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome is not None else None
            if isinstance(error, PassingFailure) and error.wait is not None:
                return min(error.wait, MAX_WAIT_S)
            return float(jitter(state))

        retrying = Retrying(
            stop=stop,
            wait=wait,
            sleep=self._sleep,
            retry=retry_if_exception_type((httpx.TransportError, PassingFailure)),
            reraise=True,
        )
        try:
            return retrying(attempt)
        except httpx.TransportError as error:
            kind = "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error)
            kind = kind or type(error).__name__
            raise DataError(f"{subject}: {kind}; {RESUME}") from None
        except PassingFailure as error:
            raise DataError(f"{subject}: {error}; {RESUME}") from None

    def ask(self, method: str, remote: Remote, most: int) -> ServerResponse:
        """Send one request and return its short response. Follow redirects on one server only.

        Raises `DataError` for more bytes than `most` and for a response without an end. `retry`
        handles `httpx` errors and `PassingFailure`.
        """
        return self._runner.run(self._ask(method, remote, most))

    async def _ask(self, method: str, remote: Remote, most: int) -> ServerResponse:
        import httpx

        headers = {**remote.headers, "Accept-Encoding": "identity"}
        url = httpx.URL(remote.url)
        for _ in range(MAX_REDIRECTS):
            async with self._reply(method, str(url), headers, remote.url) as response:
                body = b""
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > most:
                        raise TooLarge(f"{remote.url}: the server sends more than {most} bytes")
            location = url.join(response.headers.get("Location", ""))
            if not response.is_redirect or not same_server(url, location):
                break
            url = location
        next_page = response.links.get("next", {}).get("url")
        lower_case = {name.lower(): value for name, value in response.headers.items()}
        return ServerResponse(str(url), response.status_code, lower_case, body, next_page)

    @asynccontextmanager
    async def _reply(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        subject: str,
        *,
        whole: bool = True,
        follow: bool = False,
    ) -> AsyncIterator[httpx.Response]:
        """Open a response; `HEAD_S` limits the time until it begins, or ends if `whole`."""
        request = self.client.build_request(method, url, headers=dict(headers))
        try:
            async with asyncio.timeout(HEAD_S) as limit:
                # httpx removes the token when a redirect leads to another server.
                response = await self.client.send(request, stream=True, follow_redirects=follow)
                if not whole:
                    limit.reschedule(None)
                try:
                    yield response
                finally:
                    await response.aclose()
        except TimeoutError:
            raise TooSlow(
                f"{subject}: no complete response within {HEAD_S:g} s; try again later"
            ) from None

    def fetch(self, remote: Remote, target: Path) -> str:
        """Download into `part_of(target)`, resuming an earlier call, and return the SHA-256.

        Raises `DataError`, naming file and address.
        """
        import httpx

        part = part_of(target)
        subject = f"{target}: {remote.url}"

        def length() -> int:
            return part.stat().st_size if part.is_file() else 0

        end = self._clock() + FILE_S
        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            self.retry(
                lambda: self._runner.run(self._attempt(remote, part, subject, end)), subject, length
            )
            return file_digest(part)
        except TooLarge:
            self.discard(target)
            raise
        except OSError as error:
            raise os_error(target, error) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DataError(f"{subject}: {error}") from None

    def discard(self, target: Path) -> None:
        """Remove the part of a file."""
        part = part_of(target)
        part.unlink(missing_ok=True)
        _tag_of(part).unlink(missing_ok=True)

    def settle(self, target: Path) -> None:
        """Move the finished part into place."""
        part = part_of(target)
        try:
            part.replace(target)
            _tag_of(part).unlink(missing_ok=True)
        except OSError as error:
            raise os_error(target, error) from None

    async def _attempt(self, remote: Remote, part: Path, subject: str, end: float) -> None:
        tag = _tag_of(part)
        etag = tag.read_text(encoding="ascii", errors="replace") if tag.is_file() else ""
        have = part.stat().st_size if etag and part.is_file() else 0
        # Lengths and ranges count the bytes sent, so the response must not be compressed.
        headers = {**remote.headers, "Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": etag}
        async with self._reply(
            "GET", remote.url, headers, subject, whole=False, follow=True
        ) as response:
            content_range = response.headers.get("Content-Range", "")
            if have and response.status_code == 416 and content_range == f"bytes */{have}":
                return  # the part is complete
            if response.status_code == 416 or (
                response.status_code == 206 and not content_range.startswith(f"bytes {have}-")
            ):
                # A wrong range: the next attempt starts from zero.
                part.unlink(missing_ok=True)
                tag.unlink(missing_ok=True)
                raise PassingFailure("the server could not resume the download")
            page = part.stem.lower().endswith((".html", ".htm"))
            check_reply(response, remote, subject, page=page)
            if response.status_code == 200:
                have = 0
                part.unlink(missing_ok=True)
                etag = response.headers.get("ETag", "")
                # Only a strong tag may be used to resume (RFC 9110, section 13.1.5).
                if etag.startswith('"') and etag.isascii():
                    tag.write_text(etag, encoding="ascii")
                else:
                    tag.unlink(missing_ok=True)
            with part.open("ab") as stream:
                await self._copy(response, stream, have, subject, page=page, end=end)

    async def _copy(
        self,
        response: httpx.Response,
        stream: IO[bytes],
        have: int,
        subject: str,
        *,
        page: bool,
        end: float,
    ) -> None:
        from tqdm import tqdm

        size = response.headers.get("Content-Length", "")
        total = have + int(size) if size.isdecimal() else None
        if total is not None and total > self._max_bytes:
            raise TooLarge(f"{subject}: {total} bytes are more than the {self._max_bytes} allowed")
        last_time, last_size = self._clock(), have
        label, hidden = Path(stream.name).stem, not self._bar
        with tqdm(
            total=total, initial=have, desc=label, unit="B", unit_scale=True, disable=hidden
        ) as bar:
            # Chunks as they arrive: with a fixed size, a cut would lose the start of the last one.
            async for chunk in response.aiter_raw():
                if have == 0 and not page and is_page(chunk):
                    raise DataError(f"{subject}: {PAGE}")
                have += len(chunk)
                if have > self._max_bytes:
                    raise TooLarge(f"{subject}: more than the {self._max_bytes} bytes allowed")
                stream.write(chunk)
                stream.flush()  # keep these bytes if the process ends suddenly
                bar.update(len(chunk))
                now = self._clock()
                if now >= end:
                    raise TooSlow(f"{subject}: not complete after {FILE_S:g} s; {RESUME}")
                if now - last_time >= SPEED_S:
                    if have - last_size < LEAST_SPEED * (now - last_time):
                        raise TooSlow(
                            f"{subject}: {have - last_size} bytes in {now - last_time:.0f} s are "
                            f"too slow; {RESUME}"
                        )
                    last_time, last_size = now, have
        os.fsync(stream.fileno())
