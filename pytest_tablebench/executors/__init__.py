"""Executors call models, run programs and score answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.executors._protocol import Executor, Outcome, Work

__all__ = ["Executor", "Outcome", "Work"]

# Processes of the engine import this package and need none of these names.
__getattr__ = lazily(__name__, {"_protocol": __all__})
