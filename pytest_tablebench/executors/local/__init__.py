"""The engine: separate processes make model calls ahead of the items (docs/engine.md).

The process that keeps the run owns an `Engine`; each process that runs cases a `LocalExecutor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.executors._dispatch import Lane
    from pytest_tablebench.executors.local._engine import BrokerProcess, Engine
    from pytest_tablebench.executors.local._executor import Address, LocalExecutor
    from pytest_tablebench.executors.local.providers import reference_of

__all__ = [
    "Address",
    "BrokerProcess",
    "Engine",
    "Lane",
    "LocalExecutor",
    "reference_of",
]

# The engine's processes import this package too and must start quickly.
__getattr__ = lazily(
    __name__,
    {
        "_engine": ("BrokerProcess", "Engine", "Lane"),
        "_executor": ("Address", "LocalExecutor"),
        "providers": ("reference_of",),
    },
)
