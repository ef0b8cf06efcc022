"""Matching of a run's model with the names in published rows.

Provider, region, version and spelling are ignored, so `openai/gpt-4o-2024-11-20` is `gpt-4o`. The
rest must match as a whole: `gpt-4o-mini`, `gemini-1.5-flash-8b` or a quantized
`llama3.1:70b-instruct-q4_0` is not a published model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_LONGEST = 200
_REGION = re.compile(r"^(?:us|eu|apac|global)\.")
_VENDOR = re.compile(r"^(?:anthropic|meta|mistral|deepseek|qwen|amazon|cohere|google)[.]|^meta-")
_OPEN_WEIGHTS = re.compile(r"^open-(?=mi[sx]tral-)")
"""The prefix of tuned open models on Mistral's own service."""

_VERSION = r"-(?:20\d\d-\d\d-\d\d|20\d{6}|00[1-9]|latest|free|nitro)"
_TUNED = r"-(?:instruct|it|i|chat)(?:-turbo)?"
_SUFFIX = re.compile(
    rf"(?P<tuned>{_TUNED})(?:{_VERSION})*(?:-v\d+(?:-\d+)*)?$"
    rf"|(?:-v\d+)?(?:{_VERSION})+(?:-v\d+(?:-\d+)*)?$"
)


@dataclass(frozen=True)
class _Name:
    """A model's name as letters and numbers, and whether it names the instruction-tuned model."""

    parts: tuple[str, ...]
    tuned: bool


def published_name(model: str, published: Iterable[str]) -> str | None:
    """Return the published name of a model, or None."""
    model_name = _read(model)
    # Ollama's library serves the tuned model under the bare name.
    tuned = model_name.tuned or model.startswith(("ollama/", "ollama_chat/"))
    for name in published:
        other = _read(name)
        if model_name.parts == other.parts and other.tuned in {model_name.tuned, tuned}:
            return name
    return None


def family(model: str) -> str:
    """Return a model's name without provider, region and vendor, in small letters."""
    text = model[:_LONGEST].lower().rpartition("/")[2]
    return _VENDOR.sub("", _REGION.sub("", text))


def _read(model: str) -> _Name:
    text = family(model)
    bare = _OPEN_WEIGHTS.sub("", text)
    # Fireworks writes 3.1 as v3p1.
    plain = re.sub(r"\bv(\d+)p(\d+)\b", r"\1-\2", bare)
    plain = re.sub(r"[^a-z0-9]+", "-", plain)
    suffix = _SUFFIX.search(plain)
    core = plain if suffix is None else plain[: suffix.start()]
    tuned = bare != text or (suffix is not None and suffix["tuned"] is not None)
    return _Name(tuple(re.findall(r"[a-z]+|\d+", core)), tuned)


def has_open_weights(model: str, families: Mapping[str, bool]) -> bool | None:
    """Return whether a model's weights are published; None for a family that is not listed.

    `families` has the answer by the start of a name; the longest start counts.
    """
    name = family(model)
    starts = [start for start in families if name.startswith(start)]
    return families[max(starts, key=len)] if starts else None
