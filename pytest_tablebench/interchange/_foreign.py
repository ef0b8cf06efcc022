"""Evaluations of other tools: reading of their files, checks, and the fields of their records."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.record import Record
from pytest_tablebench.util.entries import listing, mapping, parsed_json
from pytest_tablebench.util.names import printable, shortened, slug

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

LONGEST = 64_000_000
"""The largest size of a line, or of a file that is read as a whole, in bytes."""

UNKNOWN_SERIALIZER = "unknown"
"""The serializer of cases without one in their rows."""

_LONGEST_TAG = 60


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
    """One evaluation: its file, the content of its aggregate file, and the rows of its cases.

    `run` has entries for `run.json`.
    """

    path: Path
    facts: Mapping[str, Any]
    rows: tuple[EvaluationRow, ...]
    run: Mapping[str, Any] = field(default_factory=dict)


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
    """Yield the object on each line, and its place. Raises `DataError` with the line."""
    for number, line in enumerate(_pieces(path), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            yield _parsed(line, place), place


def _pieces(path: Path, lines: int = 1) -> Iterator[bytes]:
    """Yield the lines of a file, or its whole content for -1, up to `LONGEST` bytes of each."""
    try:
        with path.open("rb") as file:
            read = file.readline if lines > 0 else file.read
            yield from iter(lambda: read(LONGEST + 1), b"")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


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


# Checks


def check_facts(facts: Mapping[str, Any], place: str) -> None:
    """Raise `DataError` unless the facts are an aggregate file of every-eval-ever."""
    _check(facts, "facts", place, "not an evaluation of every-eval-ever")


def check_row(row: EvaluationRow) -> None:
    """Raise `DataError` unless the row has every-eval-ever's instance-level format."""
    _check(row.data, "row", row.place, "not a row of every-eval-ever")
    if (row.data.get("output") is None) == (row.data.get("messages") is None):
        raise DataError(f"{row.place}: needs either `output` or `messages`")


def checked_record(fields: Mapping[str, Any], place: str) -> Record:
    """Return the record with these fields. Raises `DataError` if they are not valid."""
    try:
        record = Record.from_line(json.dumps(fields))
    except (ValueError, SettingsError) as error:
        raise DataError(f"{place}: not a case: {shortened(str(error), 200)}") from None
    _check(record.values, "record", place, "not a case")
    if (record.outcome == "no_answer") != (record.score is None):
        raise DataError(f"{place}: not a case: its `outcome` and its `score` contradict each other")
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


def _check(data: Mapping[str, Any], kind: str, place: str, claim: str) -> None:
    error = next(_validator(kind).iter_errors(data), None)
    if error is None:
        return
    if error.absolute_path:
        name = str(error.absolute_path[0])
        state = f"is {shortened(repr(data[name]), 80)}"
    else:
        name, state = next(name for name in error.validator_value if name not in data), "is missing"
    raise DataError(f"{place}: {claim}: `{name}` {state}")


# Records


@dataclass(frozen=True)
class _Metric:
    """The metric of an aggregate result: the name and the range of its rows' scores."""

    name: str
    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    def scaled(self, row: EvaluationRow) -> float:
        return float((row.data["evaluation"]["score"] - self.low) / (self.high - self.low))


def name_of(text: object) -> str:
    """Return the name of a dataset: slugs separated by slashes."""
    parts = [slug(part) for part in str(text).split("/") if part.strip()]
    return "/".join(parts) or "unnamed"


def foreign_fields(evaluation: Evaluation) -> Iterable[tuple[EvaluationRow, dict[str, Any]]]:
    """Yield a row of each case of an evaluation, and the fields of its record.

    The rows of one sample for several results are one case: all are its parts, and the first
    result with usable scores is its score. Several rows of a sample for one result are repeats.
    """
    metrics = _metrics(evaluation.facts)
    cases: dict[tuple[str, str, int], dict[str, EvaluationRow]] = {}
    repeats: Counter[tuple[str, str, str]] = Counter()
    unusable = {result for result, metric in metrics.items() if metric.lower_is_better}
    for row in evaluation.rows:
        name, sample = row.data["evaluation_name"], row.data["sample_id"]
        result = row.data.get("evaluation_result_id") or name
        repeats[name, sample, result] += 1
        cases.setdefault((name, sample, repeats[name, sample, result]), {})[result] = row
        if not 0 <= metrics.setdefault(result, _Metric(slug(result))).scaled(row) <= 1:
            unusable.add(result)
    benchmark = name_of(evaluation.facts["evaluation_id"].partition("/")[0])
    for key, rows in cases.items():
        fields = _case(key, rows, {result: metrics[result] for result in rows}, unusable)
        yield next(iter(rows.values())), {"benchmark": benchmark, **fields}


def _metrics(facts: Mapping[str, Any]) -> dict[str, _Metric]:
    metrics = {}
    for result in listing(facts.get("evaluation_results")):
        if not isinstance(config := result.get("metric_config"), dict):
            continue
        mark = str(result.get("evaluation_result_id") or result.get("evaluation_name"))
        low: Any = config.get("min_score")
        high: Any = config.get("max_score")
        has_bounds = is_number(low) and is_number(high) and high > low
        metrics[mark] = _Metric(
            slug(str(config.get("metric_name") or config.get("metric_id") or mark)),
            *((float(low), float(high)) if has_bounds else (0.0, 1.0)),
            lower_is_better=config.get("lower_is_better") is True,
        )
    return metrics


def _case(
    key: tuple[str, str, int],
    rows: Mapping[str, EvaluationRow],
    metrics: Mapping[str, _Metric],
    unusable: set[str],
) -> dict[str, Any]:
    name, sample, repeat = key
    usable = [result for result in rows if result not in unusable]
    result = next(iter(usable or rows))
    row, data = rows[result], rows[result].data
    dataset, example = name_of(name), slug(sample)
    case = "/".join((dataset, example, UNKNOWN_SERIALIZER, "none"))
    fields: dict[str, Any] = {
        "case_id": f"{case}/r{repeat}" if repeat > 1 else case,
        "dataset": dataset,
        "example_id": example,
        "repeat": repeat,
        "serializer": UNKNOWN_SERIALIZER,
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
        "tags": {n: text for n, text in mapping(data, "metadata").items() if _is_tag(text)},
    }
    if data.get("error") and not _has_reply(data):
        return fields | {"metric": None, "outcome": "no_answer"}
    if not usable:
        raise DataError(
            f"{row.place}: none of its scores ({', '.join(map(printable, rows))}) is usable; a "
            f"score must be from 0 to 1 or within the bounds of its metric, and higher must be "
            f"better"
        )
    scores = {
        mark: metrics[mark].scaled(other) if mark in usable else other.data["evaluation"]["score"]
        for mark, other in rows.items()
    }
    return fields | {
        "metric": metrics[result].name,
        "outcome": "right" if data["evaluation"]["is_correct"] else "wrong",
        "score": scores[result],
        "part": metrics[result].name,
        "parts": {metrics[mark].name: score for mark, score in scores.items()},
        "flags": ["error"] if data.get("error") else [],
    }


def _is_tag(text: str) -> bool:
    """Return whether a metadata entry can be a tag: short and no JSON."""
    return len(text) <= _LONGEST_TAG and not text.startswith(("{", "["))


def _has_reply(data: Mapping[str, Any]) -> bool:
    if data.get("output") is not None:
        return any(data["output"]["raw"])
    return any(
        message["role"] == "assistant" and message.get("content") for message in data["messages"]
    )
