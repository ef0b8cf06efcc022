"""Results: records, the run folder, the score table and its figures."""

from pytest_tablebench.results._aggregate import (
    Spread,
    informative_checks,
    same_meaning,
    spread,
    summarize,
)
from pytest_tablebench.results._further_figures import informative_parts
from pytest_tablebench.results._intervals import interval
from pytest_tablebench.results.analyses import analyse
from pytest_tablebench.results.figures import pass_at_k, pass_hat_k
from pytest_tablebench.results.folder import (
    PENDING_CODE,
    RunFolder,
    check_writable,
    claim_folder,
    clear_pending,
    read_records,
    read_run,
)
from pytest_tablebench.results.media import MediaFolder
from pytest_tablebench.results.record import SCHEMA, Outcome, Record, ScoreRow, outcome_of_score
from pytest_tablebench.results.score_table import ScoreTable, ScoreTableBuilder
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
    "ScoreTableBuilder",
    "Spread",
    "analyse",
    "check_writable",
    "claim_folder",
    "clear_pending",
    "informative_checks",
    "informative_parts",
    "interval",
    "outcome_of_score",
    "pass_at_k",
    "pass_hat_k",
    "read_records",
    "read_run",
    "same_meaning",
    "spent_on",
    "spread",
    "summarize",
]
