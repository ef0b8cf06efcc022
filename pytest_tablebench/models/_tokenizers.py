"""The tokenizers that litellm and tiktoken contain, by model, and the tokens of pictures."""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterable
from math import ceil
from pathlib import Path

from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.model_table import litellm_folder
from pytest_tablebench.serializers.content import Image

# Encoding -> a model for which litellm's counter uses that encoding.
STANDS_FOR = {
    "cl100k_base": "gpt-4",
    "o200k_base": "gpt-4o",
    # The same merges with other special tokens.
    "o200k_harmony": "gpt-4o",
}

# Providers that serve OpenAI's models under OpenAI's names.
OPENAI_NAMES = frozenset({"azure", "azure_ai", "chatgpt", "github_copilot", "openai", "openrouter"})


def tokenizer_of(name: str, provider: str | None) -> str | None:
    """Return the name of a model's tokenizer; None if litellm does not contain it."""
    if provider == "anthropic":
        # Anthropic published one tokenizer. For newer models its counts are far too low, so
        # litellm would count those with OpenAI's.
        is_older = name in load().anthropic_models and "claude-3" not in name
        return "anthropic" if is_older and _bundled("anthropic_tokenizer.json") else None
    if provider not in OPENAI_NAMES:
        return None
    import tiktoken

    try:
        encoding = str(tiktoken.encoding_name_for_model(name.removeprefix("openai/")))
    except KeyError:
        return None
    if encoding not in STANDS_FOR:
        return None
    # tiktoken's cache names the file of an encoding by the SHA-1 of its address.
    merges = "o200k_base" if encoding == "o200k_harmony" else encoding
    address = f"https://openaipublic.blob.core.windows.net/encodings/{merges}.tiktoken"
    file = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    return encoding if _bundled(file) else None


def _bundled(file: str) -> bool:
    """Return whether litellm's package or its configured folder contains a tokenizer's file."""
    other = None if file.endswith(".json") else os.environ.get("CUSTOM_TIKTOKEN_CACHE_DIR")
    return (_folder(other) / file).is_file()


def _folder(other: str | None) -> Path:
    folder = (litellm_folder() or Path()) / "litellm_core_utils" / "tokenizers"
    return Path(other) if other else folder


def text_tokens(tokenizer: str, texts: Iterable[tuple[str, str]]) -> int:
    """Return the tokens of a prompt as OpenAI counts them, by role and text of each message.

    https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken
    """
    import tiktoken

    # As litellm does: from another folder tiktoken would download the file.
    folder = _folder(os.environ.get("CUSTOM_TIKTOKEN_CACHE_DIR"))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    encoding = tiktoken.encoding_for_model(STANDS_FOR[tokenizer])
    parts = [len(encoding.encode(part, disallowed_special=())) for pair in texts for part in pair]
    return sum(parts) + 3 * (len(parts) // 2) + 3


_TILED = re.compile(r"(?:.*[/:])?(?:chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5)(?!-mini|-nano)")
"""OpenAI's models that count 170 tokens for each tile of 512 pixels, and 85 for the picture."""


def picture_tokens(size: tuple[int, int], provider: str | None, model: str) -> int | None:
    """Return the tokens that a provider counts for a picture of this size in pixels.

    None if the provider publishes no rule for the model.
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
    """Return width and height in pixels from a PNG's header; None for any other format."""
    head = picture.data[:24]
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", head[16:24])
    return (width, height) if width and height else None


def _within(size: tuple[int, int], most: int) -> tuple[float, float]:
    """Return a size scaled down so that no side is longer than `most`."""
    shrunk = min(1.0, most / max(size))
    return size[0] * shrunk, size[1] * shrunk
