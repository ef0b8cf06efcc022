"""Where work is done: models are asked, programs run."""

from pytest_tablebench.executors.protocol import Executor, Outcome, Work

__all__ = ["Executor", "Outcome", "Work"]
