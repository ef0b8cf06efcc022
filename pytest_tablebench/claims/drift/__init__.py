"""Has a model changed: the sequential test of a canary, and the history of its looks."""

from __future__ import annotations

from pytest_tablebench.claims.drift._entries import (
    FEWEST,
    History,
    HistoryEntry,
    look_entry,
    read_history,
    reference_entry,
)
from pytest_tablebench.claims.drift._sequence import Noise, looks_until
from pytest_tablebench.claims.drift._verdict import LookFacts, WatchVerdict, judge_watch
from pytest_tablebench.claims.drift._watch import AnswerTest, DriftStanding, DriftTest

__all__ = [
    "FEWEST",
    "AnswerTest",
    "DriftStanding",
    "DriftTest",
    "History",
    "HistoryEntry",
    "LookFacts",
    "Noise",
    "WatchVerdict",
    "judge_watch",
    "look_entry",
    "looks_until",
    "read_history",
    "reference_entry",
]
