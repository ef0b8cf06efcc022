"""Which items an xdist worker gets: xdist's own way, unless cases of ours were selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdist.scheduler import LoadScheduling, WorkStealingScheduling


class LateScheduling:
    """xdist's scheduler for `--dist=load` until all workers have collected, then the one chosen.

    Whether a case of ours was selected is known no sooner; where none was, nothing changes.

    Arguments:
        config: of the session.
        log: xdist's.
        choose: returns what makes another scheduler, or None to keep xdist's.
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
        """Take what a worker has collected; choose with the last one."""
        self._now.add_node_collection(node, collection)
        if self._chosen or not self._now.collection_is_completed:
            return
        self._chosen = True
        make = self._choose()
        if make is not None:
            self._replace(make(self._config, self._log))

    def _replace(self, other: Any) -> None:
        collected = self._now.node2collection
        # One that has died since counts among those that were waited for, and gets nothing.
        other.numnodes = sum(node in collected for node in self._now.nodes)
        for node in self._now.nodes:
            other.add_node(node)
            if node in collected:
                other.add_node_collection(node, collected[node])
        self._now = other


stealing = WorkStealingScheduling
"""Hands out the items in pieces as long as they go.

A worker then knows what comes next, and can have it asked ahead; who is ready early takes over from
the others.
"""


def one_by_one(config: Any, log: Any) -> Any:
    """Hand out one item after the other, so that an order is kept over all workers."""
    scheduler = LoadScheduling(config, log)
    scheduler.maxschedchunk = 1
    return scheduler
