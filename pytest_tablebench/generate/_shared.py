"""What all ways to questions share: their data, digests of tables, languages."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from pytest_tablebench.metrics.chinese import is_chinese

LANGUAGES = ("en", "zh")


@cache
def data_file(name: str) -> dict[str, Any]:
    """Return a TOML file of this room, such as `rules/en.toml`."""
    return tomllib.loads((files(__package__) / name).read_text(encoding="utf-8"))


def digest_of(*content: object) -> str:
    """Return 16 hexadecimal digits for a content."""
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def spoken(language: str, number: int, headings: Iterable[object]) -> str:
    """Return the language of a question: as asked for, `both` in turns, `auto` by the headings."""
    if language == "both":
        return LANGUAGES[number % len(LANGUAGES)]
    if language == "auto":
        return "zh" if any(is_chinese(str(name)) for name in headings) else "en"
    return language
