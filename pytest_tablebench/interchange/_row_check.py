"""Validate imported rows and records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.interchange._evaluation import EvaluationRow
from pytest_tablebench.results.record import Outcome, Record
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Schema = Mapping[str, Any]


def is_number(value: Any) -> bool:
    """Return whether a value is a number that is finite as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, schema]}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _named(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


def _object(fields: Mapping[str, Schema]) -> Schema:
    """Return the schema of a mapping; only nullable fields are optional."""
    required = [name for name, schema in fields.items() if "anyOf" not in schema]
    return {"type": "object", "properties": fields, "required": required}


_TEXT, _NUMBER, _TRUTH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}
_MESSAGE = _object(
    {
        "role": _TEXT,
        "content": _or_null(_TEXT),
        "tool_calls": _or_null(_list_of(_object({"arguments": _or_null(_named(_TEXT))}))),
    }
)
_INPUT = {"raw": _TEXT, "formatted": _or_null(_TEXT), "reference": _list_of(_TEXT)}
_USAGE = {"input_tokens": _or_null(_COUNT), "output_tokens": _or_null(_COUNT)}
_ROW = _object(
    {
        "evaluation_name": _TEXT,
        "sample_id": _TEXT,
        "evaluation_result_id": _or_null(_TEXT),
        "input": _object(_INPUT),
        "output": _or_null(_object({"raw": _list_of(_TEXT)})),
        "messages": _or_null(_list_of(_MESSAGE)),
        "answer_attribution": _list_of(_object({"extracted_value": _TEXT})),
        "evaluation": _object({"score": _NUMBER, "is_correct": _TRUTH}),
        "error": _or_null(_TEXT),
        "metadata": _or_null(_named(_TEXT)),
        "token_usage": _or_null(_object(_USAGE)),
        "performance": _or_null(_object({"latency_ms": _or_null(_NUMBER)})),
    }
)
_FACTS = _object(
    {
        "schema_version": _TEXT,
        "evaluation_id": _TEXT,
        "model_info": _object({"name": _TEXT, "id": _TEXT}),
        "eval_library": _object({"name": _TEXT, "version": _TEXT}),
        "evaluation_results": _or_null(_list_of({"type": "object"})),
    }
)
_TEXTS = ("case_id", "model", "benchmark", "dataset", "example_id")
_RECORD = _object(
    {
        **dict.fromkeys(_TEXTS, _TEXT),
        **{axis.name: _or_null(_TEXT) if axis.is_optional else _TEXT for axis in NAMED},
        **dict.fromkeys(("metric", "part", "raw", "reason"), _or_null(_TEXT)),
        **dict.fromkeys(("prompt_digest", "transcript"), _or_null(_TEXT)),
        "repeat": {"type": "integer", "minimum": 1},
        "outcome": {"enum": list(get_args(Outcome))},
        "score": _or_null({**_NUMBER, "minimum": 0, "maximum": 1}),
        "threshold": _or_null(_NUMBER),
        "passed": _or_null(_TRUTH),
        "parts": _named(_NUMBER),
        "checks": _named(_or_null(_TRUTH)),
        "references": _list_of(_TEXT),
        "flags": _list_of(_TEXT),
        "tags": _named(_TEXT),
        "preserves_meaning": _TRUTH,
        "steps": _list_of({"type": "object"}),
        "latency_s": _or_null(_NUMBER),
        "prompt_tokens": _or_null(_COUNT),
        "completion_tokens": _or_null(_COUNT),
        "cost_usd": _or_null(_NUMBER),
        "from_store": _TRUTH,
    }
)


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
    schema = {"facts": _FACTS, "row": _ROW, "record": _RECORD}[kind]
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
