"""Results: records, the run folder, the score table."""

from pytest_tablebench.results.exit_codes import PENDING_CODE
from pytest_tablebench.results.folder import RunFolder, read_facts, read_records
from pytest_tablebench.results.record import SCHEMA, Outcome, Record, ScoreRow, outcome_of_score
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.results.texts import MediaFolder

__all__ = [
    "PENDING_CODE",
    "SCHEMA",
    "MediaFolder",
    "Outcome",
    "Record",
    "RunFolder",
    "ScoreRow",
    "ScoreTable",
    "outcome_of_score",
    "read_facts",
    "read_records",
]
