"""The answer store: an answer that was paid for is never paid for again."""

from __future__ import annotations

from pytest_tablebench.store._line import describe
from pytest_tablebench.store._store import Store
from pytest_tablebench.store.upkeep import may_have_answers

__all__ = ["Store", "describe", "may_have_answers"]
