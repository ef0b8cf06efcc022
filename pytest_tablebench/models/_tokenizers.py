"""Tokenizers that litellm and tiktoken bring along, by model."""

from __future__ import annotations

import hashlib
import os
import re
import struct
from math import ceil
from pathlib import Path
from typing import Any

from pytest_tablebench.serializers.content import Image

# A model with the encoding, by the name under which litellm's counter picks that encoding.
STANDS_FOR = {
    "cl100k_base": "gpt-4",
    "o200k_base": "gpt-4o",
    # The same merges with other special tokens.
    "o200k_harmony": "gpt-4o",
}

# Providers that serve OpenAI's models under OpenAI's names.
OPENAI_NAMES = frozenset({"azure", "azure_ai", "chatgpt", "github_copilot", "openai", "openrouter"})


def tokenizer_of(litellm: Any, name: str, provider: str | None) -> str | None:
    """The name of a model's tokenizer, if litellm brings it along."""
    if provider == "anthropic":
        # The only one that was ever published. litellm leaves it out for the models that it
        # counts far too low for, and would count those with a tokenizer of OpenAI's.
        is_older = name in litellm.anthropic_models and "claude-3" not in name
        return "anthropic" if is_older and _bundled("anthropic_tokenizer.json", litellm) else None
    if provider not in OPENAI_NAMES:
        return None
    import tiktoken

    try:
        encoding = str(tiktoken.encoding_name_for_model(name.removeprefix("openai/")))
    except KeyError:
        return None
    if encoding not in STANDS_FOR:
        return None
    # tiktoken's cache has a file for each encoding, named for the address it comes from.
    merges = "o200k_base" if encoding == "o200k_harmony" else encoding
    address = f"https://openaipublic.blob.core.windows.net/encodings/{merges}.tiktoken"
    file = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    return encoding if _bundled(file, litellm) else None


def _bundled(file: str, litellm: Any) -> bool:
    """Return whether litellm's package or its configured folder contains a tokenizer's file."""
    folder_of_litellm = Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    other = os.environ.get("CUSTOM_TIKTOKEN_CACHE_DIR")
    folder = Path(other) if other and not file.endswith(".json") else folder_of_litellm
    return (folder / file).is_file()


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
