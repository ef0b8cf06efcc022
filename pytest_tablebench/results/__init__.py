"""Results: records, the run folder, aggregates."""

from pytest_tablebench.results._aggregate import spread, summarize, telling_checks
from pytest_tablebench.results._folder import (
    RunFolder,
    check_writable,
    claim_folder,
    read_records,
    read_run,
)
from pytest_tablebench.results._intervals import interval
from pytest_tablebench.results._media import MediaFolder
from pytest_tablebench.results._record import SCHEMA, Cell, Outcome, Record, Scored
from pytest_tablebench.results._repeats import fold_repeats, pass_at_k, pass_hat_k
from pytest_tablebench.results.analyses import analyse

__all__ = [
    "SCHEMA",
    "Cell",
    "MediaFolder",
    "Outcome",
    "Record",
    "RunFolder",
    "Scored",
    "analyse",
    "check_writable",
    "claim_folder",
    "fold_repeats",
    "interval",
    "pass_at_k",
    "pass_hat_k",
    "read_records",
    "read_run",
    "spread",
    "summarize",
    "telling_checks",
]
