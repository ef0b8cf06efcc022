"""Removal of keys, tokens and passwords from everything that is written."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

BY_PLACE = frozenset({"extra_headers", "extra_query"})
"""Parameters whose values are all secrets, because any gateway may use them for keys."""

HIDDEN = "***"
_SECRET_NAME = re.compile(
    # A price "per token" and the tokens that begin or end a text are not secrets.
    r"(api|private|access)[-_]?key|secret|passw|authorization|header|credential|^key$|"
    r"(?<!per_)(?<!bos_)(?<!eos_)(?<!pad_)(?<!unk_)(?<!stop_)token$",
    re.IGNORECASE,
)
_HEADERS = re.compile(r"headers$", re.IGNORECASE)
_PLACE = re.compile(r"headers$|(^|_)(extra|default)_query$", re.IGNORECASE)
_DIGEST = re.compile(r"sha256:[0-9a-f]{12}")
_SECRET_VARIABLE = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_SECRET_TEXT = (
    (re.compile(r"\b(bearer|basic)\s+[^\s'\",;}]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"([?&][\w-]*(?:key|token|sig)[\w-]*=)[^&\s]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (
        re.compile(
            r"((?:api|access|secret|auth)[-_ ]?(?:key|token)|authorization)"
            r"(['\"]?\s*[:=]\s*['\"]?)(?!bearer|basic)[^\s'\",;&}]+",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"\bsk-[\w*.-]{4,}"), HIDDEN),
)
_ADDRESS = re.compile(r"://[^\s\"'<>]+")
_KEY_BEFORE = re.compile(r"(api[-_]?)?keys?|tokens?|secrets?", re.IGNORECASE)
"""A segment of a path after which a key follows."""

_KEY_SEGMENT = re.compile(
    r"(?:sk|pk|rk|xai|key|token|api[-_]?key)[-_]\S{8}|(?:gsk|hf|ghp)_\S{8}|"
    r"(?<![A-Za-z0-9])(?:"
    r"(?=[A-Za-z0-9]*[A-Za-z])(?=(?:[A-Za-z]*[0-9]){2})[A-Za-z0-9]{16}|"
    r"(?=(?:[A-Za-z]*[0-9]+[A-Za-z]+){2})[A-Za-z0-9]{10})|"
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    re.IGNORECASE,
)
"""The prefix of a key, letters mixed with digits, or a UUID, but no model's name."""

_DISTINCT = re.compile(r"(?=.*[A-Za-z])(?=.*[^A-Za-z\s]).{8,}", re.DOTALL)
"""A secret that no answer contains by chance."""

_SHORTEST = 6
"""Shorter values of the environment occur in texts by chance and are not removed."""

_SHORTEST_PLACED = 4
"""The same for values at places that contain only secrets."""


def digest(value: object) -> str:
    """Return what replaces a secret that answers may depend on.

    It has twelve digits of the SHA-256 of the secret's JSON, so different values stay distinct. The
    digest of a digest is that digest.
    """
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return value
    text = json.dumps(value, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def placed_secrets(address: str | None, params: Mapping[str, Any]) -> frozenset[str]:
    """Return the secrets of an address and of parameters, for `redact`.

    They are user name, password, query and `path_keys` of the address, and the values of
    `BY_PLACE`.
    """
    secrets = set(_of_address(address or ""))
    for name in BY_PLACE & params.keys():
        for text in _leaves(params[name]):
            secrets |= {text, text.rpartition(" ")[2]}  # of `Bearer KEY` also the key
    secrets |= {unquote(text) for text in secrets}
    return frozenset(text for text in secrets if len(text) >= _SHORTEST_PLACED)


def _of_address(address: str) -> Iterator[str]:
    user, _, rest = address.partition("://")[2].rpartition("@")
    yield from (user, *user.partition(":")[::2])
    path, _, query = rest.partition("#")[0].partition("?")
    yield from path_keys(path)
    yield query
    for part in query.split("&"):
        yield part.partition("=")[2]
    for _, value in parse_qsl(query):
        yield value


def path_keys(path: str) -> list[str]:
    """Return the segments of an address's path that are keys, by their look or the environment.

    The text before the first slash is the host.
    """
    return [*_path_keys(path, _variables())]


@lru_cache(maxsize=64)  # every call has one of a few addresses
def _path_keys(path: str, variables: frozenset[str]) -> tuple[str, ...]:
    before, keys = "", []
    for segment in path.split("/")[1:]:
        text = unquote(segment)
        is_key = _KEY_SEGMENT.search(text) or any(variable in text for variable in variables)
        if _DIGEST.fullmatch(segment) is None and (is_key or (_KEY_BEFORE.fullmatch(before))):
            keys.append(segment)
        before = text
    return tuple(key for key in keys if key)


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield str(value)


def secret_name(name: str, value: object) -> str | None:
    """Return the first name of a key or token: the value's own, or one inside it."""
    if _is_secret(name, value):
        return name
    inside: Iterable[tuple[str, object]] = ()
    if isinstance(value, Mapping):
        inside = [(str(name), content) for name, content in value.items()]
    elif isinstance(value, list | tuple):
        inside = [("", content) for content in value]
    return next(filter(None, (secret_name(*entry) for entry in inside)), None)


def _is_secret(name: str, value: object) -> bool:
    # A mapping is searched instead: in a JSON schema it describes a field of that name.
    if isinstance(value, Mapping):
        return _HEADERS.search(name) is not None
    return _SECRET_NAME.search(name) is not None


def without_secrets(value: object) -> Any:
    """Return the value as plain JSON, with everything that looks like a key replaced by `***`.

    Numbers that JSON lacks (NaN, infinity) become None.
    """
    return _scrub(value, _variables())


def keys_in_use(placed: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the secrets that replies must not contain: the environment's, and `placed` ones.

    Leaves out secrets that may occur in an answer by chance, such as a short one, a word or, at a
    place, a date or a media type.
    """
    placed = frozenset(text for text in placed if any(map(str.isdigit, text)))
    return frozenset(filter(_DISTINCT.match, _variables() | placed))


def without_keys(text: str, keys: Iterable[str]) -> str:
    """Return a text in which `***` replaces each of the keys."""
    # The longest first: removing a part of it first would leave the rest.
    for key in sorted(keys, key=len, reverse=True):
        text = text.replace(key, HIDDEN)
    return text


def redact(text: str, placed: frozenset[str] = frozenset()) -> str:
    """Return a text without keys, tokens and passwords; `placed` are known secrets."""
    return _ADDRESS.sub(_without_path_keys, _redacted_text(text, _variables() | placed))


def _without_path_keys(address: re.Match[str]) -> str:
    keys = path_keys(address[0].removeprefix("://"))
    return "/".join(HIDDEN if part in keys else part for part in address[0].split("/"))


def _variables() -> frozenset[str]:
    """Return the secret values of the environment, without blanks and line ends."""
    texts = (os.environ.get(name, "").strip() for name in os.environ if _is_secret_variable(name))
    return frozenset(text for text in texts if len(text) >= _SHORTEST)


@lru_cache(maxsize=4096)
def _is_secret_variable(name: str) -> bool:
    return _SECRET_VARIABLE.search(name) is not None


def _scrub(value: object, variables: frozenset[str]) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            _redacted_text(str(name), variables): _content(str(name), content, variables)
            for name, content in value.items()
        }
    if isinstance(value, list | tuple):
        return [_scrub(item, variables) for item in value]
    return _redacted_text(str(value), variables)


def _content(name: str, content: object, variables: frozenset[str]) -> Any:
    if _PLACE.search(name):
        return _digests(content, variables)
    return HIDDEN if _is_secret(name, content) else _scrub(content, variables)


def _digests(content: object, variables: frozenset[str]) -> Any:
    if isinstance(content, Mapping):
        return {
            _redacted_text(str(name), variables): _digests(inner, variables)
            for name, inner in content.items()
        }
    if isinstance(content, list | tuple):
        return [_digests(inner, variables) for inner in content]
    return digest(content)


def _redacted_text(text: str, variables: frozenset[str]) -> str:
    text = without_keys(text, variables)
    # User name and password end with the last @: an unescaped password may contain others.
    text = _ADDRESS.sub(
        lambda match: f"://{HIDDEN}@{match[0].rpartition('@')[2]}" if "@" in match[0] else match[0],
        text,
    )
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text
