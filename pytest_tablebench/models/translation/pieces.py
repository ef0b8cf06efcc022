"""Texts with slots: the parts of a request that change from call to call or must not be kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_tablebench.models.base import Message
from pytest_tablebench.models.translation.environment import PLACEHOLDER, placeholder
from pytest_tablebench.serializers.content import Content, Image

Slot = tuple[str, ...]
"""`("env", NAME)`, `("key",)`, `("header", NAME)` or `("part", NUMBER)`."""

Values = Mapping[Slot, str]
"""The text for each slot."""


@dataclass(frozen=True)
class Pieces:
    """A text in pieces: fixed texts, and between them the names of slots."""

    parts: tuple[str | Slot, ...]

    @classmethod
    def of(cls, text: str, slots: Mapping[str, Slot]) -> Pieces:
        """Split a text at the placeholders of slots."""
        parts: list[str | Slot] = []
        end = 0
        for match in PLACEHOLDER.finditer(text):
            if match[0] in slots:
                parts += [text[end : match.start()], slots[match[0]]]
                end = match.end()
        return cls((*parts, text[end:]))

    @classmethod
    def read(cls, value: object) -> Pieces:
        """Read the form that `to_json` returns. Raises `TypeError` for anything else."""
        if not isinstance(value, list):
            raise TypeError(value)
        for part in value:
            texts = part if isinstance(part, list) else [part]
            if not all(isinstance(text, str) for text in texts):
                raise TypeError(part)
        return cls(tuple(tuple(part) if isinstance(part, list) else part for part in value))

    def to_json(self) -> list[object]:
        """Return the pieces as values of JSON."""
        return [part if isinstance(part, str) else list(part) for part in self.parts]

    def fill(self, values: Values, encode: Callable[[str], str] = str) -> str:
        """Return the text with values in its slots. Raises `KeyError` for a missing value.

        `encode` changes a value to its form in the text.
        """
        return "".join(
            part if isinstance(part, str) else encode(values[part]) for part in self.parts
        )


def shape(messages: Sequence[Message]) -> str:
    """Return the roles and kinds of content of messages.

    Translations of messages of one shape differ only in their texts and pictures.
    """
    return json.dumps([[message.role, _kind(message.content)] for message in messages])


def _kind(content: Content) -> object:
    if isinstance(content, str):
        return _kind_of_text(content)
    return [
        _kind_of_text(part) if isinstance(part, str) else f"image {part.media_type}"
        for part in content
    ]


def _kind_of_text(text: str) -> str:
    if not text:
        return "empty"
    return "text" if text.strip() == text else "text with blank ends"


def texts_of(messages: Iterable[Message]) -> list[str]:
    """Return all texts, and pictures in base64, in order."""
    contents = [message.content for message in messages]
    parts = [part for text in contents for part in ((text,) if isinstance(text, str) else text)]
    return [
        part if isinstance(part, str) else base64.b64encode(part.data).decode() for part in parts
    ]


def probe(messages: Sequence[Message]) -> tuple[tuple[Message, ...], dict[str, Slot]]:
    """Return messages of the same shape with placeholders for texts, and the slots of these.

    Empty texts stay empty.
    """
    slots: dict[str, Slot] = {}
    number = 0

    def replaced(part: str | Image) -> str | Image:
        nonlocal number
        number += 1
        if part == "":
            return part
        text = placeholder()
        slots[text] = ("part", str(number - 1))
        if isinstance(part, str):
            return text
        return Image(part.media_type, base64.b64decode(text))

    probes = []
    for message in messages:
        content = message.content
        made = replaced(content) if isinstance(content, str) else tuple(map(replaced, content))
        probes.append(Message(message.role, made))  # type: ignore[arg-type]
    return tuple(probes), slots
