"""Made-up samples in TReB's format: every subtask, two languages."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets.treb._samples import known_subtasks

UNNAMED = "Multi-step_Guessing"
"""A subtask of the test data without an entry in the package."""

HARBOURS = "Harbour,Boats,Depth\nWick,12,4.5\nOban,30,7\nLeith,18,9\n"
_PORTS = "港口,船只,水深\n青岛,12,4.5\n大连,30,7\n宁波,18,9\n"
_TWO_LINES = "Port,Boats,Boats\n,2023,2024\nWick,12,14\nOban,30,31\n"


def sample(subtask: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a sample of a subtask about the harbours' table; `fields` replace its fields."""
    markdown = "| Harbour | Boats | Depth |\n| --- | --- | --- |\n| Wick | 12 | 4.5 |\n"
    sample_fields = {
        "id": f"{subtask}|harbours|{number}|made_{number}",
        "file_path": ["csv/harbours.csv"],
        "instruction": "",
        "question": f"How many boats lie in Oban? ({number})",
        "answer": 30,
        "title": ["Harbours of Scotland"],
        "columnslable": [1],
        "Table_markdown": [markdown + "| Oban | 30 | 7 |\n| Leith | 18 | 9 |"],
        "Table_html": ["<table><tr><th>Harbour</th></tr><tr><td>Wick</td></tr></table>"],
        "number_answer": 30.0,
    }
    return {name: value for name, value in (sample_fields | fields).items() if value is not ...}


def write_samples(path: Path, samples: Sequence[Mapping[str, Any] | Any]) -> None:
    """Write samples as a JSON list, or as JSON lines, by the file's suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in samples)
    else:
        text = json.dumps(samples, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")


def write_treb(data: Path) -> Path:
    """Write `data/treb` with two English samples and a Chinese one of each subtask; return it.

    Chinese tables are in an archive, English ones in the samples' folder.
    """
    folder = data / "treb"
    (folder / "csv").mkdir(parents=True)
    (folder / "csv" / "harbours.csv").write_text(HARBOURS, encoding="utf-8")
    (folder / "csv" / "two_lines.csv").write_text(_TWO_LINES, encoding="utf-8")
    with zipfile.ZipFile(folder / "CSV.zip", "w") as archive:
        archive.writestr("CSV/ports.csv", _PORTS)
    lists = ("file_path", "title", "columnslable", "Table_markdown", "Table_html")
    none: dict[str, list[Any]] = {key: [] for key in lists}
    names = [(subtask.name, subtask.has_tables) for subtask in known_subtasks()]
    for name, has_tables in [*names, (UNNAMED, True)]:
        tables: dict[str, Any] = {} if has_tables else none
        two: dict[str, Any] = (
            {"file_path": ["csv/two_lines.csv"], "columnslable": [2]} if has_tables else none
        )
        chinese = {
            "question": "大连有多少船只？",
            "file_path": ["ports.csv"] if has_tables else [],
            "title": ["中国港口"] if has_tables else [],
        }
        write_samples(
            folder / "English" / f"{name}.json", [sample(name, **tables), sample(name, 2, **two)]
        )
        write_samples(folder / "Chinese" / f"{name}.json", [sample(name, 3, **(tables | chinese))])
    return folder
