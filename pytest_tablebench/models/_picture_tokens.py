"""How many tokens a picture is, for the providers that publish how they count them."""

from __future__ import annotations

import re
import struct
from math import ceil

from pytest_tablebench.serializers.content import Image

_TILED = re.compile(r"(?:.*[/:])?(?:chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5)(?!-mini|-nano)")
"""The models of OpenAI that count tiles of 512 pixels, 170 tokens each, and 85 for the whole."""


def picture_tokens(size: tuple[int, int], provider: str | None, model: str) -> int | None:
    """Return the tokens that a provider counts for a picture of so many pixels.

    None where it does not publish a rule that holds for the model.
    """
    if provider == "anthropic":
        width, height = _within(size, 1568)
        return ceil(width * height / 750)
    if provider in {"openai", "azure"} and _TILED.match(model):
        width, height = _within(size, 2048)
        shrunk = min(1.0, 768 / min(width, height))
        tiles = ceil(width * shrunk / 512) * ceil(height * shrunk / 512)
        return 85 + 170 * tiles
    return None


def picture_size(picture: Image) -> tuple[int, int] | None:
    """Return width and height in pixels, from the head of a PNG; None for what is no PNG."""
    head = picture.data[:24]
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", head[16:24])
    return (width, height) if width and height else None


def _within(size: tuple[int, int], most: int) -> tuple[float, float]:
    """Return a size scaled down until no side is longer than `most`."""
    shrunk = min(1.0, most / max(size))
    return size[0] * shrunk, size[1] * shrunk
