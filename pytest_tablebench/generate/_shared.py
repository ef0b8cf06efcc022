"""Data files, digests and languages for all ways of making questions."""

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
    """Return a TOML file of this package, such as `rules/en.toml`."""
    return tomllib.loads((files(__package__) / name).read_text(encoding="utf-8"))


def digest_of(*content: object) -> str:
    """Return 16 hexadecimal digits that identify the content."""
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def spoken(language: str, number: int, headings: Iterable[object]) -> str:
    """Return the language of a question; `both` alternates, `auto` follows the headings."""
    if language == "both":
        return LANGUAGES[number % len(LANGUAGES)]
    if language == "auto":
        return "zh" if any(is_chinese(str(name)) for name in headings) else "en"
    return language
