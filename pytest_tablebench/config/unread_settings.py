"""Gates and tables of settings in files or sections that pytest does not read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_tablebench.config.project_file import FILES, content, value_lines
from pytest_tablebench.errors import SettingsError

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
    place = ".".join(entry.section) or "no section"
    lines = [f"[{'.'.join(section)}]", *assignment(key, entry.value, target)]
    shown = "\n".join(f"  {line}" for line in lines)
    return (
        f"{_short(file, rootdir)}: pytest does not read {entry.key!r} in "
        f"[{place}]. Delete it there, and write in {_short(target, rootdir)}:\n"
        f"{shown}"
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
