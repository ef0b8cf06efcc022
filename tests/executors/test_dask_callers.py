"""The callers of a Dask cluster after it has failed for good: all work is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors.dask._callers import DaskCallers
from pytest_tablebench.executors.dask._cluster import WorkerHandle


class Listener:
    """Keeps which programs were reported, and with what error."""

    store: Any = None

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def ran(self, key: str, head: Mapping[str, Any], body: bytes | None) -> None:
        assert body is None
        self.failed[key] = head["error"]["message"]

    def broken(self, error: ModelError) -> None:
        """The run stops."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not called")


def test_programs_of_a_worker_dropped_after_the_failure_are_reported() -> None:
    """Otherwise the run would wait for them forever."""

    async def fail_for_good() -> dict[str, str]:
        listener: Any = Listener()
        callers = DaskCallers({"score_there": True}, listener)
        worker = callers._workers["worker"] = WorkerHandle("worker", callers._receive)
        callers._serving["worker"] = asyncio.create_task(asyncio.sleep(60))
        worker.tasks["running"] = "program", b""
        callers._waiting_tasks["waiting"] = "program", b""
        callers._break(ModelError("the cluster is gone", reason=ENGINE))
        callers._drop("worker")
        failed: dict[str, str] = listener.failed
        return failed

    failed = asyncio.run(fail_for_good())
    assert set(failed) == {"running", "waiting"}
    assert all("the cluster is gone" in message for message in failed.values())
