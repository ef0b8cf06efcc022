"""Export to CSV and Parquet, with one row per case."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError, missing_package
from pytest_tablebench.interchange.exporter import RunTexts, json_text, plain, records_by
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.csv_text import guarded
from pytest_tablebench.util.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

_TEXT, _NUMBER, _WHOLE, _TRUTH = "string[python]", "Float64", "Int64", "boolean"

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("repeat", "prompt_tokens", "completion_tokens"), _WHOLE),
    **dict.fromkeys(("score", "threshold", "latency_s", "cost_usd"), _NUMBER),
    **dict.fromkeys(("passed", "preserves_meaning", "from_store"), _TRUTH),
}
"""The pandas types of fields that are no text."""

_SPREAD: Mapping[str, tuple[str, str]] = {
    "parts": ("part", _NUMBER),
    "checks": ("check", _TRUTH),
    "tags": ("tag", _TEXT),
}
"""Fields that are mappings: each of their names becomes a column, such as `tag.kind`."""

_MOST_NAMES = 100
"""A field with more names than this becomes one column, as JSON."""


def record_frame(run: Run) -> pd.DataFrame:
    """Return a row for each record of a run: its fields, and its question.

    Lists, steps, and predictions that are no text become JSON. Raises `DataError` without records,
    and `SettingsError` for a value of a wrong type.
    """
    import pandas as pd

    records_by(run, "dataset")
    frame = {}
    for name, kind, values in _columns(run.records, RunTexts.of(run)):
        try:
            frame[name] = pd.Series(plain(values), dtype=kind)
        except (TypeError, ValueError) as error:
            raise SettingsError(
                f"{run.path / 'records.jsonl'}: {name!r} has a value of a wrong type: {error}"
            ) from None
    return pd.DataFrame(frame)


def _columns(records: Sequence[Record], texts: RunTexts) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield the name, the type and the values of each column."""
    optional = () if any(record.corrected for record in records) else ("corrected",)
    for name in (item.name for item in fields(Record) if item.name not in optional):
        values = [getattr(record, name) for record in records]
        names = sorted({inner for value in values for inner in value}) if name in _SPREAD else []
        if name in _SPREAD and len(names) <= _MOST_NAMES:
            prefix, kind = _SPREAD[name]
            for inner in names:
                yield f"{prefix}.{inner}", kind, [value.get(inner) for value in values]
        elif name in _TYPES:
            yield name, _TYPES[name], values
        else:
            yield name, _TEXT, [json_text(value) for value in values]
    yield "question", _TEXT, [texts.question(record) for record in records]


def write_csv(run: Run, folder: Path, *, raw: bool = False) -> list[Path]:
    """Write `records.csv`: UTF-8, commas between cells, an empty cell for a missing value.

    Unless `raw`, a text that a spreadsheet could execute as a formula is prefixed with an
    apostrophe.
    """
    frame = record_frame(run)
    for name, kind in frame.dtypes.items():
        if kind == _TRUTH:
            frame[name] = frame[name].map({True: "true", False: "false"})
        elif kind == _TEXT and not raw:
            frame[name] = frame[name].map(guarded, na_action="ignore")
    if not raw:
        frame.columns = frame.columns.map(guarded)
    path = folder / "records.csv"
    write_whole(path, frame.to_csv(index=False, lineterminator="\r\n"))
    return [path]


def write_parquet(run: Run, folder: Path) -> list[Path]:
    """Write `records.parquet`: the same columns with their types, and unchanged texts.

    It needs pyarrow.
    """
    path, buffer = folder / "records.parquet", io.BytesIO()
    try:
        record_frame(run).to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError:
        raise SettingsError(missing_package("--to parquet", "pyarrow", "parquet")) from None
    write_whole(path, buffer.getvalue())
    return [path]
