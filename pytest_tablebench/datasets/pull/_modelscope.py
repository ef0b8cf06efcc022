"""Addresses and digests of files on ModelScope."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from pytest_tablebench.datasets.pull._hub import MAX_LISTING, MAX_NAME, MAX_PAGES, Facts, FileServer
from pytest_tablebench.datasets.pull._replies import PASSING, NoAccess, PassingFailure, Remote
from pytest_tablebench.datasets.pull._upstream import File, chosen
from pytest_tablebench.errors import DataError

PAGE_SIZE = 200
_STRANGE = "the server does not answer as ModelScope does"


@dataclass
class ModelScope(FileServer):
    """ModelScope, whose listing states the SHA-256 of each file."""

    _digests: dict[str, str] = field(default_factory=dict)

    def files(self, revision: str) -> tuple[File, ...]:
        """Read the listing, and return the source's files with patterns replaced."""
        url = f"{self.endpoint}/datasets/{self.upstream.repository}"
        for page in range(1, MAX_PAGES + 1):
            if self._read_page(revision, page) < PAGE_SIZE:
                return chosen(self.upstream, list(self._digests), f"{url} at {revision}")
        raise DataError(f"{url}: the listing has more than {MAX_PAGES} pages")

    def facts(self, path: str, revision: str) -> Facts:
        """Return a file's address, and its digest in the listing."""
        query = urlencode({"Revision": revision, "FilePath": path}, quote_via=quote)
        url = f"{self.endpoint}/api/v1/datasets/{self.upstream.repository}/repo?{query}"
        sha256 = self._digests.get(path, "")
        is_digest = re.fullmatch(r"[0-9a-f]{64}", sha256) is not None
        return Facts(Remote(url), sha256=sha256 if is_digest else None)

    def _read_page(self, revision: str, page: int) -> int:
        """Record the digests on a page of the listing; return its number of entries."""
        query = {
            "Revision": revision,
            "Recursive": "true",
            "PageSize": PAGE_SIZE,
            "PageNumber": page,
        }
        listing = f"{self.endpoint}/api/v1/datasets/{self.upstream.repository}/repo/tree"
        url = f"{listing}?{urlencode(query)}"

        def attempt() -> bytes:
            response = self.transfer.ask("GET", Remote(url), MAX_LISTING)
            if response.status in PASSING:
                raise PassingFailure(f"the server answered {response.status}")
            if response.status in (401, 403, 404):
                raise NoAccess(f"{url}: the dataset does not exist on the server, or is not public")
            if response.status != 200:
                raise DataError(f"{url}: the server answered {response.status}")
            return response.body

        body = self.transfer.retry(attempt, url, lambda: 0)
        try:
            entries = json.loads(body)["Data"]["Files"] or []
            files = {
                entry["Path"]: str(entry.get("Sha256") or "").lower()
                for entry in entries
                if entry["Type"] != "tree"
            }
            sound = all(isinstance(path, str) and len(path) <= MAX_NAME for path in files)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"{url}: {_STRANGE} ({type(error).__name__})") from None
        if not sound:
            raise DataError(f"{url}: {_STRANGE}")
        self._digests |= files
        return len(entries)
