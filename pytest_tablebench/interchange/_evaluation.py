"""The evaluations that importers read, and the reading of JSON files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import shortened

LONGEST = 64_000_000
"""The largest size of a line, or of a file that is read as a whole, in bytes."""


@dataclass(frozen=True)
class EvaluationRow:
    """A row in every-eval-ever's instance-level format, and its place for messages.

    `fields` has the fields of the case's record, if the importer provides them.
    """

    data: Mapping[str, Any]
    place: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: the content of its aggregate file, and its rows.

    Args:
        path: the file.
        facts: the content of the aggregate file.
        rows: its cases.
        run: entries for `run.json`.
    """

    path: Path
    facts: Mapping[str, Any]
    rows: tuple[EvaluationRow, ...]
    run: Mapping[str, Any] = field(default_factory=dict)


def files_of(paths: Sequence[Path], pattern: str, missing: str) -> Iterator[Path]:
    """Yield the given files, and the files in the given folders that match a pattern.

    Raises `DataError` with the text `missing` for a folder without a match.
    """
    for path in paths:
        files = sorted(path.rglob(pattern)) if path.is_dir() else [path]
        if not files:
            raise DataError(f"{_shown(path)}: {missing}")
        yield from files


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with one JSON object. Raises `DataError` with its path."""
    return _parsed(_content(path), _shown(path))


def read_json_list(path: Path) -> list[dict[str, Any]]:
    """Read a file with a JSON list of objects. Raises `DataError` with its path.

    NaN and infinities are allowed, since HELM's statistics contain them.
    """
    rows = _loaded(_content(path), _shown(path), float)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{_shown(path)}: not a list of JSON objects")
    return rows


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST + 1)
    except OSError as error:
        raise DataError(f"{_shown(path)} cannot be read: {error.strerror or error}") from None


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the object on each line, and its place. Raises `DataError` with the line."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST + 1):
                number += 1
                if line.strip():
                    place = f"{_shown(path)}, line {number}"
                    yield _parsed(line, place), place
    except OSError as error:
        raise DataError(f"{_shown(path)} cannot be read: {error.strerror or error}") from None


def _parsed(data: bytes, place: str) -> dict[str, Any]:
    content = _loaded(data, place, _refused)
    if not isinstance(content, dict):
        raise DataError(f"{place}: not a JSON object")
    return content


def _loaded(data: bytes, place: str, constant: Callable[[str], float]) -> Any:
    if len(data) > LONGEST:
        raise DataError(f"{place}: longer than {LONGEST:,} bytes")
    try:
        return parsed_json(data.decode("utf-8"), parse_constant=constant)
    except ValueError as error:
        raise DataError(f"{place}: not valid JSON: {shortened(str(error), 200)}") from None


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _shown(path: Path) -> str:
    return str(path)
