"""Run coroutines from ordinary tests in one event loop, in a thread for the whole test run.

litellm's clients and logging belong to the loop of their first use. So all tests share one loop,
and its end closes them; otherwise their sockets would be reported as leaks.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_tablebench.models import Reply, Request
from pytest_tablebench.models.litellm_model import LiteLLMModel, close
from pytest_tablebench.models.openai_wire import WireModel

T = TypeVar("T")


class LoopThread:
    """An event loop in a separate thread, from construction to `close`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="test-loop")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float = 60.0) -> T:
        """Run a coroutine on the loop; return its result or raise its exception."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def pending(self, name: str) -> list[asyncio.Task[Any]]:
        """Return the tasks of this name that have not ended."""

        async def look() -> list[asyncio.Task[Any]]:
            return [task for task in asyncio.all_tasks() if task.get_name() == name]

        return self.run(look())

    def emptied(self, name: str, timeout: float) -> bool:
        """Return whether the tasks of this name end by themselves within the timeout."""

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
        await close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        await self.loop.shutdown_default_executor()


@dataclass(frozen=True)
class Blocking:
    """A model with blocking calls, like the built-in models."""

    model: LiteLLMModel | WireModel
    thread: LoopThread

    def complete(self, request: Request) -> Reply:
        return self.thread.run(self.model.acomplete(request))
