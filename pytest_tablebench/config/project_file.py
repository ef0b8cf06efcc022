"""The models that a project's configuration of pytest names, and its unread settings."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.entries import listing, mapping

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
    for parent in (folder, *folder.parents):
        for name, sections in FILES.items():
            path = parent / name
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
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag not in _OPTIONS:
            continue
        if not equals:
            value = words[index + 1] if index + 1 < len(words) else ""
        if value:
            yield value


_TABLES = ("tablebench", "pytest-tablebench", "pytest_tablebench")
_GATES = ("bench_gate", "bench_gates")


class _UnreadSetting(NamedTuple):
    section: tuple[str, ...]
    key: str
    value: object


def check_unread(folders: Iterable[Path], rootdir: Path, read: Path | None) -> None:
    """Raise `SettingsError` for a gate in `folders` that pytest has not read.

    `read` is the settings file of the session. The message contains the lines that work.
    """
    for folder in dict.fromkeys(folders):
        for name in FILES:
            file = folder / name
            if not file.is_file():
                continue
            for entry in _entries(content(file)):
                is_read = file == read and ".".join(entry.section) in _read_sections(file)
                if not is_read and (key := _key(entry)):
                    raise SettingsError(_message(file, entry, key, rootdir, read))


def _entries(table: Mapping[str, Any], section: tuple[str, ...] = ()) -> Iterator[_UnreadSetting]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _entries(value, (*section, key))
        else:
            yield _UnreadSetting(section, key, value)


def _read_sections(file: Path) -> set[str]:
    return {".".join(section) for section in FILES.get(file.name, (("pytest",),))}


def _key(entry: _UnreadSetting) -> str:
    """Return the ini key that a gate or a setting should have; "" for another entry."""
    key = entry.key.replace("-", "_").lower()
    if key == "addopts":
        return key if "--bench-gate" in "\n".join(value_lines(entry.value)) else ""
    is_table = bool(entry.section) and entry.section[-1].rpartition(":")[2] in _TABLES
    if is_table and not key.startswith("bench_"):
        key = f"bench_{key}"
    if key in _GATES:
        return "bench_gate"
    return key if is_table else ""


def _message(file: Path, entry: _UnreadSetting, key: str, rootdir: Path, read: Path | None) -> str:
    target = read
    if target is None:
        target = file if file == rootdir / "pyproject.toml" else rootdir / "pytest.ini"
    section = FILES.get(target.name, (("pytest",),))[-1]
    section_name = ".".join(entry.section) or "no section"
    lines = [f"[{'.'.join(section)}]", *assignment(key, entry.value, target)]
    listing = "\n".join(f"  {line}" for line in lines)
    return (
        f"{_short(file, rootdir)}: pytest does not read {entry.key!r} in "
        f"[{section_name}]. Delete it there, and write in {_short(target, rootdir)}:\n"
        f"{listing}"
    )


def assignment(key: str, value: object, target: Path) -> list[str]:
    """Return the lines that set a key in a settings file, `target`."""
    lines = value_lines(value) or [str(value)]
    if target.suffix == ".toml":
        texts = lines[0] if len(lines) == 1 and key != "bench_gate" else lines
        return [f"{key} = {json.dumps(texts, ensure_ascii=False)}"]
    return [f"{key} = {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _short(file: Path, rootdir: Path) -> str:
    return os.path.relpath(file, rootdir)
