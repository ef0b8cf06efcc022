"""Batch services of providers: cheaper, and answered within a day.

A run hands in what it wants to ask and ends; the same command takes in what is answered, hands in
what its conversations ask next, and in the end is a run as any other. What was handed in is written
down in a folder of the store (`_ledger`), so nothing is handed in twice, whoever asks for it.
"""

from pytest_tablebench.executors.batch._batches import Batches
from pytest_tablebench.executors.batch._executor import BatchExecutor
from pytest_tablebench.executors.batch._ledger import Batch, Ledger

__all__ = ["Batch", "BatchExecutor", "Batches", "Ledger"]
