"""The published versions of TableBench's files; the fields of the rows tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._source import Problem
from pytest_tablebench.datasets.files import (
    BadRowError,
    cells,
    how_to_get,
    json_lines,
    read_text,
    require_files,
    text_field,
)
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import shortened

CHARTS = "Visualization"
QTYPES = ("DataAnalysis", "FactChecking", "NumericalReasoning", CHARTS)

Schema = Literal["formatter", "instruction", "plain"]
"""Where a version describes the answer's form: in a field, a part of `instruction`, or nowhere."""

_BEST: tuple[Schema, ...] = ("formatter", "instruction", "plain")

_DESCRIPTIONS = {
    "formatter": "the version with answer_formatter",
    "instruction": "the version without answer_formatter: the answer's form is taken from the "
    "field instruction",
    "plain": "the version without answer_formatter and instruction: the answer's form is "
    "described in our own words",
}
_OTHER_INSTRUCTIONS = ("TCoT", "SCoT", "PoT")


@dataclass
class Version:
    """One file, read for one kind of question.

    `rows` has one entry per record of the kind, in file order. An unusable record is None there,
    because the lottery counts it too, and `problems` has the reason.
    """

    file: str
    schema: Schema
    rows: list[Example | None]
    problems: list[Problem]
    notes: list[str] = field(default_factory=list)

    @property
    def usable(self) -> int:
        """The number of usable rows."""
        return sum(row is not None for row in self.rows)


def find_version(folder: Path, qtype: str, *, fetch: str) -> Version:
    """Read the best of the versions in `folder` and its subfolder `v2`.

    The best version has the most usable rows of the kind `qtype`. Among equals it is the one
    closest to the version that the benchmark used. Raises `DataMissing` if the folder is missing,
    and `DataError` if no row is usable.
    """
    names = _candidates(folder)
    if not names:
        require_files(folder, ["TableBench_DP.jsonl"], fetch=fetch)
    versions = [_read(folder, name, qtype) for name in names]
    best = max(versions, key=lambda version: (version.usable, -_BEST.index(version.schema)))
    if not best.usable:
        problems = [problem for version in versions for problem in version.problems]
        first = f"; first problem: {problems[0]}" if problems else ""
        raise DataError(
            f"{folder}: no usable row of qtype {qtype} in {', '.join(names)}{first}; "
            f"{how_to_get(fetch, folder)}"
        )
    others = [version for version in versions if version is not best]
    left = ", ".join(f"{version.file} ({version.usable} rows)" for version in others)
    best.notes.insert(
        0,
        f"read from {best.file} ({best.usable} rows), {_DESCRIPTIONS[best.schema]}"
        + (f"; left aside: {left}" if left else ""),
    )
    return best


def other_versions(folder: Path, qtype: str, *, fetch: str) -> list[Version]:
    """Return the versions with usable rows of a kind that `find_version` does not choose.

    Files that repeat a version's questions with other instructions are among them.
    """
    best = find_version(folder, qtype, fetch=fetch).file
    paths = [(part, path) for part in ("", "v2/") for path in (folder / part).glob("*.jsonl")]
    names = [f"{part}{path.name}" for part, path in paths]
    versions = [_read(folder, name, qtype) for name in sorted(names) if name != best]
    return [version for version in versions if version.usable]


def _candidates(folder: Path) -> list[str]:
    """Return the names of files, except those that repeat the questions with other instructions."""
    candidates = []
    for part in ("", "v2/"):
        names = sorted(path.name for path in (folder / part).glob("*.jsonl") if path.is_file())
        if any(name.endswith("_DP.jsonl") for name in names):
            names = [
                name
                for name in names
                if not name.endswith(tuple(f"_{kind}.jsonl" for kind in _OTHER_INSTRUCTIONS))
            ]
        candidates += [part + name for name in names]
    return candidates


def _read(folder: Path, file: str, qtype: str) -> Version:
    version = Version(file, "plain", [], [])
    records: list[tuple[int, dict[str, Any]]] = []
    for number, content in json_lines(read_text(folder / file)):
        if len(records) == SOURCE_LIMIT:
            break
        record = _record(content)
        if isinstance(record, dict):
            records.append((number, record))
        else:
            version.problems.append(Problem(file, number, "line", record))
    if any("answer_formatter" in record for _, record in records):
        version.schema = "formatter"
    elif any("instruction" in record for _, record in records):
        version.schema = "instruction"
    kept = _one_instruction(records, version)
    seen: Counter[str] = Counter()
    for number, record in kept:
        record_type = record.get("qtype")
        if record_type == qtype:
            version.rows.append(_row(number, record, version, seen))
        elif record_type not in QTYPES:
            version.problems.append(
                Problem(
                    file, number, "qtype", f"{record_type!r:.60} is not one of {', '.join(QTYPES)}"
                )
            )
    doubled = [name for name, count in seen.items() if count > 1]
    if doubled:
        version.notes.append(
            f"{len(doubled)} id{'s' if len(doubled) > 1 else ''} on more than one row, "
            f"numbered from the second on: {shortened(', '.join(doubled[:3]), 120)}"
        )
    return version


def _record(content: Any) -> dict[str, Any] | str:
    """Return the content of a line if it is an object, else an error message."""
    if isinstance(content, ValueError):
        return f"not valid JSON, perhaps cut off: {content!s:.120}"
    if not isinstance(content, dict):
        return f"contains {type(content).__name__}, not an object"
    return content


def _one_instruction(
    records: Sequence[tuple[int, dict[str, Any]]], version: Version
) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows of instruction type DP, or all rows if rows have no types.

    Each type repeats the same questions, and the instructions themselves are not used. In a file
    without DP, the first type is used instead, and a note says so.
    """
    types = [record.get("instruction_type") for _, record in records]
    present = [instruction for instruction in types if isinstance(instruction, str)]
    if not present:
        return list(records)
    chosen = "DP" if "DP" in present else present[0]
    if chosen != "DP":
        version.notes.append(
            f"{version.file} has no row of instruction type DP: {shortened(chosen, 20)} is used "
            f"instead (same questions, and its instruction is not used)"
        )
    kept = []
    for (number, record), instruction in zip(records, types, strict=True):
        if instruction == chosen:
            kept.append((number, record))
        elif not isinstance(instruction, str):
            version.problems.append(
                Problem(version.file, number, "instruction_type", "is missing or not text")
            )
    return kept


def _row(
    number: int, record: dict[str, Any], version: Version, seen: Counter[str]
) -> Example | None:
    """Return the example of a record, or None if the record is unusable.

    The input `answer_formatter` is "" if the version does not describe the form of answers.
    """
    try:
        row_id = text_field(record, "id")
        seen[row_id] += 1
        # Two questions about one table may have the same id. Both are kept.
        count = seen[row_id]
        tags = {"type": text_field(record, "qsubtype")}
        question, answer = text_field(record, "question"), text_field(record, "answer")
        table = _table(record.get("table"), row_id)
        inputs = {"table": table, "question": question}
        context: dict[str, Any] = {}
        form = _formatter(record, version.schema)
        if record["qtype"] == CHARTS:
            tags["chart"] = text_field(record, "chart_type")
            context = {"chart_type": tags["chart"], "table": TableFile(table)}
        else:
            inputs["answer_formatter"] = form
        name = row_id if count == 1 else f"{row_id}-{count}"
        return Example(name, inputs, question, (answer,), answer, context, tags)
    except BadRowError as error:
        version.problems.append(Problem(version.file, number, error.field, str(error)))
        return None


def _formatter(record: dict[str, Any], schema: Schema) -> str:
    """Return upstream's description of the answer's form, or "" if the version has none.

    In `instruction`, two empty lines separate the parts, and the description is the second part.
    """
    if schema == "formatter":
        return text_field(record, "answer_formatter")
    if schema == "instruction":
        parts = text_field(record, "instruction").split("\n\n\n")
        if len(parts) < 3 or not parts[1].strip():
            raise BadRowError("instruction", "has no part that describes the form of the answer")
        return parts[1]
    return ""


def _table(value: Any, name: str) -> Table:
    """Return the table of an object or of its JSON text; cells keep their types."""
    if isinstance(value, str):
        try:
            value = _record(parsed_json(value))
        except ValueError as error:
            value = _record(error)
        if isinstance(value, str):
            raise BadRowError("table", value)
    if not isinstance(value, dict) or not {"columns", "data"} <= value.keys():
        raise BadRowError("table", "is not {columns, data}")
    columns, data = cells(value["columns"], value["data"], "table.columns", "table.data")
    return Table(tuple(columns), tuple(map(tuple, data)), name=name)
