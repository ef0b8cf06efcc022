"""Results: records, the run folder, the score table and its figures."""

from pytest_tablebench.results._aggregate import (
    Spread,
    informative_checks,
    same_meaning,
    spread,
    summarize,
)
from pytest_tablebench.results._further_figures import informative_parts
from pytest_tablebench.results.analyses import analyse
from pytest_tablebench.results.exit_codes import PENDING_CODE
from pytest_tablebench.results.folder import RunFolder, read_records, read_run_json
from pytest_tablebench.results.intervals import interval
from pytest_tablebench.results.media import MediaFolder
from pytest_tablebench.results.record import SCHEMA, Outcome, Record, ScoreRow, outcome_of_score
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.results.spending import spent_on

__all__ = [
    "PENDING_CODE",
    "SCHEMA",
    "MediaFolder",
    "Outcome",
    "Record",
    "RunFolder",
    "ScoreRow",
    "ScoreTable",
    "Spread",
    "analyse",
    "informative_checks",
    "informative_parts",
    "interval",
    "outcome_of_score",
    "read_records",
    "read_run_json",
    "same_meaning",
    "spent_on",
    "spread",
    "summarize",
]
