"""Distribution of items to xdist workers, in sessions with cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdist.scheduler import LoadScheduling, WorkStealingScheduling


class LateScheduling:
    """xdist's scheduler for `--dist=load`, which may be replaced once all workers have collected.

    Only then is it known whether cases are selected. Without cases xdist's scheduler stays.
    `choose` returns a scheduler factory, or None to keep xdist's scheduler.
    """

    def __init__(
        self, config: Any, log: Any, choose: Callable[[], Callable[[Any, Any], Any] | None]
    ) -> None:
        self._config, self._log, self._choose = config, log, choose
        self._chosen = False
        self._now: Any = LoadScheduling(config, log)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now, name)

    @property  # type: ignore[misc]  # xdist shows the name of the class
    def __class__(self) -> Any:
        return type(self._now)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Add a worker's collection; after the last one, choose the scheduler."""
        self._now.add_node_collection(node, collection)
        if self._chosen or not self._now.collection_is_completed:
            return
        self._chosen = True
        make = self._choose()
        if make is not None:
            self._replace(make(self._config, self._log))

    def _replace(self, other: Any) -> None:
        collected = self._now.node2collection
        # Only workers that have collected: one that died must not be waited for.
        other.numnodes = sum(node in collected for node in self._now.nodes)
        for node in self._now.nodes:
            other.add_node(node)
            if node in collected:
                other.add_node_collection(node, collected[node])
        self._now = other


stealing = WorkStealingScheduling
"""Gives each worker a block of items, so that it can prefetch; idle workers take over items."""


def one_by_one(config: Any, log: Any) -> Any:
    """Return a scheduler that distributes items one by one, which keeps their order."""
    scheduler = LoadScheduling(config, log)
    scheduler.maxschedchunk = 1
    return scheduler
