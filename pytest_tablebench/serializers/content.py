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
from typing import Any, NamedTuple

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


class ToolCall(NamedTuple):
    """A call of a tool by a model.

    Arguments:
        id: the provider's id of the call, with which its result is sent.
        name, arguments: as the model wrote them; the arguments should be a JSON object.
        further: JSON of the provider's further fields, which it wants back unchanged.
    """

    id: str
    name: str
    arguments: str
    further: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


class ToolResult(NamedTuple):
    """The result of a tool call, for the model."""

    id: str
    text: str

    def __str__(self) -> str:
        return self.text


class SentBack(NamedTuple):
    """JSON of the fields of a model's message that its provider wants back unchanged.

    They are its thoughts, signed or encrypted. They are no text of the conversation.
    """

    fields: str


Part = str | Image | ToolCall | ToolResult | SentBack

Content = str | tuple[Part, ...]
"""A text, or parts in the order in which they are shown."""

_OF_TOOLS: dict[str, type[ToolCall] | type[ToolResult] | type[SentBack]] = {
    "call": ToolCall,
    "result": ToolResult,
    "sent_back": SentBack,
}
"""The parts with names, by their key in JSON."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation: text, or text with pictures, tool calls or a tool's result."""

    role: str
    content: Content


def text_of(content: Content) -> str:
    """Return the content as text, with a line for each tool call and each picture's file."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if not isinstance(part, SentBack)]
    text = "".join(map(_text_of, parts))
    return text[1:] if parts and isinstance(parts[0], ToolCall) else text


def _text_of(part: Part) -> str:
    if isinstance(part, Image):
        return f"\n[image {part.file_name}]\n"
    return f"\n{part}" if isinstance(part, ToolCall) else str(part)


def has_content(value: object) -> bool:
    """Return whether a value is content and not empty; text of white space only is empty."""
    if isinstance(value, str):
        return bool(value.strip())
    if not isinstance(value, tuple):
        return False
    return bool(value) and all(isinstance(part, Part) for part in value)


def images_of(content: Content) -> tuple[Image, ...]:
    """Return the pictures, in order."""
    if isinstance(content, str):
        return ()
    return tuple(part for part in content if isinstance(part, Image))


def joined(contents: Sequence[Content]) -> Content:
    """Return contents joined by empty lines."""
    if all(isinstance(content, str) for content in contents):
        return "\n\n".join(map(str, contents))
    parts: list[Part] = []
    for content in contents:
        parts += [
            *(["\n\n"] if parts else []),
            *([content] if isinstance(content, str) else content),
        ]
    return tuple(parts)


def to_fields(content: Content) -> Any:
    """Return the content as JSON values, with pictures as digest and media type."""
    return content if isinstance(content, str) else [*map(_part_fields, content)]


def _part_fields(part: Part) -> Any:
    if isinstance(part, Image):
        return {"image": part.digest, "media_type": part.media_type}
    names = (name for name, kind in _OF_TOOLS.items() if isinstance(part, kind))
    return part if isinstance(part, str) else {next(names): list(part)}


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
    return tuple(part if isinstance(part, str) else _read_part(part, media) for part in fields)


def _read_part(part: Mapping[str, Any], media: Path) -> Part:
    if "image" in part:
        return _read_image(part, media)
    ((name, values),) = part.items()
    return _OF_TOOLS[name](*values)


def image_names(fields: Any) -> list[str]:
    """Return the file names of the pictures in the output of `to_fields`."""
    parts = () if isinstance(fields, str) else fields
    return [
        f"{part['image']}.{_SUFFIXES[part['media_type']]}"
        for part in parts
        if "image" in part and not isinstance(part, str)
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
        return "".join(
            self._given(part) if isinstance(part, Image) else str(part) for part in content
        )

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
