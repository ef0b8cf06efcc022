"""What Hugging Face says of a file: its address, its commit, its digest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pytest_tablebench.datasets.pull._transfer import (
    PASSING,
    NoAccess,
    NotThere,
    PassingFailure,
    Remote,
    Transfer,
)
from pytest_tablebench.datasets.pull._upstream import File, Upstream, is_pattern, matches
from pytest_tablebench.errors import DataError

__all__ = ["Facts", "hub_facts", "hub_files"]

T = TypeVar("T")

_STRANGE = "the server does not answer as Hugging Face does"


@dataclass(frozen=True)
class Facts:
    """A file of the hub: where its bytes are, the commit, and its SHA-256 where it is stated."""

    remote: Remote
    commit: str | None
    sha256: str | None


def hub_facts(
    upstream: Upstream, path: str, revision: str, *, endpoint: str, transfer: Transfer
) -> Facts:
    """Ask for a file's metadata; the bytes are fetched by `Transfer`.

    huggingface_hub itself throws an unfinished file away when its process ends, so it only
    says where the file is, with the token of the user's log-in.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    url = hf_hub_url(
        upstream.repository, path, repo_type="dataset", revision=revision, endpoint=endpoint
    )
    headers = build_hf_headers(library_name="pytest-tablebench")
    found = _ask(
        lambda: get_hf_file_metadata(url, headers=headers, endpoint=endpoint), url, transfer
    )
    # The tag of a large file is its SHA-256; that of a small one is git's own digest.
    etag = found.etag or ""
    sha256 = etag if re.fullmatch(r"[0-9a-f]{64}", etag) else None
    return Facts(Remote(url, headers), found.commit_hash, sha256)


def hub_files(
    upstream: Upstream, revision: str, *, endpoint: str, transfer: Transfer
) -> tuple[File, ...]:
    """Return the files of the table of sources, patterns replaced by what the hub has."""
    if not any(is_pattern(file.path) for file in upstream.files):
        return upstream.files
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    url = f"{endpoint}/datasets/{upstream.repository}"

    def listing() -> list[str]:
        tree = HfApi(endpoint=endpoint).list_repo_tree(
            upstream.repository, repo_type="dataset", revision=revision, recursive=True
        )
        return sorted(entry.path for entry in tree if isinstance(entry, RepoFile))

    paths = _ask(listing, url, transfer)
    files: list[File] = []
    for file in upstream.files:
        found = [path for path in paths if matches(path, file.path)]
        if not found:
            raise DataError(f"{url} has no {file.path} at {revision}")
        files += [File(path) for path in found] if is_pattern(file.path) else [file]
    return tuple(files)


def _ask(question: Callable[[], T], url: str, transfer: Transfer) -> T:
    import httpx

    def attempt() -> T:
        try:
            with _translated(url):
                return question()
        except httpx.TransportError:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError) as error:
            raise DataError(f"{url}: {_STRANGE} ({type(error).__name__})") from None

    return transfer.retry(attempt, url, lambda: 0)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Turn the library's errors into ours, on one line."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        FileMetadataError,
        GatedRepoError,
        HfHubHTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GatedRepoError:
        raise NoAccess(f"{url}: the server gives this only to people who asked for it") from None
    except RevisionNotFoundError:
        raise DataError(f"{url}: the server does not know this revision") from None
    except RepositoryNotFoundError:
        raise NoAccess(f"{url}: the server has no such dataset, or not for everybody") from None
    except EntryNotFoundError:
        raise NotThere(f"{url}: there is no such file (any more)") from None
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status in PASSING:
            raise PassingFailure(f"the server answered {status}") from None
        kind = NoAccess if status in (401, 403) else DataError
        raise kind(f"{url}: the server answered {status}") from None
    except OfflineModeIsEnabled:
        raise DataError(f"{url}: HF_HUB_OFFLINE is set, so nothing is asked for") from None
    except FileMetadataError:
        raise DataError(f"{url}: {_STRANGE}") from None
