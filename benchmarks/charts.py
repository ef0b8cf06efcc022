"""Scores of published predictions of RealHiTBench's charts, in both compat modes.

    python benchmarks/charts.py RESULTS DATA_FOLDER

RESULTS is a JSON file of predictions: an object whose `results` is a list of rows with the fields
`FileName`, `QuestionType`, `SubQType`, `Reference` and `Prediction`. DATA_FOLDER contains
`realhitbench/data/tables`. The programs run in the sandbox. The output lists the versions of the
libraries, the number of charts and of missing workbooks, and for each mode the programs that ran
and those that drew the expected values.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterable, Mapping
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.charts import realhit_chart
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.sandbox import Sandbox
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile

LIBRARIES = ("matplotlib", "numpy", "pandas", "openpyxl", "seaborn")
CHART = "Visualization"


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def scored(row: Mapping[str, Any], workbook: Path, compat: Compat, sandbox: Sandbox) -> Score:
    """Return the score of a prediction; its program runs in the sandbox."""
    table = TableFile(Table(["a"], []), workbook.read_bytes()) if workbook.is_file() else None
    conversation = realhit_chart(
        str(row["Prediction"]),
        [str(row["Reference"])],
        compat=compat,
        chart_type=str(row["SubQType"]),
        table=table,
    )
    try:
        step = next(conversation)
        while True:
            assert isinstance(step, Execute)
            step = conversation.send(sandbox.run(step))
    except StopIteration as end:
        score: Score = end.value
        return score


def lines(rows: Iterable[Mapping[str, Any]], tables: Path, sandbox: Sandbox) -> list[str]:
    """Return the report on the charts among the rows of a result file."""
    charts = [row for row in rows if row["QuestionType"] == CHART]
    workbooks = [tables / f"{row['FileName']}.xlsx" for row in charts]
    missing = sum(not workbook.is_file() for workbook in workbooks)
    found = [versions(), f"{len(charts)} charts, {missing} without their workbook"]
    for compat in COMPAT_MODES[::-1]:
        scores = [
            scored(row, workbook, compat, sandbox)
            for row, workbook in zip(charts, workbooks, strict=True)
        ]
        ran, right = (int(sum(score.parts[name] for score in scores)) for name in ("ecr", "pass@1"))
        found.append(f"{compat}: {ran} ran, {right} drew the expected values")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    rows = json.loads(given.results.read_text("utf-8"))["results"]
    tables = given.data / "realhitbench" / "data" / "tables"
    with closing(Sandbox(workers=1)) as sandbox:
        print("\n".join(lines(rows, tables, sandbox)))


if __name__ == "__main__":
    main()
