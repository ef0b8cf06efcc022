"""The ToRR paper's analyses and leaderboard of one run, or of runs of several models.

`write_report` writes, for each benchmark in the runs, every table as CSV and Markdown and every
figure as PNG and SVG into `<out>/<benchmark>/`, the leaderboard into `<out>/`, and
`<out>/README.md`, which lists the runs and their differences.
"""

from __future__ import annotations

from pytest_tablebench.reports.paper._realhit_tables import Marks, read_marks
from pytest_tablebench.reports.paper._runs import load_runs, paths_without_runs
from pytest_tablebench.reports.paper._write import PaperReport, report_lines, write_report

__all__ = [
    "Marks",
    "PaperReport",
    "load_runs",
    "paths_without_runs",
    "read_marks",
    "report_lines",
    "write_report",
]
