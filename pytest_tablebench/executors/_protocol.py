"""The interface for calling models, running programs and scoring, and its queue of requests.

`LocalExecutor` connects to the run's broker, whose callers are processes of this machine or workers
of a Dask cluster. `BatchExecutor` collects requests for batch services. `InProcessExecutor` calls
providers that stay in the pytest process. Both pass all other work to another executor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Execute, Execution, Grade
from pytest_tablebench.models import Reply, Request


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


Outcome = Reply | Execution | Score | Exception
"""Only a provider in this process may raise an exception that is not a `ModelError`."""


@dataclass(frozen=True)
class Work:
    """A request to answer, a program to run, or an answer to score.

    Arguments:
        key: of the request, the program or the answer. Work with equal keys is done once.
        task: the request, program or answer.
        again: try work that failed in this run once more. Otherwise the executor returns the
            same error again.
        media: the folder with the request's pictures.
    """

    key: str
    task: Request | Execute | Grade
    again: bool = False
    media: Path | None = None


class Executor(Protocol):
    """Does work for one thread, many pieces at a time.

    A lane is the queue of one model. The work of a lane shares limits, and its model is given up
    as a whole. Each process that submitted a key receives its outcome once.
    """

    @property
    def lost(self) -> ModelError | None:
        """The error of all work without an outcome, if no further outcome can arrive."""

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        """Providers that answer nothing at the moment, with start and end of the wait."""

    def submit(self, work: Work, lane: str) -> None:
        """Submit work and return at once. Raises `ModelError` for an unknown lane."""

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return the outcomes since the last call, with their keys.

        With `wait` it waits for the next ones, but may return without any.
        """

    def totals(self) -> Mapping[str, Any] | None:
        """Return the calls, tokens and costs so far, by model; None if they are unknown."""

    def stop(self, why: str) -> None:
        """Start no further call, for any process of the run."""

    def close(self) -> None:
        """Close the connection. Calls in flight are finished and stored."""
