"""Evaluations of other tools: their files, their cases, and checks of both."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.interchange.every_eval_ever import SCHEMA_VERSION
from pytest_tablebench.results.record import Record
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

LONGEST = 64_000_000
"""The largest size of a line, or of a file that is read as a whole, in bytes."""


@dataclass(frozen=True)
class ForeignCase:
    """The fields of a case's record except the model, its location for messages, and its texts.

    `turns` is the conversation after the prompt; None if the reply is the whole conversation.
    """

    fields: dict[str, Any]
    location: str
    prompt: str | None = None
    question: str = ""
    turns: Sequence[tuple[str, str]] | None = None


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a model, with entries for `run.json`.

    `exported` is an exported `run.json` of this package, each entry as JSON; None for other tools.
    """

    path: Path
    name: str
    model: str
    library: str
    cases: Sequence[ForeignCase]
    params: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    exported: Mapping[str, str] | None = None
    form: str = "every-eval-ever"
    schema_version: str = SCHEMA_VERSION


# Files


def files_of(paths: Sequence[Path], pattern: str, missing: str) -> Iterator[Path]:
    """Yield the given files, and the files in the given folders that match a pattern.

    Raises `DataError` with the text `missing` for a folder without a match.
    """
    for path in paths:
        files = sorted(path.rglob(pattern)) if path.is_dir() else [path]
        if not files:
            raise DataError(f"{path}: {missing}")
        yield from files


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with one JSON object. Raises `DataError` with its path."""
    return _parsed(next(_pieces(path, -1), b""), str(path))


def read_json_list(path: Path) -> list[dict[str, Any]]:
    """Read a file with a JSON list of objects. Raises `DataError` with its path.

    NaN and infinities are allowed, since HELM's statistics contain them.
    """
    rows = _loaded(next(_pieces(path, -1), b""), str(path), float)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: not a list of JSON objects")
    return rows


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the object on each line, and its location. Raises `DataError` with the line."""
    for number, line in enumerate(_pieces(path), start=1):
        if line.strip():
            location = f"{path}, line {number}"
            yield _parsed(line, location), location


def _pieces(path: Path, lines: int = 1) -> Iterator[bytes]:
    """Yield the lines of a file, or its whole content for -1, up to `LONGEST` bytes of each."""
    try:
        with path.open("rb") as file:
            read = file.readline if lines > 0 else file.read
            yield from iter(lambda: read(LONGEST + 1), b"")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _parsed(data: bytes, location: str) -> dict[str, Any]:
    content = _loaded(data, location, _refused)
    if not isinstance(content, dict):
        raise DataError(f"{location}: not a JSON object")
    return content


def _loaded(data: bytes, location: str, constant: Callable[[str], float]) -> Any:
    if len(data) > LONGEST:
        raise DataError(f"{location}: longer than {LONGEST:,} bytes")
    try:
        return parsed_json(data.decode("utf-8"), parse_constant=constant)
    except ValueError as error:
        raise DataError(f"{location}: not valid JSON: {shortened(str(error), 200)}") from None


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


# Checks


def checked_record(fields: Mapping[str, Any], location: str) -> Record:
    """Return the record with these fields. Raises `DataError` if they are not valid."""
    try:
        record = Record.from_line(json.dumps(fields))
    except (ValueError, SettingsError) as error:
        raise DataError(f"{location}: not a case: {shortened(str(error), 200)}") from None
    check(record.values, "record", location, "not a case")
    if (record.outcome == "no_answer") != (record.score is None):
        raise DataError(
            f"{location}: not a case: its `outcome` and its `score` contradict each other"
        )
    return record


def is_number(value: Any) -> bool:
    """Return whether a value is a number that is finite as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


@cache
def _validator(kind: str) -> Validator:
    """Return the validator of a kind, which accepts finite numbers only, and tuples as lists."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "number": lambda _, value: is_number(value),
            "array": lambda _, value: isinstance(value, list | tuple),
        }
    )
    text = resources.files(__package__).joinpath("schemas.json").read_text(encoding="utf-8")
    schemas = json.loads(text)
    for axis in NAMED:
        kinds = ["string", "null"] if axis.is_optional else "string"
        schemas["record"]["properties"][axis.name] = {"type": kinds}
    schema = {"$defs": schemas["$defs"], **schemas[kind]}
    return extend(Draft202012Validator, type_checker=types)(schema)


def check(data: Mapping[str, Any], kind: str, location: str, claim: str) -> None:
    """Raise `DataError` with the claim unless the data has the kind's schema in `schemas.json`."""
    error = next(_validator(kind).iter_errors(data), None)
    if error is None:
        return
    if error.absolute_path:
        name = str(error.absolute_path[0])
        state = f"is {shortened(repr(data[name]), 80)}"
    else:
        name, state = next(name for name in error.validator_value if name not in data), "is missing"
    raise DataError(f"{location}: {claim}: `{name}` {state}")
