"""Content: the output of a serializer, and the content of a message.

A text is a `str`. Content with pictures is a tuple of parts, each a `str` or an `Image`. Requests,
the store, records and pages refer to a picture by the SHA-256 of its bytes. The bytes are stored
once, in `media/` of the run folder, and read from there when they are sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Image:
    """A picture.

    Arguments:
        media_type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        data: the bytes of its file.

    Raises:
        SettingsError: for any other media type.
    """

    media_type: str
    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.media_type not in _SUFFIXES:
            raise SettingsError(
                f"an image of type {self.media_type!r}; models take {', '.join(_SUFFIXES)}"
            )

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the bytes, as 64 hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def file_name(self) -> str:
        """The name of its file in `media/`."""
        return f"{self.digest}.{_SUFFIXES[self.media_type]}"


Content = str | tuple[str | Image, ...]
"""A text, or parts in the order in which they are shown."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation: text, or text and pictures."""

    role: str
    content: Content


def text_of(content: Content) -> str:
    """Return the content as text, with a line that names the file of each picture."""
    if isinstance(content, str):
        return content
    return "".join(
        part if isinstance(part, str) else f"\n[image {part.file_name}]\n" for part in content
    )


def has_content(value: object) -> bool:
    """Return whether a value is content and not empty; text of white space only is empty."""
    if isinstance(value, str):
        return bool(value.strip())
    if not isinstance(value, tuple):
        return False
    return bool(value) and all(isinstance(part, str | Image) for part in value)


def images_of(content: Content) -> tuple[Image, ...]:
    """Return the pictures, in order."""
    if isinstance(content, str):
        return ()
    return tuple(part for part in content if isinstance(part, Image))


def joined(contents: Sequence[Content]) -> Content:
    """Return contents joined by empty lines."""
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(map(str, contents))
    parts: list[str | Image] = []
    for content in contents:
        parts += [
            *(["\n\n"] if parts else []),
            *([content] if isinstance(content, str) else content),
        ]
    return tuple(parts)


def to_fields(content: Content) -> Any:
    """Return the content as JSON values, with pictures as digest and media type."""
    if isinstance(content, str):
        return content
    return [
        part if isinstance(part, str) else {"image": part.digest, "media_type": part.media_type}
        for part in content
    ]


def digest_of(content: Content) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text, or of parts as JSON."""
    return _digest(content if isinstance(content, str) else json.dumps(to_fields(content)))


@lru_cache(maxsize=8)
def _digest(text: str) -> str:
    # The record, the page and the run writer need the digest of one prompt in quick succession.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_fields(fields: Any, media: Path) -> Content:
    """Return the content that `to_fields` wrote, with pictures read from the folder `media`.

    Raises `OSError` for a missing picture, and `ValueError` for one whose bytes have changed.
    """
    if isinstance(fields, str):
        return fields
    return tuple(part if isinstance(part, str) else _read_image(part, media) for part in fields)


def image_names(fields: Any) -> list[str]:
    """Return the file names of the pictures in the output of `to_fields`."""
    parts = () if isinstance(fields, str) else fields
    return [
        f"{part['image']}.{_SUFFIXES[part['media_type']]}"
        for part in parts
        if not isinstance(part, str)
    ]


def _read_image(part: Mapping[str, str], media: Path) -> Image:
    digest, kind = part["image"], part["media_type"]
    if not _DIGEST.fullmatch(digest) or kind not in _SUFFIXES:
        raise ValueError("not one of our pictures")
    image = Image(kind, (media / f"{digest}.{_SUFFIXES[kind]}").read_bytes())
    if image.digest != digest:
        raise ValueError(f"{digest}: the bytes of this picture have changed")
    return image


class Marks:
    """Placeholders for pictures while a prompt is assembled as one text.

    A mark is the picture's digest between two private-use characters. Only marks that this object
    made become pictures again. If data contains such a mark, the worst result is that a picture of
    the same prompt is shown twice.
    """

    def __init__(self) -> None:
        self._images: dict[str, Image] = {}

    def mark(self, content: Content) -> str:
        """Return the content as one text, with a mark for each picture."""
        if isinstance(content, str):
            return content
        return "".join(part if isinstance(part, str) else self._given(part) for part in content)

    def _given(self, image: Image) -> str:
        mark = f"\ue000{image.digest}\ue001"
        self._images[mark] = image
        return mark

    def include(self, others: Marks) -> None:
        """Add the marks of another object, whose text becomes part of this one's."""
        self._images |= others._images

    def resolve(self, text: str) -> Content:
        """Return the text with its marks turned back into pictures."""
        if not self._images:
            return text
        parts = re.split(f"({'|'.join(map(re.escape, self._images))})", text)
        return tuple(self._images.get(part, part) for part in parts if part)
