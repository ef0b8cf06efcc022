"""The statistics of datasets as tables, figures and JSON."""

from __future__ import annotations

from pytest_tablebench.reports.data._tables import statistics_tables
from pytest_tablebench.reports.data._write import (
    statistics_json,
    statistics_report,
    write_statistics,
)

__all__ = ["statistics_json", "statistics_report", "statistics_tables", "write_statistics"]
