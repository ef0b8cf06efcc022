"""The ToRR paper's analyses and leaderboard of one run, or of runs of several models.

`write_report` writes, for each benchmark in the runs, every table as CSV and Markdown and every
figure as PNG and SVG into `<out>/<benchmark>/`, the leaderboard into `<out>/`, and
`<out>/README.md`, which says what was compared and how the runs differ.
"""

from __future__ import annotations

from pytest_tablebench.reports.paper._leaderboard import leaderboard
from pytest_tablebench.reports.paper._runs import (
    RunData,
    differences,
    load_runs,
    run_remarks,
    strays,
    told_apart,
)
from pytest_tablebench.reports.paper._text import terminal_lines
from pytest_tablebench.reports.paper._write import (
    PaperReport,
    Part,
    report_folder,
    report_lines,
    write_report,
)

__all__ = [
    "PaperReport",
    "Part",
    "RunData",
    "differences",
    "leaderboard",
    "load_runs",
    "report_folder",
    "report_lines",
    "run_remarks",
    "strays",
    "terminal_lines",
    "told_apart",
    "write_report",
]
