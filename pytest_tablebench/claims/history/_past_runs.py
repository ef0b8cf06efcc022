"""One run of a history, from the content of its `run.json` and `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.folder import RUN, SUMMARY
from pytest_tablebench.results.record import check_schema
from pytest_tablebench.util.entries import mapping, parsed_json
from pytest_tablebench.util.names import printable

LARGEST_FILE = 64 * 1024 * 1024
"""The largest size in bytes of a `run.json` or `summary.json` that is read."""


@dataclass(frozen=True)
class PastRun:
    """A run folder: its `place` in words, its model, its start, and the content of its files."""

    place: str
    model: str
    start: datetime
    run: Mapping[str, Any]
    benchmarks: Mapping[str, Any]


def past_run(place: str, run_text: bytes, summary_text: bytes) -> PastRun:
    """Return the run of these two files. Raises `DataError` that says what is wrong with them."""
    run, summary = _content(RUN, run_text), _content(SUMMARY, summary_text)
    model = run.get("model")
    if not isinstance(model, str):
        raise DataError(f"{RUN} names no model, so it is not the file of a run")
    benchmarks = mapping(summary, "benchmarks")
    if not benchmarks:
        raise DataError(f"{SUMMARY} has no benchmarks, so there is no figure to show")
    return PastRun(place, model, _start(run.get("start")), run, benchmarks)


def _content(name: str, text: bytes) -> Mapping[str, Any]:
    try:
        content = parsed_json(text)
    except ValueError:
        raise DataError(f"{name} is torn or damaged") from None
    if not isinstance(content, dict):
        raise DataError(f"{name} is not a JSON object")
    try:
        check_schema(content, name)
    except SettingsError as error:
        raise DataError(printable(str(error), 200)) from None
    return content


def _start(value: object) -> datetime:
    """Return a time with its zone; a time without one is in UTC."""
    try:
        start = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        start = None
    if start is None:
        raise DataError(f"{RUN} has no start, so the run has no place in the history")
    try:
        return start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
    except OverflowError:
        raise DataError(f"{RUN} has no usable start") from None
