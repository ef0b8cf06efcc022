"""What ModelScope says of a dataset's files: their addresses, and their digests."""

from __future__ import annotations

import json
import re
from urllib.parse import quote, urlencode

from pytest_tablebench.datasets.pull._hub import MAX_LISTING, MAX_NAME, MAX_PAGES, Facts
from pytest_tablebench.datasets.pull._replies import PASSING, NoAccess, PassingFailure, Remote
from pytest_tablebench.datasets.pull._transfer import Transfer
from pytest_tablebench.datasets.pull._upstream import File, Upstream, chosen
from pytest_tablebench.errors import DataError

PAGE_SIZE = 200
_STRANGE = "the server does not answer as ModelScope does"


def modelscope_files(
    upstream: Upstream, revision: str, *, endpoint: str, transfer: Transfer
) -> tuple[tuple[File, ...], dict[str, str]]:
    """Return the files of the table of sources that are there, and the digests stated of them."""
    url = f"{endpoint}/datasets/{upstream.repository}"
    stated: dict[str, str] = {}
    for page in range(1, MAX_PAGES + 1):
        entries, found = _page(upstream, revision, page, endpoint, transfer)
        stated |= found
        if entries < PAGE_SIZE:
            return chosen(upstream, sorted(stated), f"{url} at {revision}"), stated
    raise DataError(f"{url}: the listing has more than {MAX_PAGES} pages")


def modelscope_facts(
    upstream: Upstream, path: str, revision: str, sha256: str, *, endpoint: str
) -> Facts:
    """Return where a file's bytes are; `sha256` is what the listing says of it."""
    query = urlencode({"Revision": revision, "FilePath": path}, quote_via=quote)
    remote = Remote(f"{endpoint}/api/v1/datasets/{upstream.repository}/repo?{query}")
    return Facts(remote, None, sha256 if re.fullmatch(r"[0-9a-f]{64}", sha256) else None)


def _page(
    upstream: Upstream, revision: str, page: int, endpoint: str, transfer: Transfer
) -> tuple[int, dict[str, str]]:
    """Return how many entries a page of the listing has, and what it says of the files' SHA-256."""
    query = {"Revision": revision, "Recursive": "true", "PageSize": PAGE_SIZE, "PageNumber": page}
    url = f"{endpoint}/api/v1/datasets/{upstream.repository}/repo/tree?{urlencode(query)}"

    def attempt() -> bytes:
        found = transfer.ask("GET", Remote(url), MAX_LISTING)
        if found.status in PASSING:
            raise PassingFailure(f"the server answered {found.status}")
        if found.status in (401, 403, 404):
            raise NoAccess(f"{url}: the server has no such dataset, or not for everybody")
        if found.status != 200:
            raise DataError(f"{url}: the server answered {found.status}")
        return found.body

    body = transfer.retry(attempt, url, lambda: 0)
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
    return len(entries), files
