"""Addresses of model servers, and texts for HTTP headers: what may be written, what can be sent."""

from __future__ import annotations

import re

from pytest_tablebench.config.secrets import digest

__all__ = ["address_fault", "header_fault", "is_shared", "shared_fault", "without_credentials"]


def without_credentials(url: str) -> str:
    """Return an address in the form that may be written: a digest in place of its query.

    User name and password are left out. They end with the last `@`, whatever stands before it;
    where that may as well belong to the path, a digest of it tells two addresses apart. The
    fragment is left out as well: no server sees it.
    """
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    user, _, rest = rest.rpartition("@")
    rest, _, query = rest.partition("#")[0].partition("?")
    hidden = f"{user}@{query}" if _ENDS_AUTHORITY.search(user) else query
    return f"{scheme}{mark}{rest}{'?' if hidden else ''}{digest(hidden) if hidden else ''}"


def address_fault(url: str) -> str | None:
    """Return what keeps a URL from being the address of a model's server, without repeating it."""
    host = re.match(r"https?://[^/?#]", url)
    if host is None:
        return "has to start with http:// or https:// and a host, as in http://localhost:8000/v1"
    if not url.isprintable() or " " in url:
        return "holds a blank, a line end or another character that HTTP cannot send"
    if _ENDS_AUTHORITY.search(url.partition("://")[2].rpartition("@")[0]):
        return (
            "has an @ behind a /, ? or #: write %2F, %3F and %23 in a user name or password, and "
            "%40 in a path"
        )
    return None


def is_shared(text: str) -> bool:
    """Whether a text is the address of a shared answer store, and not a folder."""
    return _SCHEME.match(text) is not None


def shared_fault(address: str) -> str | None:
    """Return what keeps an address from being that of a shared store, without repeating it."""
    if "@" in address or "?" in address or "#" in address:
        return (
            "a user name, a key or a query is never taken here, as addresses are written down; "
            "set the provider's environment variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, "
            "GOOGLE_APPLICATION_CREDENTIALS, ...)"
        )
    if not address.isprintable() or not address.partition("://")[2].strip("/"):
        return "names no place; write it as s3://bucket/answers"
    return None


def header_fault(text: str) -> str | None:
    """Return what keeps a text from being sent in a header of HTTP; None where nothing does."""
    if "\n" in text or "\r" in text:
        return "a line end"
    if not text.isascii():
        return "characters outside ASCII"
    return None if text.replace("\t", " ").isprintable() else "a control character"


_ENDS_AUTHORITY = re.compile(r"[/?#]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[a-z0-9]+)*://")
