"""Sizes and structure of a run's tables, with RealHiTBench's Table 8."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path, PurePosixPath

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.papers._published import Noted, beside_published, published
from pytest_tablebench.papers._realhit import BENCHMARK, CITATION, LONG
from pytest_tablebench.papers.text import PaperTable, Printed, Value
from pytest_tablebench.results.figures import plain_mean
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.table_map import parsed_table
from pytest_tablebench.results.texts import TEXTS, read_examples
from pytest_tablebench.tables.hierarchy.measures import (
    StructureMarks,
    TableMeasure,
    marks_of_dimensions,
    measure_table,
)
from pytest_tablebench.util.names import counted

Marks = Mapping[str, StructureMarks]
"""A model's marks of the structure of tables, by the tables' names without a suffix."""

_NAMES = ("header hierarchy", "content partition", "implicit multi table", "supplement information")
_BY_MODEL = tuple(
    f"{name} by model" for name in ("column header", "row header", "partition", "compound",
                                    "visual")
)  # fmt: skip


def read_marks(path: Path) -> dict[str, StructureMarks]:
    """Return a model's marks from the `complexity.csv` that `tablebench complexity` wrote.

    Raises `SettingsError` for a file without them.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"--marks: {path} cannot be read: {error}") from None
    marks = {}
    for line in lines:
        figures = [line.get(name) or "" for name in _BY_MODEL]
        if all(figure.isdecimal() and 1 <= int(figure[:3]) <= 10 for figure in figures):
            name = PurePosixPath(line.get("table") or "").stem
            marks[name] = marks_of_dimensions(list(map(int, figures)))
    if not marks:
        raise SettingsError(
            f"--marks: {path} has no marks of a model; write it with: tablebench complexity "
            f"TABLES --model NAME --yes -o DIR"
        )
    return marks


def realhit_tables(runs: Sequence[Run], marks: Marks | None = None) -> PaperTable | None:
    """Return size and structure of the tables that runs asked about, then Table 8 as printed.

    Sizes are the 70th percentiles over the unperturbed tables of a run, oversized ones included;
    structure is the mean of the marks. With the marks of a model there is a second row for each
    run, over the tables that the model has marked.
    """
    rows: list[Noted] = []
    for run in runs:
        measures = _measures(run)
        if not measures:
            continue
        sizes = _percentiles(list(measures.values()))
        by_rule = [table.marks for table in measures.values() if table.marks is not None]
        label = "tables of this run"
        rows.append(((run.model, f"{label}, by rule", *sizes, *_mean_marks(by_rule)), ""))
        if marks is not None:
            by_model = [marks[name] for name in _names_of(run) if name in marks]
            note = f"marks of {counted(len(by_model), 'table')} of {len(measures):,}"
            row = (run.model, f"{label}, by a model", *sizes, *_mean_marks(by_model))
            rows.append((row, note))
    return beside_published(
        "realhit_tables",
        "Sizes and structure of tables (layout of the paper's Table 8)",
        ("tables of", "source", "rows", "columns", "cell length", *_NAMES),
        own_rows=rows,
        others=map(_printed, published("realhitbench_tables")),
        notes=(
            CITATION,
            "sizes are 70th percentiles; the paper does not define a row or a cell's length",
            "structure is of 100, as a mean over tables. By rule: levels of headers, sections, "
            "tables in one sheet, and captions and notes; in the paper a model marked it "
            "(tablebench complexity --model, then tablebench report --marks)",
        ),
    )


def _printed(line: Mapping[str, str]) -> tuple[Value, ...]:
    benchmark, rows, columns, *marks = line.values()
    return benchmark, "published, Table 8", int(rows), int(columns), *map(Printed, marks)


def _measures(run: Run) -> dict[str, TableMeasure]:
    """Return each unperturbed table of the benchmark once, by its content."""
    datasets = {row.dataset for row in run.rows if row.benchmark in {BENCHMARK, LONG}}
    if not datasets:
        return {}
    measures: dict[str, TableMeasure] = {}
    for text in read_examples(run.path / TEXTS):
        if text.id.partition("/")[0] not in datasets or not text.id.endswith("/none"):
            continue
        for fields in text.tables:
            content = json.dumps([fields.get("header"), fields.get("rows")])
            table = None if content in measures else parsed_table(fields)
            if table is not None:
                measures[content] = measure_table(table)
    return measures


def _names_of(run: Run) -> list[str]:
    """Return the names of the benchmark's tables: the clusters of its questions."""
    rows = (row for row in run.rows if row.benchmark in {BENCHMARK, LONG})
    return list(dict.fromkeys(row.cluster for row in rows if row.cluster))


def _percentiles(tables: Sequence[TableMeasure]) -> tuple[Value, ...]:
    """Return the 70th percentiles of rows, columns and cell length, by nearest rank."""
    place = ceil(7 * len(tables) / 10) - 1
    rows, columns, lengths = (
        sorted(values)[place]
        for values in zip(
            *((table.rows, table.columns, table.cell_length) for table in tables), strict=True
        )
    )
    return int(rows), int(columns), Printed(lengths)


def _mean_marks(marks: Sequence[StructureMarks]) -> tuple[Value, ...]:
    """Return the mean of each mark; None for each if no table has marks."""
    if not marks:
        return (None,) * len(_NAMES)
    means = (plain_mean(values) for values in zip(*marks, strict=True))
    return tuple(None if mean is None else Printed(mean) for mean in means)
