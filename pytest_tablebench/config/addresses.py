"""Checks of addresses and HTTP headers, and the form of an address that may be written."""

from __future__ import annotations

import re

from pytest_tablebench.config.secrets import digest, path_keys

__all__ = ["address_fault", "header_fault", "is_shared", "shared_fault", "without_credentials"]


def without_credentials(url: str) -> str:
    """Return an address without credentials and fragment.

    A digest replaces its query, and each segment of its path that is a key. User name and password
    end with the last `@`. If that text may also belong to the path, a digest of it keeps two
    addresses distinct.
    """
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    user, _, rest = rest.rpartition("@")
    rest, _, query = rest.partition("#")[0].partition("?")
    keys = path_keys(rest) if scheme.lower() in {"", "http", "https"} else ()
    rest = "/".join(digest(part) if part in keys else part for part in rest.split("/"))
    hidden = f"{user}@{query}" if _ENDS_AUTHORITY.search(user) else query
    return f"{scheme}{mark}{rest}{'?' if hidden else ''}{digest(hidden) if hidden else ''}"


def address_fault(url: str) -> str | None:
    """Return why a URL is not the address of a model's server, or None; never quotes the URL."""
    host = re.match(r"https?://[^/?#]", url)
    if host is None:
        return "must start with http:// or https:// and a host, as in http://localhost:8000/v1"
    if not url.isprintable() or " " in url:
        return "contains a blank, a line end or another character that HTTP cannot send"
    if _ENDS_AUTHORITY.search(url.partition("://")[2].rpartition("@")[0]):
        return (
            "has an @ after a /, ? or #: write %2F, %3F and %23 in a user name or password, and "
            "%40 in a path"
        )
    return None


def is_shared(text: str) -> bool:
    """Return whether a text is the address of a shared store rather than a folder."""
    return _SCHEME.match(text) is not None


def shared_fault(address: str) -> str | None:
    """Return why a text is not the address of a shared store, or None; never quotes the text."""
    if "@" in address or "?" in address or "#" in address:
        return (
            "contains a user name, a key or a query, but addresses are written to files; "
            "set the provider's environment variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, "
            "GOOGLE_APPLICATION_CREDENTIALS, ...)"
        )
    if not address.isprintable() or not address.partition("://")[2].strip("/"):
        return "has no bucket; write it as s3://bucket/answers"
    return None


def header_fault(text: str) -> str | None:
    """Return why an HTTP header cannot contain a text, or None."""
    if "\n" in text or "\r" in text:
        return "a line end"
    if not text.isascii():
        return "characters outside ASCII"
    return None if text.replace("\t", " ").isprintable() else "a control character"


_ENDS_AUTHORITY = re.compile(r"[/?#]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[a-z0-9]+)*://")
