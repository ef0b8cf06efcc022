"""The connection to Dask's scheduler. Without an address it starts a cluster on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client, LocalCluster


CONNECT_S = 10.0
CLOSE_S = 2.0

LOOK_S = 0.25
"""Seconds between two checks of the connection."""

ANSWER_S = 30.0
"""Seconds without an answer after which the scheduler counts as gone."""


class Cluster:
    """The scheduler's address and the configuration of its workers."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.name = secrets.token_hex(4)
        """The run's name in the names of its actors."""
        self._config = config
        self._own: LocalCluster | None = None

    def actor_config(self) -> dict[str, Any]:
        callers = 1 if self._own is not None else self._config["callers_given"] or 1
        config = {name: value for name, value in self._config.items() if name != "token"}
        return {**config, "callers": callers * bool(self._config["lanes"])}

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """Connect to the scheduler. Raises `OSError` if that fails."""
        from distributed import Client

        address = self._config["scheduler"] or await self._start()
        within = min(CONNECT_S, self._config["patience"])
        client = Client(address, asynchronous=True, timeout=within)
        try:
            yield await client
        finally:
            with contextlib.suppress(OSError):
                await asyncio.wait_for(client.close(), CLOSE_S)
            if self._own is not None:
                cluster, self._own = self._own, None
                await cluster.close()

    async def _start(self) -> str:
        from distributed import LocalCluster

        self._own = await LocalCluster(
            n_workers=max(1, self._config["callers"]),
            threads_per_worker=1,
            dashboard_address=None,
            asynchronous=True,
        )
        return str(self._own.scheduler_address)

    @staticmethod
    async def workers(client: Client) -> list[str]:
        """Return the addresses of the current workers.

        Raises `OSError` if the scheduler is gone. Dask itself would try longer to reach it.
        """
        threads = asyncio.ensure_future(client.nthreads())
        for _ in range(round(ANSWER_S / LOOK_S)):
            await asyncio.wait([threads], timeout=LOOK_S)
            if threads.done():
                return list(threads.result())
            if client.status != "running":
                break
        threads.cancel()
        raise OSError("the connection was lost")
