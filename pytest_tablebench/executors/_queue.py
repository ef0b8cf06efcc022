"""The queue of requests that wait for their call."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Job:
    """One request, answered once for all processes that submit it.

    Arguments:
        key: of the request.
        lane: the number of its model.
        body: the request, for a caller.
        asker: the client that submitted it first.
        urgent: a later step of a conversation, or a call that is repeated.
        server: address and key of the server that the run has started for the model.
    """

    key: str
    lane: int
    body: bytes
    asker: Hashable = None
    urgent: bool = False
    server: tuple[str, str] | None = field(default=None, repr=False)
    attempt: int = 0
    losses: int = 0
    started: float = 0.0
    spent: dict[str, Any] | None = None
    """Tokens and cost of its attempts that were paid for and failed."""


@dataclass
class JobQueue:
    """Urgent jobs first, the newest first; then all askers in turn, each in its own order.

    Every process submits a window of cases ahead. In order of arrival, the first process would
    occupy all connections and the others would wait.
    """

    _urgent: deque[Job] = field(default_factory=deque)
    _turns: dict[Hashable, deque[Job]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._urgent or self._turns)

    def push(self, job: Job) -> None:
        if job.urgent:
            self._urgent.appendleft(job)
        else:
            self._turns.setdefault(job.asker, deque()).append(job)

    def pop(self) -> Job:
        """Remove and return the next job. Raises `IndexError` if the queue is empty."""
        if self._urgent:
            return self._urgent.popleft()
        if not self._turns:
            raise IndexError("no job waits")
        asker = next(iter(self._turns))
        waiting = self._turns.pop(asker)
        job = waiting.popleft()
        if waiting:
            self._turns[asker] = waiting  # behind the others
        return job
