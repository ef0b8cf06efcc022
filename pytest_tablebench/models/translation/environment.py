"""The environment variables that litellm reads, recorded while it is imported and used."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Environ = os._Environ[str]
else:
    _Environ = type(os.environ)

PLACEHOLDER = re.compile(r"TablebenchSlot[0-9a-f]{14}")
"""A text that replaces a secret or the text of a message."""

_SECRET = re.compile(r"key|token|secret|passw|credential|headers", re.IGNORECASE)
_UNRELATED = re.compile(
    r".*_proxy|COLUMNS|LINES|TERM|PWD|TE?MP|TMPDIR|TABLEBENCH_.*|PYTHON.*|_.*", re.IGNORECASE
)
"""Variables that change no request, or, as proxies, are looked up for each server."""


def placeholder() -> str:
    """Return a new text that matches `PLACEHOLDER`; it is also base64 of 21 bytes."""
    return f"TablebenchSlot{secrets.token_hex(7)}"


def is_secret(name: str) -> bool:
    """Return whether a variable's value must not be written to a file, not even as a digest."""
    return _SECRET.search(name) is not None


class RecordedEnvironment(_Environ):
    """`os.environ` that records the names that are read. Use `record` to install it."""

    names: set[str]
    originals: dict[str, str | None]
    """Values before this process changed them; None if the variable was not set."""
    disguises: Mapping[str, str]
    """Texts that replace the values of secret variables, by name."""

    def __getitem__(self, key: str) -> str:
        if isinstance(key, str):
            self.names.add(key)
            if key in self.disguises:
                return self.disguises[key]
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            self.names.add(key)
        return super().__contains__(key)

    def __setitem__(self, key: str, value: str) -> None:
        self.originals.setdefault(key, self._data_of(key))
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self.originals.setdefault(key, self._data_of(key))
        super().__delitem__(key)

    def original(self, key: str) -> str | None:
        """Return the value with which this process started."""
        return self.originals[key] if key in self.originals else self._data_of(key)

    def _data_of(self, key: str) -> str | None:
        try:
            return super().__getitem__(key)
        except KeyError:
            return None

    def items(self) -> ItemsView[str, str]:
        """Return names and values; reading all of them records none."""
        return dict(zip(self, map(super().__getitem__, self), strict=True)).items()


def record() -> RecordedEnvironment:
    """Replace `os.environ` by one that records, unless this was done; return it."""
    plain = os.environ
    if isinstance(plain, RecordedEnvironment):
        return plain
    # The class has no public way to share its data.
    parts: Any = plain
    recorded = RecordedEnvironment(
        parts._data, parts.encodekey, parts.decodekey, parts.encodevalue, parts.decodevalue
    )
    recorded.names, recorded.originals, recorded.disguises = set(), {}, {}
    os.environ = recorded  # noqa: B003 - it has the same data
    return recorded


@contextmanager
def disguised() -> Iterator[Mapping[str, str]]:
    """Let readers see placeholders instead of secrets; yield the placeholders by name."""
    recorded = record()
    recorded.disguises = {name: placeholder() for name in list(recorded) if is_secret(name)}
    try:
        yield recorded.disguises
    finally:
        recorded.disguises = {}


def fingerprint(names: Iterable[str], salt: str) -> dict[str, str | None]:
    """Return a digest of each variable as this process found it; None for one that is not set.

    Of a secret the digest only says that it is set.
    """
    return {name: _digest(name, salt) for name in sorted(names) if not _UNRELATED.fullmatch(name)}


def _digest(name: str, salt: str) -> str | None:
    value = record().original(name)
    if value is None:
        return None
    return salted("set" if is_secret(name) else value, salt)


def salted(text: str, salt: str) -> str:
    """Return a digest that does not show a short text: the salt is random."""
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.blake2b(data, key=bytes.fromhex(salt), digest_size=8).hexdigest()
