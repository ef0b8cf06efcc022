"""A scripted HTTP server on 127.0.0.1 in place of GitHub and the Hugging Face hub.

It serves files at the addresses of both: GitHub's raw files (through a redirect, as GitHub does)
and tarballs of a revision, the hub's metadata, listing and files. Every file has a strong tag and
can be requested in parts, unless a `Fault` changes that::

    with UpstreamServer() as server:
        server.hub("yale-nlp/QTSumm", {"qtsumm_test.json": b"[]"})
        server.fault("qtsumm_test.json", Fault(cut=10), Fault(status=500))
        ...                                     # send requests to server.url
        assert server.bytes_sent("qtsumm_test.json") == 10
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.loopback import LoopbackHandler, LoopbackServer

COMMIT = "c0ffee" + "0" * 34
"""The commit that the server reports."""


@dataclass(frozen=True)
class Fault:
    """A fault of one response.

    Arguments:
        status: sent instead of the file.
        cut: bytes of the body after which the connection ends.
        hold: bytes of the body after which the server pauses until it closes.
        corrupt: whether one byte in the middle is changed.
        page: whether a web page is sent with status 200.
        headers: additional headers; the value None removes a header.
        ignore_range: whether a request for a part is answered with the whole.
        wrong_range: whether it is answered with another part.
        body: sent instead of the file.
        drip: whether the body is sent byte by byte, 10 ms each, without an end.
        drip_head: whether the headers are sent like that too.
    """

    status: int = 200
    cut: int | None = None
    hold: int | None = None
    corrupt: bool = False
    page: bool = False
    headers: Mapping[str, str | None] = field(default_factory=dict)
    ignore_range: bool = False
    wrong_range: bool = False
    body: bytes | None = None
    drip: bool = False
    drip_head: bool = False


@dataclass
class Asked:
    """A received request, and the number of sent bytes of a body."""

    method: str
    path: str
    headers: Mapping[str, str]
    sent: int = 0


def tarball(
    files: Mapping[str, bytes], top: str = "repository-master", extra: Iterable[Any] = ()
) -> bytes:
    """Return a gzipped tarball like GitHub's; `extra` are (TarInfo, bytes) added unchanged."""
    buffer = io.BytesIO()
    with tarfile.open(
        fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT, pax_headers={"comment": COMMIT}
    ) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member, content in extra:
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class UpstreamServer(LoopbackServer):
    """The server; it has no files until they are added."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.asked: list[Asked] = []
        self._files: dict[str, bytes] = {}
        self._redirects: dict[str, str] = {}
        self._hub: dict[str, tuple[str | None, dict[str, bytes]]] = {}
        self.large_files: dict[str, str] = {}
        """SHA-256 that the hub states, by path."""
        self._modelscope: dict[str, dict[str, bytes]] = {}
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._always: dict[str, Fault] = {}
        self._lock = threading.Lock()

    # Contents

    def github(self, repository: str, revision: str, files: Mapping[str, bytes]) -> None:
        """Serve raw files, behind a redirect."""
        for name, content in files.items():
            self._redirects[f"/{repository}/raw/{revision}/{name}"] = (
                f"/raw.host/{repository}/{revision}/{name}"
            )
            self._files[f"/raw.host/{repository}/{revision}/{name}"] = content

    def lead(self, path: str, address: str) -> None:
        """Answer requests for a path with a redirect."""
        self._redirects[path] = address

    def archive(self, repository: str, revision: str, content: bytes) -> None:
        """Serve a tarball, behind a redirect."""
        target = f"/codeload.host/{repository}/tar.gz/{revision}"
        self._redirects[f"/{repository}/archive/{revision}.tar.gz"] = target
        self._files[target] = content

    def hub(
        self, repository: str, files: Mapping[str, bytes], *, revision: str | None = None
    ) -> None:
        """Serve a dataset of the hub; None means any revision."""
        self._hub[repository] = (revision, dict(files))

    def modelscope(self, repository: str, files: Mapping[str, bytes]) -> None:
        """Serve a dataset of ModelScope, in any revision."""
        self._modelscope[repository] = dict(files)

    # Faults

    def fault(self, ending: str, *faults: Fault) -> None:
        """Let the next downloads of paths with this ending have these faults, in order."""
        self._faults[ending].extend(faults)

    def always(self, ending: str, fault: Fault | None) -> None:
        """Let every request for paths with this ending have a fault; None ends that."""
        if fault is None:
            self._always.pop(ending, None)
        else:
            self._always[ending] = fault

    # Received requests

    def downloads(self, ending: str) -> list[Asked]:
        """Return the requests for paths with this ending, without redirects."""
        return [
            request
            for request in self.asked
            if request.method == "GET"
            and request.path.endswith(ending)
            and request.path not in self._redirects
        ]

    def bytes_sent(self, ending: str) -> int:
        """Return the number of sent bytes of bodies for paths with this ending."""
        return sum(request.sent for request in self.downloads(ending))

    def forget(self) -> None:
        """Reset the counts."""
        self.asked.clear()

    # For the handler

    def note(self, request: Asked) -> None:
        with self._lock:
            self.asked.append(request)

    def fault_of(self, path: str, *, whole_body: bool) -> Fault:
        with self._lock:
            for ending, fault in self._always.items():
                if path.endswith(ending):
                    return fault
            for ending, waiting in self._faults.items():
                if path.endswith(ending) and waiting and whole_body:
                    return waiting.popleft()
        return Fault()


class _Handler(LoopbackHandler):
    methods = ("GET", "HEAD")

    def respond(self) -> None:
        owner = self.owner
        path = unquote(urlsplit(self.path).path)
        self.query = dict(parse_qsl(urlsplit(self.path).query))
        # Noted before the response, because the client may look right after it.
        self.noted = Asked(self.command, path, dict(self.headers.items()))
        owner.note(self.noted)
        with suppress(BrokenPipeError, ConnectionResetError):  # the client has gone
            self._route(path)

    def _route(self, path: str) -> None:
        owner = self.owner
        if path in owner._redirects:
            return self._reply(302, b"", {"Location": owner._redirects[path]})
        fault = owner.fault_of(path, whole_body=self.command == "GET")
        if path in owner._files:
            return self._file(owner._files[path], fault, {})
        for pattern, answer in (
            (r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self._hub_file),
            (r"/api/datasets/([^/]+/[^/]+)/revision/([^/]+)", self._hub_info),
            (r"/api/v1/datasets/([^/]+/[^/]+)/repo(/tree)?", self._scope),
        ):
            match = re.fullmatch(pattern, path)
            if match is not None:
                return answer(fault, *match.groups())
        if fault != Fault():
            return self._file(b"", fault, {})
        return self._reply(404, b"not found", {})

    def _known(self, repository: str, revision: str) -> dict[str, bytes] | None:
        """Return the files of a dataset; None after a reply that there are none."""
        pinned, files = self.owner._hub.get(repository, (None, None))
        if files is None:
            self._reply(404, b"{}", {"X-Error-Code": "RepoNotFound"})
            return None
        if pinned is not None and revision != pinned:
            self._reply(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return None
        return files

    def _hub_file(self, fault: Fault, repository: str, revision: str, name: str) -> None:
        files = self._known(repository, revision)
        if files is None:
            return None
        if name not in files:
            return self._reply(404, b"", {"X-Error-Code": "EntryNotFound"})
        commit = revision if re.fullmatch(r"[0-9a-f]{40}", revision) else COMMIT
        return self._file(files[name], fault, {"X-Repo-Commit": commit})

    def _scope(self, fault: Fault, repository: str, tree: str | None) -> None:
        """Reply as ModelScope: with a page of the listing, or a file."""
        files = self.owner._modelscope.get(repository)
        if files is None:
            return self._reply(404, b"{}", {})
        if tree is None:
            content = files.get(self.query["FilePath"])
            if content is None:
                return self._reply(404, b"{}", {})
            return self._file(content, fault, {})
        entries: list[dict[str, Any]] = [{"Type": "tree", "Path": "English", "Size": 0}]
        entries += [
            {"Type": "blob", "Path": name, "Sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        ]
        size, page = int(self.query["PageSize"]), int(self.query["PageNumber"])
        listing = {"Code": 200, "Data": {"Files": entries[size * (page - 1) : size * page]}}
        return self._file(json.dumps(listing).encode(), fault, {})

    def _hub_info(self, fault: Fault, repository: str, revision: str) -> None:
        files = self._known(repository, revision)
        if files is None:
            return None
        is_commit = re.fullmatch(r"[0-9a-f]{40}", revision)
        info: dict[str, Any] = {"id": repository, "sha": revision if is_commit else COMMIT}
        info["siblings"] = [{"rfilename": name, "size": len(files[name])} for name in files]
        for sibling in info["siblings"]:
            digest = self.owner.large_files.get(sibling["rfilename"])
            if digest is not None:
                sibling["lfs"] = {"size": 1, "sha256": digest, "pointerSize": 1}
        body = json.dumps(info).encode()
        return self._file(body, fault, {"Content-Type": "application/json"})

    def _file(self, content: bytes, fault: Fault, headers: Mapping[str, str]) -> None:
        if fault.page:
            page = b"<!DOCTYPE html><html><body>Please log in</body></html>"
            return self._reply(200, page, {"Content-Type": "text/html; charset=utf-8"})
        if fault.status != 200:
            return self._reply(fault.status, b"no", _merged(headers, fault.headers), fault)
        content = content if fault.body is None else fault.body
        etag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        base = {"ETag": etag, "Accept-Ranges": "bytes", **headers}
        if fault.corrupt:
            middle = len(content) // 2
            content = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        status, start = 200, 0
        range_match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        unchanged = self.headers.get("If-Range", etag) == etag
        if range_match and unchanged and not fault.ignore_range:
            status, start = 206, int(range_match[1])
            if start >= len(content):
                return self._reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            start = 0 if fault.wrong_range else start
            base["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return self._reply(status, content[start:], _merged(base, fault.headers), fault)

    def _reply(
        self, status: int, body: bytes, headers: Mapping[str, str], fault: Fault | None = None
    ) -> None:
        if fault is not None and fault.drip_head:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            return self._drip()
        self.send_response(status)
        self.send_header("Connection", "close")
        length = 10**9 if fault is not None and fault.drip else len(body)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return None
        fault = fault or Fault()
        if fault.drip:
            return self._drip()
        end = next((n for n in (fault.cut, fault.hold) if n is not None), len(body))
        self.noted.sent = len(body[:end])
        self.wfile.write(body[:end])
        self.wfile.flush()
        if fault.hold is not None:
            self.owner.closing.wait(60)
        return None

    def _drip(self) -> None:
        while not self.owner.closing.wait(0.01):
            self.wfile.write(b"x")


def _merged(base: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    merged: dict[str, str | None] = {**base, **changes}
    return {name: value for name, value in merged.items() if value is not None}
