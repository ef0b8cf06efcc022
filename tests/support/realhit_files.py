"""A folder in RealHiTBench's layout, with made-up tables and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_tablebench.tables.table import Table

HTML = (
    "<table><tr><td rowspan='2'>City</td><td colspan='2'>Visitors</td></tr>"
    "<tr><td>2001</td><td>2002</td></tr>"
    "<tr><td>Oslo</td><td>{one}</td><td>4</td></tr><tr><td>Rome</td><td>5</td><td>6</td></tr>"
    "</table>"
)


def question(number: int, text: str, answer: str, **fields: Any) -> dict[str, Any]:
    """Return a row with every upstream field."""
    return {
        "id": number,
        "FileName": "travel-table01",
        "CompStrucCata": "ColumnHeaderMerge",
        "Source": "DATA.GOV",
        "Question": text,
        "QuestionType": "Fact Checking",
        "SubQType": "Value-Matching",
        "COT": [{"planning": "look"}],
        "FinalAnswer": answer,
        "ProcessedAnswer": answer,
        **fields,
    }


STRUCTURE = {"QuestionType": "Structure Comprehending", "SubQType": "Structure Comprehending"}

CHART = {"QuestionType": "Visualization", "SubQType": "BarChart Generation"}

ROWS = (
    question(1, "How many came to Oslo in 2001?", "3"),
    question(
        2, "Sum up.", "People came.", QuestionType="Data Analysis", SubQType="Summary Analysis"
    ),
    question(3, "How many came to Oslo in 2001?", "", **STRUCTURE),
    question(4, "Who asks?", "", **STRUCTURE),
    question(5, "Lost?", "3", FileName="travel-table09"),
    question(6, "Outside?", "3", FileName="../../../travel-table01"),
    question(8, "Draw rain.", "[3.5, 4]\n", FileName="travel-table02", **CHART),
    question(9, "Draw visitors.", "[3]", **CHART),
    question(7, "Odd?", "3", CompStrucCata="Backgroundcolor", SubQType="Non-adverse, Adverse"),
)


def write_folder(data: Path, rows: tuple[dict[str, Any], ...] = ROWS) -> Path:
    """Write the dataset's folder into the data folder, and return it."""
    folder = data / "realhitbench"
    for name in ("html", "latex", "csv", "markdown"):
        (folder / "data" / name).mkdir(parents=True)
    for stem, number in (("travel-table01", "3"), ("travel-table01_swap", "30")):
        (folder / f"data/html/{stem}.html").write_text(HTML.format(one=number), "utf-8")
        (folder / f"data/latex/{stem}.txt").write_text(f"upstream's {stem}", "utf-8")
    (folder / "data/tables").mkdir()
    Table(["Year", "Rain"], [[2001, 3.5], [2002, 4]]).to_xlsx(
        folder / "data/tables/travel-table02.xlsx"
    )
    (folder / "data/QA_final.json").write_text(json.dumps({"queries": rows}), "utf-8")
    return folder
