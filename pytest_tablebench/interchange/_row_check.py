"""What a row and a record have to be: files of others hold whatever they hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.interchange._evaluation import EvaluationRow
from pytest_tablebench.results.record import Outcome, Record
from pytest_tablebench.util.names import printable

Test = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _are(test: Test) -> Test:
    return lambda value: isinstance(value, list | tuple) and all(map(test, value))


def _named(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _holds(**tests: Test) -> Test:
    """Return the test of a mapping whose entries pass tests; one that is not there is None."""
    return lambda value: (
        isinstance(value, dict) and all(test(value.get(name)) for name, test in tests.items())
    )


_MESSAGE = _holds(
    role=_is_text,
    content=_or_none(_is_text),
    tool_calls=_or_none(_are(_holds(arguments=_or_none(_named(_is_text))))),
)
_ROW: Mapping[str, Test] = {
    "evaluation_name": _is_text,
    "sample_id": _is_text,
    "evaluation_result_id": _or_none(_is_text),
    "input": _holds(raw=_is_text, formatted=_or_none(_is_text), reference=_are(_is_text)),
    "output": _or_none(_holds(raw=_are(_is_text))),
    "messages": _or_none(_are(_MESSAGE)),
    "answer_attribution": _are(_holds(extracted_value=_is_text)),
    "evaluation": _holds(score=is_number, is_correct=_is_truth),
    "error": _or_none(_is_text),
    "metadata": _or_none(_named(_is_text)),
    "token_usage": _or_none(
        _holds(input_tokens=_or_none(_is_count), output_tokens=_or_none(_is_count))
    ),
    "performance": _or_none(_holds(latency_ms=_or_none(is_number))),
}
_FACTS: Mapping[str, Test] = {
    "schema_version": _is_text,
    "evaluation_id": _is_text,
    "model_info": _holds(name=_is_text, id=_is_text),
    "eval_library": _holds(name=_is_text, version=_is_text),
    "evaluation_results": _or_none(_are(lambda value: isinstance(value, dict))),
}
_RECORD: Mapping[str, Test] = {
    **dict.fromkeys(
        ("case_id", "model", "benchmark", "dataset", "example_id", "serializer", "perturbation"),
        _is_text,
    ),
    **dict.fromkeys(("strategy", "modality"), _is_text),
    **dict.fromkeys(("metric", "part", "raw", "reason"), _or_none(_is_text)),
    **dict.fromkeys(("prompt_digest", "transcript"), _or_none(_is_text)),
    "repeat": lambda value: _is_count(value) and value > 0,
    "outcome": lambda value: value in get_args(Outcome),
    "score": _or_none(lambda value: is_number(value) and 0 <= value <= 1),
    "threshold": _or_none(is_number),
    "passed": _or_none(_is_truth),
    "parts": _named(is_number),
    "checks": _named(_or_none(_is_truth)),
    "references": _are(_is_text),
    "flags": _are(_is_text),
    "tags": _named(_is_text),
    "preserves_meaning": _is_truth,
    "steps": _are(lambda value: isinstance(value, dict)),
    "latency_s": _or_none(is_number),
    "prompt_tokens": _or_none(_is_count),
    "completion_tokens": _or_none(_is_count),
    "cost_usd": _or_none(is_number),
    "from_store": _is_truth,
}


def check_facts(facts: Mapping[str, Any], place: str) -> None:
    """Raise `DataError` for what is no aggregate file of every-eval-ever."""
    _check(facts, _FACTS, place, "no evaluation of every-eval-ever")


def check_row(row: EvaluationRow) -> None:
    """Raise `DataError` for what is no row of every-eval-ever's instance-level form."""
    _check(row.data, _ROW, row.place, "no row of every-eval-ever")
    if (row.data.get("output") is None) == (row.data.get("messages") is None):
        raise DataError(f"{row.place}: it has to have either `output` or `messages`")


def checked_record(fields: Mapping[str, Any], place: str) -> Record:
    """Return the record with these fields. Raises `DataError` for what is none."""
    try:
        record = Record.from_line(json.dumps(fields))
    except (ValueError, SettingsError) as error:
        raise DataError(f"{place}: no case: {printable(str(error), 200)}") from None
    _check(vars(record), _RECORD, place, "no case")
    if (record.outcome == "no_answer") != (record.score is None):
        raise DataError(f"{place}: no case: its `outcome` and its `score` do not agree")
    return record


def _check(data: Mapping[str, Any], tests: Mapping[str, Test], place: str, claim: str) -> None:
    for name, test in tests.items():
        if not test(data.get(name)):
            state = f"is {printable(repr(data[name]), 80)}" if name in data else "is missing"
            raise DataError(f"{place}: {claim}: `{name}` {state}")
