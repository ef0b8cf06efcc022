"""The engine: model calls that run ahead of the items, from processes of their own.

docs/engine.md draws it. `Engine` is held by the process that keeps the run, `Client` by each that
runs items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.executors.local._client import Address, Client
    from pytest_tablebench.executors.local._executor import LocalExecutor
    from pytest_tablebench.executors.local._owner import (
        BrokerProcess,
        Engine,
        EngineConfig,
        LaneConfig,
    )
    from pytest_tablebench.executors.local.providers import as_fields, reference_of

__all__ = [
    "Address",
    "BrokerProcess",
    "Client",
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
        "_client": ("Address", "Client"),
        "_executor": ("LocalExecutor",),
        "_owner": ("BrokerProcess", "Engine", "EngineConfig", "LaneConfig"),
        "providers": ("as_fields", "reference_of"),
    },
)
