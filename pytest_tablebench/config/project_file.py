"""The models that a project's configuration of pytest names, read without starting pytest."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.util.entries import listing, mapping

__all__ = ["FILES", "ProjectModel", "content", "project_models", "value_lines"]

FILES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "pytest.toml": (("pytest",),),
    ".pytest.toml": (("pytest",),),
    "pytest.ini": (("pytest",),),
    ".pytest.ini": (("pytest",),),
    "pyproject.toml": (("tool", "pytest"), ("tool", "pytest", "ini_options")),
    "tox.ini": (("pytest",),),
    "setup.cfg": (("tool:pytest",),),
}
"""The files of pytest's configuration by precedence, each with the sections that it may have
(docs.pytest.org, "Configuration", "Configuration file formats")."""

_ALWAYS = frozenset({"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"})
"""Files that count even without a section."""

_OPTIONS = ("--model", "--bench-model", "--bench-judge")


@dataclass(frozen=True)
class ProjectModel:
    """A model of the configuration: its name, and the `file` and `key` that name it."""

    name: str
    file: str
    key: str


def project_models(folder: Path) -> list[ProjectModel]:
    """Return the models in `bench_model`, `bench_judge` and `addopts` of a project.

    The configuration is the first of pytest's files in the folder or above it. A file that cannot
    be read names no model.
    """
    file, keys = _configuration(folder)
    entries: list[tuple[str, str]] = []
    for key in ("bench_model", "bench_judge"):
        entries += [(name, key) for name in value_lines(keys.get(key))]
    entries += [(name, "addopts") for name in _added(" ".join(value_lines(keys.get("addopts"))))]
    return [ProjectModel(name, file, key) for name, key in dict.fromkeys(entries)]


def _configuration(folder: Path) -> tuple[str, Mapping[str, Any]]:
    for place in (folder, *folder.parents):
        for name, sections in FILES.items():
            path = place / name
            if not path.is_file():
                continue
            tables = content(path)
            present = [mapping(tables, *section) for section in sections]
            if name in _ALWAYS or any(present):
                return name, {key: value for part in present for key, value in part.items()}
    return "", {}


def content(path: Path) -> Mapping[str, Any]:
    """Return the tables of a settings file; empty if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            return tomllib.loads(text)
        parser = ConfigParser(interpolation=None, strict=False, delimiters=("=",))
        parser.read_string(text)
        return {name: dict(section) for name, section in parser.items()}
    except (OSError, ValueError, Error, RecursionError):
        return {}


def value_lines(value: object) -> list[str]:
    """Return the lines of a text, or the texts of a list."""
    texts = value.splitlines() if isinstance(value, str) else listing(value)
    lines = [text.strip() for text in texts if isinstance(text, str)]
    return [line for line in lines if line and not line.startswith(("#", ";"))]


def _added(options: str) -> Iterator[str]:
    """Yield the models in options of a command line."""
    try:
        words = shlex.split(options)
    except ValueError:
        return
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag not in _OPTIONS:
            continue
        if not equals:
            value = words[place + 1] if place + 1 < len(words) else ""
        if value:
            yield value
