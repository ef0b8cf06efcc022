"""The figures of a project's runs over time, and what changed between them."""

from __future__ import annotations

from pytest_tablebench.claims.history._panels import (
    HISTORY_MEASURES,
    HistoryPanel,
    HistoryPoint,
    RunHistory,
    history_of,
    price_of,
)
from pytest_tablebench.claims.history._places import read_places_of_runs

__all__ = [
    "HISTORY_MEASURES",
    "HistoryPanel",
    "HistoryPoint",
    "RunHistory",
    "history_of",
    "price_of",
    "read_places_of_runs",
]
