"""Results: records, the run folder, the score table and its figures."""

from pytest_tablebench.results._aggregate import spread, summarize, telling_checks
from pytest_tablebench.results._beside import telling_parts
from pytest_tablebench.results._folder import (
    RunFolder,
    check_writable,
    claim_folder,
    read_records,
    read_run,
)
from pytest_tablebench.results._intervals import interval
from pytest_tablebench.results._media import MediaFolder
from pytest_tablebench.results._record import SCHEMA, Cell, Outcome, Record
from pytest_tablebench.results.analyses import analyse
from pytest_tablebench.results.figures import pass_at_k, pass_hat_k
from pytest_tablebench.results.score_table import ScoreTable, ScoreTableBuilder

__all__ = [
    "SCHEMA",
    "Cell",
    "MediaFolder",
    "Outcome",
    "Record",
    "RunFolder",
    "ScoreTable",
    "ScoreTableBuilder",
    "analyse",
    "check_writable",
    "claim_folder",
    "interval",
    "pass_at_k",
    "pass_hat_k",
    "read_records",
    "read_run",
    "spread",
    "summarize",
    "telling_checks",
    "telling_parts",
]
