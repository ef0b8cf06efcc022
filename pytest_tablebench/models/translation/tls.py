"""How litellm verifies servers, as data from which the same SSL context is made again."""

from __future__ import annotations

import hashlib
import os
import ssl
from functools import lru_cache
from typing import Any

import certifi


def described(tls: Any) -> Any:
    """Return an SSL context as values of JSON; None if `rebuilt` would make another one."""
    if isinstance(tls, bool):
        return tls
    if not isinstance(tls, ssl.SSLContext) or os.environ.get("SSL_ECDH_CURVE"):
        return None  # a context does not say which curves it takes
    fields = _fields(tls)
    return fields if _fields(_context(_ciphers(fields))) == fields else None


def rebuilt(fields: Any) -> Any:
    """Return what `described` was given, as aiohttp takes it.

    Raises:
        ValueError: the certificates on this machine have changed.
    """
    if isinstance(fields, bool):
        return fields
    context = _context(_ciphers(fields))
    if _fields(context) != fields:
        raise ValueError("the certificates have changed")
    return context


def _ciphers(fields: dict[str, Any]) -> str:
    # OpenSSL chooses the suites of TLS 1.3 itself.
    return ":".join(name for name in fields["ciphers"] if not name.startswith("TLS_"))


@lru_cache(maxsize=4)
def _context(ciphers: str) -> ssl.SSLContext:
    bundle = os.environ.get("SSL_CERT_FILE")
    context = ssl.create_default_context(
        cafile=bundle if bundle and os.path.exists(bundle) else certifi.where()  # noqa: PTH110 - as litellm
    )
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    return context


def _fields(context: ssl.SSLContext) -> dict[str, Any]:
    certificates = hashlib.sha256()
    for certificate in sorted(context.get_ca_certs(binary_form=True)):
        certificates.update(certificate)
    return {
        "verify": [int(context.verify_mode), context.check_hostname, int(context.verify_flags)],
        "versions": [int(context.minimum_version), int(context.maximum_version)],
        "options": int(context.options),
        "ciphers": [cipher["name"] for cipher in context.get_ciphers()],
        "certificates": certificates.hexdigest(),
    }
