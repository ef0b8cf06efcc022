"""Addresses and digests of files on ModelScope."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from pytest_tablebench.datasets.pull._hub import FileServer, checked_name, hex_digest
from pytest_tablebench.datasets.pull._replies import Remote
from pytest_tablebench.datasets.pull._upstream import File, chosen
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.entries import parsed_json

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
        try:
            entries = parsed_json(body)["Data"]["Files"] or []
            self._digests |= {
                checked_name(entry["Path"]): hex_digest(str(entry.get("Sha256")).lower(), 64)
                for entry in entries
                if entry["Type"] != "tree"
            }
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            kind = type(error).__name__
            raise DataError(
                f"{url}: the server does not answer as ModelScope does ({kind})"
            ) from None
        return len(entries)
