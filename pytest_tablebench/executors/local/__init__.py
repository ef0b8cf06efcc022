"""The engine: model calls that run ahead of the items, from processes of their own.

docs/engine.md draws it. The process that keeps the run holds an `Engine`, each process that runs
cases a `LocalExecutor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.executors.local._engine import (
        BrokerProcess,
        Engine,
        EngineConfig,
        LaneConfig,
    )
    from pytest_tablebench.executors.local._executor import Address, LocalExecutor
    from pytest_tablebench.executors.local.providers import as_fields, reference_of

__all__ = [
    "Address",
    "BrokerProcess",
    "Engine",
    "EngineConfig",
    "LaneConfig",
    "LocalExecutor",
    "as_fields",
    "reference_of",
]

# Its own processes pass through here, and the first thing they do is to be quick.
__getattr__ = lazily(
    __name__,
    {
        "_engine": ("BrokerProcess", "Engine", "EngineConfig", "LaneConfig"),
        "_executor": ("Address", "LocalExecutor"),
        "providers": ("as_fields", "reference_of"),
    },
)
