"""CPU time and memory of `tablebench check` for table files just below the size limits.

    python -m benchmarks.large_tables

Each file is checked in a separate process. Prints CPU seconds (goal: at most 10) and peak MB (goal:
at most 500), both including the start of Python.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def wide_csv(path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(16_000))
    path.write_text(f"{header}\n" + ("1234567," * 15_999 + "1\n") * 60, encoding="utf-8")


def long_csv(path: Path) -> None:
    path.write_text("a,b,c,d,e\n" + "1,2,3,4,5\n" * 99_999, encoding="utf-8")


def html_of_cells(path: Path) -> None:
    row = "<tr><td><b>1</b></td><td>2</td></tr>"
    path.write_text(f"<table><tr><td>a<td>b</tr>{row * 30_000}</table>", encoding="utf-8")


def html_of_attributes(path: Path) -> None:
    attributes = " ".join(f"a{number}=1" for number in range(3_000))
    row = f"<tr><td {attributes}>x</td></tr>"
    path.write_text(f"<table><tr><td>a</td></tr>{row * 700}</table>", encoding="utf-8")


def workbook(value: Any, code: str, rows: int, columns: int = 200) -> Callable[[Path], None]:
    """Return a function that writes a workbook of cells with one value and number format."""

    def write(path: Path) -> None:
        import openpyxl
        from openpyxl.cell import WriteOnlyCell

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("S")
        cell = WriteOnlyCell(sheet, value=value)
        cell.number_format = code
        for _ in range(rows):
            sheet.append([cell] * columns)
        book.save(path)

    return write


def merged_workbook(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = 1
    sheet.merge_cells("A1:IN1000")
    book.save(path)


def parquet(path: Path) -> None:
    import pandas as pd

    pd.DataFrame({f"c{n}": range(99_000) for n in range(10)}).to_parquet(path)


FILES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "CSV, 16,000 columns": ("wide.csv", wide_csv),
    "CSV, 500,000 cells": ("long.csv", long_csv),
    "HTML, 60,000 cells": ("cells.html", html_of_cells),
    "HTML, 20 MB of attributes": ("attributes.html", html_of_attributes),
    "workbook, 249,000 numbers": ("numbers.xlsx", workbook(1234.5, "General", 1_245)),
    "workbook, 140,000 dates in words": (
        "dates.xlsx",
        workbook(45_000.25, "[$-409]dddd, mmmm dd, yyyy h:mm:ss AM/PM", 700),
    ),
    "workbook, 31,000 long formats": ("formats.xlsx", workbook(1, "0.0" + '"a"' * 60, 155)),
    "workbook, 248,000 merged cells": ("merged.xlsx", merged_workbook),
    "Parquet, 990,000 cells": ("cells.parquet", parquet),
}


def measure(folder: Path) -> None:
    """Check a folder, and print CPU seconds, peak MB and the first problem as JSON."""
    from pytest_tablebench.datasets.folder import FolderDataset, check_dataset, folder_datasets

    (dataset,) = folder_datasets(folder)
    assert isinstance(dataset, FolderDataset)
    problems = check_dataset(dataset, folder).problems
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first = problems[0].message if problems else "no problem"
    print(json.dumps([time.process_time(), peak, first]))


def main() -> None:
    print(f"{'file':<34}{'CPU s':>8}{'MB':>8}  first problem")
    with tempfile.TemporaryDirectory() as place:
        for title, (name, write) in FILES.items():
            folder = Path(place) / name.replace(".", "_")
            folder.mkdir()
            try:
                write(folder / name)
            except ImportError as error:
                print(f"{title:<34}left out: {error}".splitlines()[0])
                continue
            questions = f"table,question,answer\n{name},How many?,7\n"
            (folder / "questions.csv").write_text(questions, encoding="utf-8")
            command = [sys.executable, "-m", "benchmarks.large_tables", str(folder)]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, peak, problem = json.loads(ran.stdout)
            print(f"{title:<34}{seconds:>8.1f}{peak:>8.0f}  {problem[:70]}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        main()
