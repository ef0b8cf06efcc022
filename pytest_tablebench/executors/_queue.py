"""Jobs that wait for their call."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Job:
    """One request that is to be answered once, whoever asks for it.

    Arguments:
        key: of the request.
        lane: the number of its model.
        body: the request, for a caller.
        asker: who asked first.
        urgent: a step of a conversation that has begun, or a call that is repeated.
        server: address and key of the one that is asked, where the run has started it.
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


@dataclass
class JobQueue:
    """First what is urgent, the last one first; then all askers in turns, each in its order.

    Every process asks for a window of cases ahead. In the order of arrival the first one would
    have all connections for itself, and the others stood still.
    """

    _urgent: deque[Job] = field(default_factory=deque)
    _turns: dict[Hashable, deque[Job]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._urgent or self._turns)

    def push(self, job: Job) -> None:
        """Add a job."""
        if job.urgent:
            self._urgent.appendleft(job)
        else:
            self._turns.setdefault(job.asker, deque()).append(job)

    def pop(self) -> Job:
        """Take the next job. Raises `IndexError` where none waits."""
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
