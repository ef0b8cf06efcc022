"""The engine: model calls that run ahead of the items, from processes of their own.

docs/engine.md draws it. `Engine` is held by the process that keeps the run, `Client` by each that
runs items.
"""

from pytest_tablebench.executors.local._client import Address, Client
from pytest_tablebench.executors.local._executor import LocalExecutor
from pytest_tablebench.executors.local._owner import BrokerProcess, Engine, EngineConfig, LaneConfig
from pytest_tablebench.executors.local._providers import as_fields, reference_of

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
