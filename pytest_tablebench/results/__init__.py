"""Results: records, the run folder, aggregates."""

from pytest_tablebench.results._aggregate import Cell, Scored, spread, summarize
from pytest_tablebench.results._folder import RunFolder, check_writable, read_records, read_run
from pytest_tablebench.results._intervals import interval
from pytest_tablebench.results._record import SCHEMA, Outcome, Record
from pytest_tablebench.results.analyses import analyse

__all__ = [
    "SCHEMA",
    "Cell",
    "Outcome",
    "Record",
    "RunFolder",
    "Scored",
    "analyse",
    "check_writable",
    "interval",
    "read_records",
    "read_run",
    "spread",
    "summarize",
]
