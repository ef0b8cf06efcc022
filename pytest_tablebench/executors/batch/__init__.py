"""Batch services of providers: cheaper, with answers within a day.

A run submits its requests as a batch and ends. The same command, run again, collects the answers
and submits the next requests of its conversations, until all cases are answered. A folder of the
store (`_ledger`) lists all submitted requests, so that no run submits a request twice.
"""

from pytest_tablebench.executors.batch._batches import Batches, BatchExecutor
from pytest_tablebench.executors.batch._ledger import Ledger

__all__ = ["BatchExecutor", "Batches", "Ledger"]
