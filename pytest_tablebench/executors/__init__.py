"""Where work is done: models are asked, programs run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.executors.protocol import Executor, Outcome, Work

__all__ = ["Executor", "Outcome", "Work"]

# Processes of the engine pass through here, and need none of them.
__getattr__ = lazily(__name__, {"protocol": __all__})
