"""Coroutines from ordinary tests: one event loop in a thread, kept for the whole test run.

What litellm keeps belongs to the loop it was first used in: its clients and its logging. So all
tests share one loop, and its end closes them, or their sockets would be reported as leaks.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_tablebench.models import Reply, Request
from pytest_tablebench.models.direct import DirectModel
from pytest_tablebench.models.litellm_model import LiteLLMModel, close

__all__ = ["Blocking", "LoopThread"]

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own, from construction to `close`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="test-loop")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float = 60.0) -> T:
        """Run a coroutine on the loop and wait for its result or exception."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def pending(self, name: str) -> list[asyncio.Task[Any]]:
        """Tasks of this name that have not ended."""

        async def look() -> list[asyncio.Task[Any]]:
            return [task for task in asyncio.all_tasks() if task.get_name() == name]

        return self.run(look())

    def emptied(self, name: str, timeout: float) -> bool:
        """Whether the tasks of this name end, each by itself, within so many seconds."""

        async def wait() -> bool:
            tasks = [task for task in asyncio.all_tasks() if task.get_name() == name]
            return not tasks or not (await asyncio.wait(tasks, timeout=timeout))[1]

        return self.run(wait(), timeout + 10)

    def close(self) -> None:
        """Close litellm's clients, end every task and thread of the loop, and the loop."""
        self.run(self._wind_up())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _wind_up(self) -> None:
        if "litellm" in sys.modules:
            await close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        await self.loop.shutdown_default_executor()


@dataclass(frozen=True)
class Blocking:
    """A model whose calls block, as those of the built-in models do."""

    model: LiteLLMModel | DirectModel
    thread: LoopThread

    def complete(self, request: Request) -> Reply:
        """Answer one request."""
        return self.thread.run(self.model.acomplete(request))
