"""Export to CSV and Parquet, with one row per case."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.errors import SettingsError, missing_package
from pytest_tablebench.interchange.exporter import RunTexts, json_text, plain, records_by
from pytest_tablebench.results.loaded_run import LoadedRun
from pytest_tablebench.results.record import Record
from pytest_tablebench.util.files import write_whole

Kind = Literal["text", "number", "whole", "truth"]

_KINDS: Mapping[str, Kind] = {
    "repeat": "whole",
    "prompt_tokens": "whole",
    "completion_tokens": "whole",
    "score": "number",
    "threshold": "number",
    "latency_s": "number",
    "cost_usd": "number",
    "passed": "truth",
    "preserves_meaning": "truth",
    "from_store": "truth",
}
_SPREAD: Mapping[str, tuple[str, Kind]] = {
    "parts": ("part", "number"),
    "checks": ("check", "truth"),
    "tags": ("tag", "text"),
}
"""Fields that are mappings: each of their names becomes a column, such as `tag.kind`."""

_MOST_NAMES = 100
"""A field with more names than this becomes one column, as JSON."""


@dataclass(frozen=True)
class RecordColumn:
    """A column: one value for each record, None if missing."""

    name: str
    kind: Kind
    values: Sequence[Any]


def columns(records: Sequence[Record], texts: RunTexts) -> list[RecordColumn]:
    """Return the fields of records as columns, and the question of each.

    Lists, steps, and predictions that are no text become JSON.
    """
    columns = []
    optional = () if any(record.corrected for record in records) else ("corrected",)
    for name in (item.name for item in fields(Record) if item.name not in optional):
        values = [getattr(record, name) for record in records]
        if name in _SPREAD:
            columns += _spread(name, values)
        elif name in _KINDS:
            columns.append(RecordColumn(name, _KINDS[name], values))
        else:
            columns.append(RecordColumn(name, "text", [json_text(value) for value in values]))
    return [
        *columns,
        RecordColumn("question", "text", [texts.question(record) for record in records]),
    ]


def _spread(name: str, values: Sequence[Mapping[str, Any]]) -> list[RecordColumn]:
    names = sorted({inner for value in values for inner in value})
    if len(names) > _MOST_NAMES:
        return [RecordColumn(name, "text", [json_text(dict(value)) for value in values])]
    prefix, kind = _SPREAD[name]
    return [
        RecordColumn(f"{prefix}.{inner}", kind, [value.get(inner) for value in values])
        for inner in names
    ]


@dataclass(frozen=True)
class Csv:
    """Writes `records.csv`: UTF-8, commas between cells, an empty cell for a missing value.

    Unless `raw`, a text that a spreadsheet could execute as a formula is prefixed with an
    apostrophe.
    """

    raw: bool = False
    name: str = "csv"

    def write(self, run: LoadedRun, folder: Path) -> list[Path]:
        """Write the file."""
        records_by(run, "dataset")
        path = folder / "records.csv"
        write_whole(path, self._lines(columns(run.records, RunTexts.of(run))))
        return [path]

    def _lines(self, columns: Sequence[RecordColumn]) -> Iterator[str]:
        shown = [_shown if self.raw or column.kind != "text" else _guarded for column in columns]
        names = [column.name if self.raw else _guarded(column.name) for column in columns]
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow(names)
        for row in zip(*(column.values for column in columns), strict=True):
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
            writer.writerow(show(cell) for show, cell in zip(shown, row, strict=True))
        yield buffer.getvalue()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


_FORMULA = tuple("=+-@＝＋－＠")


def _guarded(value: str | None) -> str:
    """Return a text that no spreadsheet executes as a formula (OWASP, CSV injection)."""
    text = value or ""
    if text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA):
        return f"'{text}"
    return text


@dataclass(frozen=True)
class Parquet:
    """Writes `records.parquet`: the same columns with their types, and unchanged texts."""

    name: str = "parquet"

    def write(self, run: LoadedRun, folder: Path) -> list[Path]:
        """Write the file; it needs pyarrow."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise SettingsError(missing_package("--to parquet", "pyarrow", "parquet")) from None
        records_by(run, "dataset")
        record_columns = columns(run.records, RunTexts.of(run))
        types = {"text": pa.string(), "number": pa.float64(), "whole": pa.int64()}
        arrays = {}
        for column in record_columns:
            values = plain(list(column.values))
            try:
                arrays[column.name] = pa.array(values, types.get(column.kind, pa.bool_()))
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise SettingsError(
                    f"{run.path / 'records.jsonl'}: {column.name!r} has a value of a wrong type: "
                    f"{error}"
                ) from None
        path = folder / "records.parquet"
        buffer = io.BytesIO()
        pq.write_table(pa.table(arrays), buffer)
        write_whole(path, buffer.getvalue())
        return [path]
